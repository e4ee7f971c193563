"""`sdschat log --to NICK` and `sdschat log @NICK`: direct messages read back."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sdschat.cli.local_histories import ChannelHistory
from sdschat.node.events import DirectSaid, PresenceChanged
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from sdschat.store.store import Store
from sdschat.wire.nim_codec import EitherCodec
from tests.cli.processes import command, environment, run
from tests.needs import needs_module
from tests.node.catching import say, start, stop
from tests.node.test_direct import direct, two_bobs
from tests.node.worlds import world


@pytest.fixture
def there(tmp_path: Path) -> tuple[str, ...]:
    """A home in which ann has written to bob, bob has answered and left, and ann has written once more."""

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await ann.until(PresenceChanged, lambda told: told.nick == "bob")
            first = direct(ann).send("bob", "between us")
            await bob.until(DirectSaid)
            direct(bob).send("ann", "nobody else\nreads this")
            await ann.until(DirectSaid, lambda told: not told.own)
            await ann.until(StateChanged, lambda told: told.message_id == first and told.state is AckState.ACKED)
            ann.node.send("lobby", "in public")
            await stop(w, bob)
            direct(ann).send("bob", "are you there?")
            await ann.until(DirectSaid, lambda told: told.opened.text == "are you there?")

    asyncio.run(story())
    return ("--name", "ann", "--data-dir", str(tmp_path / "data"))


def printed(home: Path, *arguments: str) -> str:
    done = run(home, "log", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_json(home: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(home, *arguments, "--json").splitlines()]


def test_own_and_theirs_with_time_and_state(tmp_path: Path, there: tuple[str, ...]) -> None:
    lines = printed(tmp_path, "lobby", "--to", "bob", *there).splitlines()
    assert [line[26:] for line in lines[:2]] == ["ann: between us [acked]", "bob: nobody else"]
    assert lines[2] == "    reads this"
    assert lines[3][26:] == "ann: are you there? [unacked]"
    assert lines[0][:2] == "20"


def test_a_name_with_an_at_sign_is_somebody_on_any_channel(tmp_path: Path, there: tuple[str, ...]) -> None:
    expected = printed(tmp_path, "lobby", "--to", "bob", *there)
    assert printed(tmp_path, "@bob", *there) == expected
    assert printed(tmp_path, "--to", "bob", *there) == expected
    other = as_json(tmp_path, "@bob", *there)[1]["message"]["sender_id"]
    assert printed(tmp_path, "--to", other[:4], *there) == expected


def test_json_has_what_pipe_prints_and_the_state(tmp_path: Path, there: tuple[str, ...]) -> None:
    first, second, third = as_json(tmp_path, "@bob", *there)
    assert first["event"] == second["event"] == "direct"
    assert (first["message"]["own"], second["message"]["own"]) == (True, False)
    assert first["message"]["lamport"] is None
    assert (first["to"], first["message"]["sender_id"]) == (second["message"]["sender_id"], second["to"])
    assert [line.get("state") for line in (first, second, third)] == ["acked", None, "unacked"]
    assert first["channel"] == "lobby"


def test_it_can_be_narrowed(tmp_path: Path, there: tuple[str, ...]) -> None:
    every = as_json(tmp_path, "@bob", *there)
    assert as_json(tmp_path, "@bob", "--search", "READS else", *there) == every[1:2]
    assert as_json(tmp_path, "@bob", "--last", "1", *there) == every[2:]
    assert as_json(tmp_path, "@bob", "--until", "1h", *there) == []


def test_markdown_and_parquet(tmp_path: Path, there: tuple[str, ...]) -> None:
    assert printed(tmp_path, "@bob", "--format", "md", *there).startswith("**ann** (")
    needs_module("pyarrow")
    import pyarrow.parquet

    done = subprocess.run(
        command("log", "@bob", "--format", "parquet", *there),
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        check=True,
    )
    found = pyarrow.parquet.read_table(io.BytesIO(done.stdout)).to_pylist()
    assert [row["text"] for row in found] == ["between us", "nobody else\nreads this", "are you there?"]
    assert found[0]["lamport"] is None


def test_the_log_of_the_channel_has_none_of_them(tmp_path: Path, there: tuple[str, ...]) -> None:
    assert [line["message"]["text"] for line in as_json(tmp_path, "lobby", *there)] == ["in public"]


def test_nobody_of_that_name_is_told_with_those_who_are_there(tmp_path: Path, there: tuple[str, ...]) -> None:
    done = run(tmp_path, "log", "@eve", *there)
    assert done.returncode == 2
    assert "There are no direct messages with eve. There are some with bob." in done.stderr
    for wrong in (("log", *there), ("log", "lobby", "--journal", "--to", "bob", *there)):
        assert run(tmp_path, *wrong).returncode == 2


def _is_of(sender_id: str, told: DirectSaid) -> bool:
    return told.sender_id == sender_id


def test_two_of_one_name_are_told_apart_by_id(tmp_path: Path) -> None:
    ids: list[str] = []

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, *bobs = await two_bobs(w)
            for each in bobs:
                direct(each).send("ann", "it is me")
                ids.append(each.node.sender_id)
                await ann.until(DirectSaid, partial(_is_of, each.node.sender_id))

    asyncio.run(story())
    done = run(tmp_path, "log", "@bob", "--name", "ann", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert all(each in done.stderr for each in ids)


def test_following_shows_what_comes(tmp_path: Path, there: tuple[str, ...]) -> None:
    """`--follow` prints the messages that another process with the profile saves."""
    watching = subprocess.Popen(
        command("log", "lobby", "--follow", "--json", *there),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert watching.stdout is not None
    try:
        assert json.loads(watching.stdout.readline())["message"]["text"] == "in public"

        async def story() -> None:
            async with world(tmp_path / "data") as w:
                ann = start(w, "ann")
                ann.node.send("lobby", "later")
                await asyncio.sleep(0)

        asyncio.run(story())
        assert json.loads(watching.stdout.readline())["message"]["text"] == "later"
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate()
    assert watching.returncode == 130


def test_following_ends_when_its_reader_is_gone(tmp_path: Path, there: tuple[str, ...]) -> None:
    """`log --follow | head -1` stayed until the next message."""
    watching = subprocess.Popen(
        command("log", "lobby", "--follow", *there), cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE
    )
    assert watching.stdout is not None
    try:
        assert b"in public" in watching.stdout.readline()
        watching.stdout.close()
        assert watching.wait(30) == 0
    finally:
        watching.kill()
        watching.wait()


def test_following_notices_what_comes_late(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, slow = start(w, "ann"), start(w, "slow", ago=5000)
            await say(ann, "now")
            with Store.open_read_only(w.path("ann"), EitherCodec()) as reader:
                log = ChannelHistory(reader, "lobby", EitherCodec())
                assert [message.text for message in log.more()] == ["now"]
                assert list(log.more()) == []
                slow.node.sessions["lobby"].transport.unsubscribe("sds/1/lobby/msg")
                slow.node.send("lobby", "said before")
                await ann.until_texts("now", "said before")
                await say(ann, "after")
                assert [message.text for message in log.more()] == ["said before", "after"]
                assert list(log.more()) == []

    asyncio.run(story())
