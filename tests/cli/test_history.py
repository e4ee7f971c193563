"""Processes that fetch history, and that exchange direct messages, over the embedded broker."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.processes import Pipe, run
from tests.needs import needs_module
from tests.transport.worlds import free_port

needs_module("iotcore")


def test_who_joins_later_sees_it_all_also_when_killed_in_between_and_direct_messages_reach_one(tmp_path: Path) -> None:
    shared = ("--timing", "demo", "--set", f"embedded.port={free_port()}")
    ann = Pipe(tmp_path, "lobby", "--name", "ann", *shared)
    late: list[Pipe] = []
    try:
        ann.until_event("connection", state="connected")
        texts = [f"line {number}" for number in range(150)]
        ann.say(*texts)
        ann.until_texts(*texts)
        # So short a skew puts the join horizon just before joining: other nodes push nothing older.
        cat = Pipe(tmp_path, "lobby", "--name", "cat", *shared, "--set", "sds.max_skew=1ms")
        late.append(cat)
        cat.until(lambda lines: len(cat.texts(lines)) > 0, "nothing came")
        cat.kill(signal.SIGKILL)
        cat = Pipe(tmp_path, "lobby", "--name", "cat", *shared, "--set", "sds.max_skew=1ms")
        late.append(cat)
        cat.until_event("catching_up", state="done")
        history = run(tmp_path, "log", "lobby", "--name", "cat", "--json")
        assert [line.split('"text":"')[1].split('"')[0] for line in history.stdout.splitlines()] == texts

        sent = run(tmp_path, "send", "lobby", "for you", "--to", "cat", "--name", "dan", "--wait", "acked", *shared)
        assert (sent.returncode, sent.stderr) == (0, "timing: demo\n")
        cat.until(
            lambda lines: any(line["event"] == "direct" and line["message"]["text"] == "for you" for line in lines),
            "no direct message",
        )
        assert not any(line["event"] == "direct" for line in ann.lines)
        nobody = run(tmp_path, "send", "lobby", "for you", "--to", "eve", "--name", "dan", *shared)
        assert nobody.returncode == 2
        assert "Nobody called eve is known on this channel. Here are: ann, cat." in nobody.stderr
    finally:
        for pipe in (ann, *late):
            if pipe.process.poll() is None:
                pipe.kill(signal.SIGKILL)
