"""Sentences on standard error: where their lines end, and what commands tell of work that goes on or was not done."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.cli.errors import wrapped
from sdschat.cli.tap import TapProgress
from tests.cli.processes import run

_NOWHERE = ("--broker", "mqtt://127.0.0.1:1")
_LONG = (
    "sdschat: There is no database of a profile in the folder uploads. Do: /opt/chat/bin/python -m pip install 'x[web]'"
)


def test_lines_end_between_words_and_a_command_stays_whole() -> None:
    lines = wrapped(_LONG, 60).split("\n")
    assert " ".join(lines) == _LONG
    assert lines[-1].endswith("/opt/chat/bin/python -m pip install 'x[web]'")
    assert all(len(line) <= 60 for line in lines)
    assert wrapped("See `sdschat pipeline ingest SOURCE… --lake DIR` for it.", 20).split("\n")[1].count("`") == 2
    assert wrapped(_LONG, 400) == _LONG
    assert wrapped("others type:\n  sdschat join lobby --broker mqtt://example:1883", 20).endswith(
        "mqtt://example:1883"
    )


def test_pipe_says_what_became_of_its_input_where_there_is_no_broker(tmp_path: Path) -> None:
    done = run(tmp_path, "pipe", "lobby", "--name", "ann", *_NOWHERE, stdin=b"hello\n")
    assert done.returncode == 3
    assert done.stderr.endswith("No line of the input was read, and none is kept: start again with all of them.\n")


@pytest.mark.parametrize("form", ["auto", "hex"])
def test_decode_says_once_that_a_database_is_no_packet(tmp_path: Path, form: str) -> None:
    (tmp_path / "carol.db").write_bytes(b"SQLite format 3\0" + b"\n\xff".join(b"abc" for _ in range(50)))
    done = run(tmp_path, "decode", "carol.db", "--as", form)
    told = "sdschat: This is a database, and no packet: `sdschat log`, `inspect` and `audit` read it.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_a_recording_is_told_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    done = run(tmp_path, "join", "lobby", "--plain", "--record", "run.jsonl", "--name", "ann", *_NOWHERE)
    assert "Everything that happens here is recorded into run.jsonl." in done.stdout
    assert done.stderr.endswith("run.jsonl is the recording. To play it: sdschat replay run.jsonl\n")


def test_tap_counts_for_whoever_watches_and_says_if_nothing_comes() -> None:
    seen = TapProgress(watched=True)
    assert (seen.line(0), seen.sentence(100.0, 0)) == ("", ""), "not connected"
    seen.connected(100.0)
    assert [seen.line(count) for count in (0, 0, 1)] == ["\r0 packets\x1b[K", "", "\r1 packet\x1b[K"]
    assert (seen.cleared(), seen.cleared(), seen.line(1)) == ("\r\x1b[K", "", "\r1 packet\x1b[K")
    told = [seen.sentence(at, 0) for at in (101.0, 200.0, 300.0)]
    assert [bool(text) for text in told] == [False, True, False]
    quiet = TapProgress(watched=False)
    quiet.connected(100.0)
    assert (quiet.line(3), quiet.sentence(200.0, 3)) == ("", "")
