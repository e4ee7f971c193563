"""Several databases of one identity: a fault where they went different ways, none where one is an older copy."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from sdschat.audit.compare import Comparison, compare
from sdschat.audit.sources.databases import databases
from sdschat.audit.verdict import DEFAULT
from sdschat.cli.program import run
from tests.audit.field import database, forge
from tests.node.worlds import World


async def speak(folder: Path, text: str) -> None:
    world = World(folder)
    member = world.start("ann")
    member.node.send("lobby", text)
    await member.until_texts(text)
    await member.node.close()


def copied(field: Path, tmp_path: Path) -> Path:
    """Copy the profiles of everybody to another machine."""
    return Path(shutil.copytree(field, tmp_path / "copy"))


def both(*folders: Path) -> Comparison:
    paths = databases([database(folders[0], "bob"), *(database(folder, "ann") for folder in folders)])
    found = compare(paths, 1, DEFAULT)
    assert found.audit == compare(paths, 1, DEFAULT, by_row=True).audit
    return found


def test_two_databases_of_one_identity_that_went_apart_do_not_agree(field: Path, tmp_path: Path) -> None:
    other = copied(field, tmp_path)
    asyncio.run(speak(field, "said here"))
    asyncio.run(speak(other, "said there"))
    found = both(field, other).audit
    assert not found.agreed
    (apart,) = [row for row in found.findings if row.kind == "apart"]
    assert apart.detail.count("sdschat.db") == 2
    assert {row.nick: row.agrees for row in found.nodes}["ann"] is False


def test_an_older_copy_is_no_fault_of_this_kind(field: Path, tmp_path: Path) -> None:
    other = copied(field, tmp_path)
    asyncio.run(speak(field, "said later"))
    assert [row for row in both(field, other).audit.findings if row.kind == "apart"] == []
    assert [row for row in both(other, field).audit.findings if row.kind == "apart"] == []


def test_an_event_of_which_two_copies_say_different_things_is_named_and_does_not_count(
    field: Path, tmp_path: Path
) -> None:
    other = copied(field, tmp_path)
    forge(other, "ann", "journal", (1 << 40) + 5, ts_ms=5)
    for folders in ((field, other), (other, field)):
        found = both(*folders)
        (row,) = found.quarantine
        assert row.place.endswith(" 5")
        assert "say different things" in row.reason
        (journal,) = [row for row in found.audit.journals if row.lost]
        assert journal.first_ms > 5


def test_a_report_names_all_databases_that_were_read(field: Path, tmp_path: Path) -> None:
    copied(field, tmp_path)
    asyncio.run(speak(field, "said later"))
    page = tmp_path / "report.html"
    assert run(["audit", str(field), str(tmp_path / "copy"), "--report", str(page)]) == 0
    assert all(str(database(folder, "ann")) in page.read_text() for folder in (field, tmp_path / "copy"))
