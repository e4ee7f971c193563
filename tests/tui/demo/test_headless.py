"""`sdschat demo --headless`: real nodes on a real broker, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from pathlib import Path

import pytest

from sdschat.node.settings import make_settings
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.demo.director import Director
from sdschat.tui.demo.script import NAMES, OPENING, SCENES, Verb
from tests.cli.processes import PATIENCE, command, environment, run
from tests.needs import needs_module


def test_nobody_answers_once_the_demonstration_ends(tmp_path: Path) -> None:
    """The error of an answer from a closed database stood in the terminal."""

    async def story() -> None:
        director = Director(LocalGroup(tmp_path, make_settings({}, "demo"), "demo"), 2, 0.0)
        await director.close()
        director._answer()

    asyncio.run(story())


def test_all_of_the_script_is_played_and_everybody_has_all_of_it_in_the_end(tmp_path: Path) -> None:
    """Play the script on a slow machine: no act is left out, and no wait has a time limit of its own."""
    needs_module("iotcore")

    async def story() -> None:
        group = LocalGroup(tmp_path, make_settings({"sds.sync_interval": 2000}, "demo"), "demo")
        director = Director(group, 2, 0.2)
        await director.open()
        try:
            await director.join()
            await director.play(3.0)
            assert await director.settle(100.0)
            summary = director.summary(3.0)
        finally:
            await director.close()
        assert set(summary["nodes"]) == {"ann", "bob", "guest"}
        logs = {(node["log"], node["fingerprint"]) for node in summary["nodes"].values()}
        assert logs == {(summary["messages"], summary["nodes"]["guest"]["fingerprint"])}
        said = [act for scene in (OPENING, *SCENES) for act in scene if act.verb in (Verb.SAY, Verb.GREET)]
        assert summary["messages"] == len(said)
        assert sum(node["packets_lost"] for node in summary["nodes"].values()) > 0
        assert sum(node["hosted_broker"] for node in summary["nodes"].values()) >= 2

    asyncio.run(story())


def test_nothing_is_said_for_a_watcher_who_talks_already(tmp_path: Path) -> None:
    needs_module("iotcore")

    async def story() -> None:
        group = LocalGroup(tmp_path, make_settings({}, "demo"), "demo")
        director = Director(group, 2, 0.0)
        await director.open()
        try:
            await director.join()
            group.nodes["guest"].send("demo", "who are you?")
            (greeting,) = (act for act in OPENING if act.verb is Verb.GREET)
            async with asyncio.timeout(PATIENCE):
                while not director.tallies["guest"].own:
                    await asyncio.sleep(0.01)
            await director.do(greeting)
            assert director.group.log_state("guest").messages == 1
        finally:
            await director.close()

    asyncio.run(story())


def test_the_summary_is_one_line_of_json_and_nothing_is_left(tmp_path: Path) -> None:
    needs_module("iotcore")
    done = run(tmp_path, "demo", "--headless", "--peers", "2", "--loss", "20%", "--seconds", "5")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert (summary["v"], summary["peers"], summary["loss"]) == (1, 2, 0.2)
    assert set(summary["nodes"]) == {"ann", "bob", "guest"}
    assert list(tmp_path.glob("**/sdschat.db")) == []


def test_told_to_end_it_leaves_nothing_behind(tmp_path: Path) -> None:
    needs_module("iotcore")
    kept = tmp_path / "temporary"
    kept.mkdir()
    process = subprocess.Popen(
        command("demo", "--headless", "--seconds", "600"),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path, TMPDIR=str(kept)),
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not list(kept.glob("**/sdschat.db")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(kept.glob("**/sdschat.db"))
        process.terminate()
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
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
