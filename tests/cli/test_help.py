"""`sdschat help`, `version`, `locate`, `export`, `tail`, and the manual page on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from sdschat import __version__
from sdschat.cli.json_events import EVENT_NAMES
from sdschat.cli.man import page as roff
from sdschat.cli.man import plain
from sdschat.cli.program import COMMANDS, program
from sdschat.node.settings import SETTINGS
from sdschat.store.schema import OLDEST_READ
from sdschat.tui.manual import FOR_PROGRAMS, TOPICS, Section, text_of
from tests.cli.processes import PATIENCE, ROOT, command, environment, run
from tests.cli.test_local import Lines, home, lines
from tests.golden.cases import paths
from tests.needs import needs_program

__all__ = ["home", "lines"]


def on_terminal(home: Path, *arguments: str, **env: str) -> str:
    """Return the screen of a terminal so tall that no pager is started."""
    leader, follower = pty.openpty()
    size = {"COLUMNS": "100", "LINES": "2000", "TERM": "xterm", "MANPAGER": "cat", "PAGER": "cat"}
    done = subprocess.Popen(
        command(*arguments),
        cwd=home,
        env=environment(home, **(size | env)),
        stdin=follower,
        stdout=follower,
        stderr=subprocess.STDOUT,
    )
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 65536):
            shown += part
    except OSError:
        pass  # the process has closed its end
    os.close(leader)
    assert done.wait(PATIENCE) == 0, shown
    return shown.decode().replace("\r\n", "\n")


def test_help_alone_lists_commands_and_topics(tmp_path: Path) -> None:
    done = run(tmp_path, "help")
    assert done.returncode == 0
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)
    assert all(topic in done.stdout.splitlines()[-1].split() for topic in TOPICS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_topic(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["help", name], prog_name="sdschat", standalone_mode=False)
    assert f"\nUsage: sdschat {name} " in f"\n{capsys.readouterr().out}"


@pytest.mark.parametrize("path", [(), *paths(program)], ids=" ".join)
def test_no_line_of_help_is_broken_in_80_columns(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    program.main([*path, "--help"], prog_name="sdschat", standalone_mode=False)
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_prints_its_section(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["help", topic], prog_name="sdschat", standalone_mode=False)
    shown = capsys.readouterr().out
    assert shown.startswith(f"# {TOPICS[topic].heading}\n\n")
    assert shown.startswith(text_of(TOPICS[topic]).rstrip())


@pytest.mark.parametrize("topic", TOPICS)
def test_every_section_is_short_and_begins_with_words_for_users(topic: str) -> None:
    lines = text_of(TOPICS[topic]).splitlines()
    paragraph = "\n".join(lines[2:]).partition("\n\n")[0]
    assert paragraph
    assert not re.search(r"\.py|engine|`sdschat/|tests/", paragraph)
    assert 8 < len(lines) < 80
    assert all(len(line) <= 120 for line in lines if not line.startswith("|"))
    assert not any("](" in line for line in lines)


def test_a_section_holds_its_subsections_and_a_title_only_its_introduction() -> None:
    page = (ROOT / "sdschat" / FOR_PROGRAMS).read_text(encoding="utf-8")
    title = page.splitlines()[0].removeprefix("# ")
    assert "JSON lines" not in text_of(Section(FOR_PROGRAMS, title))
    wire = text_of(Section("sds/README.md", "Protocol choices and deviations"))
    assert "\n## Anti-entropy\n" in wire
    assert "Guarantees, and their conditions" not in wire


def test_the_sections_have_every_event_and_setting() -> None:
    for topic, names in (("json", EVENT_NAMES), ("settings", tuple(SETTINGS))):
        quoted = set(re.findall(r"`([a-z_.]+)`", text_of(TOPICS[topic])))
        assert [name for name in names if name not in quoted] == []
    settings = set(re.findall(r"`([a-z]+\.[a-z_]+)`", text_of(TOPICS["settings"])))
    assert settings - {"config.toml"} <= set(SETTINGS)


def test_a_topic_that_is_none_is_answered_in_a_line(tmp_path: Path) -> None:
    done = run(tmp_path, "help", "sings")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "There is no topic 'sings'. Did you mean signs? There are: chat, keys, " in done.stderr
    assert "Did you mean help?" in run(tmp_path, "hlep", "join").stderr


def test_words_that_are_no_topic_lead_to_the_lines_that_have_them(tmp_path: Path) -> None:
    """No topic said how a password is given, and a word that is no topic only listed the topics."""
    assert run(tmp_path, "help", "password at the start").stdout.startswith("sdschat help chat:\n  With no broker")
    assert "sdschat help settings:\n  password_file = " in run(tmp_path, "help", "password").stdout
    near = run(tmp_path, "help", "sings")
    assert near.returncode == 2
    assert "Did you mean signs?" in near.stderr


def test_a_page_is_drawn_on_a_terminal(tmp_path: Path) -> None:
    shown = on_terminal(tmp_path, "help", "signs")
    assert "\x1b[" in shown
    assert "# Signs" not in shown
    assert "queued" in shown
    assert "\x1b[1;3" not in on_terminal(tmp_path, "help", "signs", NO_COLOR="1")


def test_a_long_page_goes_through_the_pager(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho the pager\ncat > /dev/null\n")
    pager.chmod(0o755)
    shown = on_terminal(tmp_path, "help", "signs", LINES="5", PAGER=str(pager))
    assert "the pager" in shown


def test_a_pager_gets_colours_that_it_draws_alone(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho LESS is $LESS\ncat\n")
    pager.chmod(0o755)
    shown = on_terminal(tmp_path, "help", "signs", LINES="5", PAGER=str(pager), LESS="")
    assert "LESS is -R\n" in shown
    assert "\x1b[1m" in shown
    shown = on_terminal(tmp_path, "help", "signs", LINES="5", PAGER=str(pager), LESS="-i -M")
    assert "LESS is -i -M\n" in shown
    assert "\x1b[" not in shown
    assert "\x1b[1m" in on_terminal(tmp_path, "help", "signs", LINES="5", PAGER=str(pager), LESS="FRX")


@pytest.mark.parametrize("arguments", [("version",), ("-V",), ("--version",)])
def test_the_version(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run(tmp_path, *arguments).stdout == f"sdschat, version {__version__}\n"


def test_the_version_with_what_others_have_to_agree_on(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path, "version", "--json").stdout)
    run(tmp_path, "send", "lobby", "hello", "--name", "ann", "--broker", "127.0.0.1:1")
    (path,) = tmp_path.rglob("sdschat.db")
    with contextlib.closing(sqlite3.connect(path)) as database:
        (number,) = database.execute("PRAGMA user_version").fetchone()
    told.pop("python")
    assert told == {
        "version": __version__,
        "topics": "sds/1",
        "content": "SDC2",
        "database": number,
        "oldest_database_read": OLDEST_READ,
    }


def test_man_formats_the_page_on_a_terminal(tmp_path: Path) -> None:
    needs_program("man")
    shown = on_terminal(tmp_path, "man")
    assert ".SH" not in shown
    assert "SYNOPSIS" in re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown)
    without = on_terminal(tmp_path, "man", PATH="/nonexistent")
    assert "\nSYNOPSIS\n" in without
    assert ".SH" not in without


def test_man_is_raw_for_programs(tmp_path: Path) -> None:
    assert run(tmp_path, "man").stdout.startswith(".TH SDSCHAT 1")


def test_the_plain_page_has_no_escapes() -> None:
    text = "\n".join(plain(roff(program)))
    assert '      sdschat send lobby "the build is green" --name ci\n' in text
    assert not re.search(r"\\[&ef(\[]|^\.", text, re.MULTILINE)


def test_locate_names_every_file(home: Path) -> None:
    done = run(home, "locate", "--name", "ann", "--json")
    found = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert found.keys() == {
        "profile",
        "database",
        "key",
        "texts",
        "config",
        "chat",
        "themes",
        "project",
        "logs",
    }
    assert found["texts"]["path"] == str(home / "data/sdschat/profiles/ann/logs")
    assert found["chat"]["path"].endswith("/tui.toml")
    assert [name for name, line in found.items() if line["exists"]] == ["profile", "database", "key"]
    assert found["database"]["path"] == str(home / "data/sdschat/profiles/ann/sdschat.db")
    assert "others" not in run(home, "locate", "--name", "ann").stdout
    of_nobody = run(home, "locate", "--name", "nobody").stdout
    assert "(not there)" in of_nobody
    assert of_nobody.endswith("\nothers    ann  (--profile NAME)\n")


@pytest.mark.parametrize(("file", "form"), [("log.md", "md"), ("log.JSONL", "json"), ("log.txt", "text")])
def test_export_writes_what_log_prints(home: Path, file: str, form: str) -> None:
    done = run(home, "export", "lobby", file, "--name", "ann")
    assert done.returncode == 0, done.stderr
    assert (home / file).read_text() == run(home, "log", "lobby", "--format", form, "--name", "ann").stdout
    assert (home / file).stat().st_mode & 0o777 == 0o600


def test_export_replaces_nothing_unasked_and_leaves_nothing_half(home: Path) -> None:
    (home / "log.md").write_text("mine")
    assert "--force" in run(home, "export", "lobby", "log.md", "--name", "ann").stderr
    assert run(home, "export", "lobby", "log.doc", "--name", "ann").returncode == 2
    assert "sdschat share" in run(home, "export", "lobby", "log.html", "--name", "ann").stderr
    assert run(home, "export", "lobby", "absent/log.md", "--name", "ann").returncode == 2
    assert run(home, "export", "attic", "attic.md", "--name", "ann").returncode == 2
    assert sorted(path.name for path in home.iterdir() if "log" in path.name or "attic" in path.name) == ["log.md"]
    assert (home / "log.md").read_text() == "mine"
    assert run(home, "export", "lobby", "log.md", "--force", "--name", "ann").returncode == 0


def test_tail_prints_the_last_messages_and_stays(home: Path, lines: Lines) -> None:
    watching = subprocess.Popen(
        command("tail", "-f", "lobby", "-n", "1", "--json", "--name", "ann"),
        cwd=home,
        env=environment(home),
        stdout=subprocess.PIPE,
    )
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline()) == lines("log", "lobby", "--json")[1]
    assert watching.poll() is None
    watching.kill()
    watching.communicate()
