"""`sdschat demo --headless`: real nodes on a real broker, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from sdschat.tui.demo.script import NAMES, OPENING, SCENES, Verb
from tests.cli.processes import PATIENCE, command, environment, run
from tests.needs import needs_module


def test_it_ends_cleanly_with_equal_logs_and_says_so_in_json(tmp_path: Path) -> None:
    needs_module("iotcore")
    done = run(tmp_path, "demo", "--headless", "--peers", "2", "--loss", "20%", "--seconds", "20")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["equal_logs"] is True
    assert set(summary["nodes"]) == {"ann", "bob", "you"}
    logs = {(node["log"], node["fingerprint"]) for node in summary["nodes"].values()}
    assert logs == {(summary["messages"], summary["nodes"]["you"]["fingerprint"])}
    assert summary["messages"] >= 10
    assert sum(node["packets_lost"] for node in summary["nodes"].values()) > 0
    assert sum(node["hosted_broker"] for node in summary["nodes"].values()) >= 2
    assert list(tmp_path.glob("**/sdschat.db")) == []


def test_told_to_end_it_leaves_nothing_behind(tmp_path: Path) -> None:
    needs_module("iotcore")
    kept = tmp_path / "temporary"
    kept.mkdir()
    process = subprocess.Popen(
        command("demo", "--headless", "--seconds", "600"), cwd=tmp_path, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, env=environment(tmp_path, TMPDIR=str(kept)),
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while not list(kept.glob("**/sdschat.db")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(kept.glob("**/sdschat.db"))
    process.terminate()
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert output == b""
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--peers", "1"), "--peers is 1"),
        (("--loss", "much"), "--loss is 'much'"),
        (("--loss", "100%"), "--loss is '100%'"),
        (("--seconds", "0"), "--seconds is 0"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(tmp_path: Path, options: tuple[str, ...], complaint: str) -> None:
    done = run(tmp_path, "demo", "--headless", *options)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""


def test_every_scene_that_begins_a_fault_ends_it() -> None:
    pairs = {Verb.DEAF: Verb.HEAR, Verb.LEAVE: Verb.RETURN, Verb.SILENCE: Verb.UNSILENCE}
    for scene in SCENES:
        for begin, end in pairs.items():
            begun = [act.peer for act in scene if act.verb is begin]
            ended = [act.peer for act in scene if act.verb is end]
            assert begun == ended
    assert any(act.verb is Verb.CALM for act in SCENES[-1])


def test_the_script_names_only_who_is_there_with_the_usual_four() -> None:
    for scene in (OPENING, *SCENES):
        for act in scene:
            assert act.peer < 4
    assert len(set(NAMES)) == 16
