"""No command writes over a file of the user that it was given by mistake, least of all a database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from sdschat.audit.report import PAGE_START
from sdschat.cli.program import program
from tests.audit.field import database, talk
from tests.cli.processes import run
from tests.needs import needs_module

# The options and arguments that name what is written, and a command line for each. DB: a database of a profile.
WRITERS: Final = {
    "audit --report": ("audit", "DB", "OTHER", "--report", "DB"),
    "pipeline run --output": ("pipeline", "run", "DB", "OTHER", "--lake", "lake", "-o", "DB"),
    "pipeline run --lake": ("pipeline", "run", "DB", "OTHER", "--lake", "DB"),
    "pipeline report --output": ("pipeline", "report", "--lake", "lake", "-o", "DB"),
    "pipeline report --lake": ("pipeline", "report", "--lake", "DB"),
    "pipeline ingest --lake": ("pipeline", "ingest", "DB", "--lake", "DB"),
    "pipeline stream --lake": ("pipeline", "stream", "FOLDER", "--lake", "DB"),
    "pipeline stream segments": ("pipeline", "stream", "DB", "--lake", "lake"),
    "pipeline consolidate --lake": ("pipeline", "consolidate", "--lake", "DB"),
    "pipeline audit --lake": ("pipeline", "audit", "--lake", "DB"),
    "pipeline metrics --lake": ("pipeline", "metrics", "--lake", "DB"),
    "pipeline archive --lake": ("pipeline", "archive", "--lake", "DB"),
    "pipeline get --lake": ("pipeline", "get", "ab", "--lake", "DB"),
    "pipeline init-sdp folder": ("pipeline", "init-sdp", "DB", "--lake", "lake"),
    "pipeline init-sdp --lake": ("pipeline", "init-sdp", "DB", "--lake", "DB"),
    "simulate --lake": ("simulate", "--with", "participants=2", "--lake", "DB"),
    "simulate --pictures": ("simulate", "--grid", "ci", "--lake", "lake", "--pictures", "DB"),
    "export file": ("export", "lobby", "DB", "--format", "text", "--force", "--data-dir", "HOME", "--profile", "ann"),
    "share --output": ("share", "lobby", "-o", "DB", "--data-dir", "HOME", "--profile", "ann"),
    "export-identity file": ("export-identity", "DB", "--data-dir", "HOME", "--profile", "ann"),
    "tap --to": ("tap", "lobby", "--to", "DB", "--broker", "mqtt://127.0.0.1:1"),
    "join --record": ("join", "lobby", "--plain", "--record", "DB", "--name", "new", "--broker", "mqtt://127.0.0.1:1"),
    "demo --record": ("demo", "--headless", "--seconds", "1", "--record", "DB"),
}
READERS: Final = {
    "audit sources",
    "decode files",
    "import-identity file",
    "pipeline ingest sources",
    "pipeline run sources",
    "replay file",
    "share --from",
    "simulate --grid",
}
# Every command has some of these. What is in a folder of profiles has names of the program's own.
_OF_ALL: Final = {"--config", "--password-file", "--ca-file", "--cert-file", "--key-file", "--passphrase-file"}
_OF_ALL_FOLDERS: Final = {"--data-dir"}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"))


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_a_database_is_not_written_over(words: tuple[str, ...], untouched: Path, tmp_path: Path) -> None:
    if words[0] == "pipeline":
        needs_module("deltalake")
    field = Path(shutil.copytree(untouched, tmp_path / "field"))
    mine = database(field, "ann")
    named = {"DB": str(mine), "OTHER": str(database(field, "bob")), "HOME": str(mine.parents[2]), "FOLDER": str(field)}
    before = mine.read_bytes()
    done = run(tmp_path / "home", *(named.get(word, word) for word in words), env={"SDSCHAT_PASSPHRASE": "long enough"})
    assert (mine.read_bytes() == before, done.returncode) == (True, 2), done.stderr
    assert str(mine) in done.stderr
    assert "unexpected failure" not in done.stderr


def test_every_file_that_a_command_takes_is_known_here() -> None:
    """A new option that names a file to write belongs into `WRITERS`, with a line that could destroy a database."""
    assert set(_files(program, "")) == set(WRITERS) | READERS


def _files(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _files(found, f"{name} {each}".strip())
        return
    for parameter in command.params:
        option = parameter.opts[-1]
        is_path = isinstance(parameter.type, click.Path) or parameter.metavar in ("FILE", "DIR")
        if is_path and option not in _OF_ALL | _OF_ALL_FOLDERS:
            yield f"{name} {option}"


def test_a_report_is_written_over_a_report_alone(untouched: Path, tmp_path: Path) -> None:
    needs_module("altair")
    needs_module("vl_convert")
    page, link = tmp_path / "report.html", tmp_path / "link.html"
    audit = ("audit", str(untouched), "--report")
    for _ in range(2):
        done = run(tmp_path / "home", *audit, str(page))
        assert (done.returncode, done.stderr) == (0, f"The report is written to {page}.\n")
        assert page.read_text().startswith(PAGE_START)
    link.symlink_to(database(untouched, "ann"))
    for other in (link, database(untouched, "ann")):
        done = run(tmp_path / "home", *audit, str(other))
        assert "is there already, and is no report. Choose another name." in done.stderr
        assert (done.returncode, done.stdout) == (2, "")
