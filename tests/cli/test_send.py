"""`sdschat send` where it cannot: the exit code, and what became of the text."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.transport.worlds import Mosquitto, free_port


def logged(home: Path) -> list[str]:
    """The texts that the database of ci holds."""
    done = run(home, "log", "lobby", "--json", "--name", "ci")
    return [json.loads(line)["message"]["text"] for line in done.stdout.splitlines()]


def test_a_broker_that_forbids_writing_is_4_and_the_text_waits(tmp_path: Path) -> None:
    allowed = tmp_path / "acl"
    allowed.write_text("topic read #\n")
    broker = Mosquitto(tmp_path, f"allow_anonymous true\nacl_file {allowed}")
    asyncio.run(broker.start())
    try:
        done = run(tmp_path, "send", "lobby", "hello", "--name", "ci", "--broker", broker.url)
        gone = run(tmp_path, "send", "lobby", "psst", "--ephemeral", "--name", "ci", "--broker", broker.url)
    finally:
        broker.stop()
    assert (done.returncode, gone.returncode) == (4, 4)
    assert "Not authorized" in done.stderr
    assert done.stderr.endswith("It is saved, and sent again with the next command that joins lobby as ci.\n")
    assert gone.stderr.endswith("Nobody keeps it: it is gone.\n")
    assert logged(tmp_path) == ["hello"]


@pytest.mark.parametrize("text", ["hello", "-"])
def test_a_dead_broker_is_3_and_the_text_is_not_kept(tmp_path: Path, text: str) -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    done = run(tmp_path, "send", "lobby", text, "--name", "ci", "--broker", url, stdin=b"hello")
    assert done.returncode == 3
    assert done.stderr.endswith("The text was not kept: send it again.\n")
    assert logged(tmp_path) == []


def test_a_data_dir_that_cannot_be_made_is_2_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path, "send", "lobby", "hello", "--name", "ci", "--data-dir", str(tmp_path / "file" / "data"))
    assert done.returncode == 2
    assert "cannot be made: Not a directory" in done.stderr
    assert "Choose another one with --data-dir" in done.stderr
