"""`sdschat send` when it cannot send: the exit code, and the fate of the text."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.cli.errors import CommandProblem
from sdschat.cli.send import _Order, _Sending, _Unsaved
from sdschat.node.events import ConnectionChanged, MessageDelivered, NodeEvent
from tests.cli.processes import Pipe, run
from tests.node.test_proofs import sync
from tests.node.worlds import world
from tests.transport.worlds import Mosquitto, free_port


def logged(home: Path) -> list[str]:
    """Return the texts in the database of the profile ci."""
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


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    broker = Mosquitto(tmp_path)
    asyncio.run(broker.start())
    yield broker.url
    broker.stop()


def here(home: Path, url: str, *names: str) -> Pipe:
    """A participant that is present on the channel."""
    pipe = Pipe(home, "lobby", *names, "--broker", url, "--linger", "forever")
    pipe.until_event("connection", state="connected")
    return pipe


def own_id(pipe: Pipe) -> str:
    return str(next(line["sender_id"] for line in pipe.lines if line["event"] == "joined"))


def test_two_keys_under_one_nick_are_2_and_both_are_named(tmp_path: Path, url: str) -> None:
    """The first key is known from before, the second only by its presence, which the search must wait for."""
    first, ann = here(tmp_path, url, "--name", "bob"), here(tmp_path, url, "--name", "ann")
    first.say("it is me")
    ann.until_texts("it is me")
    second = here(tmp_path, url, "--name", "bob", "--profile", "other")
    ids = [own_id(first), own_id(second)]
    assert ann.kill(signal.SIGTERM) == 143
    try:
        for gone in (False, True):
            if gone:
                first.kill(signal.SIGTERM)
            done = run(tmp_path, "send", "lobby", "secret", "--to", "bob", "--name", "ann", "--broker", url)
            assert done.returncode == 2
            assert all(each in done.stderr for each in ids)
            assert "with a new key: the key changed, or somebody else took the nick" in done.stderr
        chosen = run(tmp_path, "send", "lobby", "psst", "--to", ids[1], "--name", "ann", "--broker", url)
        assert chosen.returncode == 0
        second.until_event("direct")
        away = run(tmp_path, "send", "lobby", "later", "--to", ids[0], "--name", "ann", "--broker", url)
        assert f"bob ({ids[0]}) is not here now; the message waits" in away.stderr
    finally:
        for pipe in (first, second, ann):
            if pipe.process.poll() is None:
                pipe.kill(signal.SIGKILL)


def test_a_profile_keeps_its_nick_until_another_is_given(tmp_path: Path, url: str) -> None:
    for text, name in (("first", ("--name", "ann")), ("second", ()), ("third", ("--name", "bob")), ("fourth", ())):
        done = run(tmp_path, "send", "lobby", text, "--profile", "work", *name, "--broker", url)
        assert done.returncode == 0, done.stderr
    log = run(tmp_path, "log", "lobby", "--profile", "work", "--json")
    said = [json.loads(line)["message"] for line in log.stdout.splitlines()]
    assert [(one["text"], one["nick"]) for one in said] == [
        ("first", "ann"),
        ("second", "ann"),
        ("third", "bob"),
        ("fourth", "bob"),
    ]


async def _with_full_disk(tmp_path: Path, *, room_at_the_end: bool) -> int:
    """Send while the disk is full, end the node, and return the exit code of the command."""
    async with world(tmp_path) as place:
        node = place.start("ann").node
        connection = node.profile.store.connection

        def fill(event: NodeEvent) -> None:
            if isinstance(event.body, ConnectionChanged) and event.body.state == "connected":
                pages = connection.execute("PRAGMA page_count").fetchone()[0]
                connection.execute(f"PRAGMA max_page_count = {pages}")

        node.listen(fill)
        sending = _Sending(node, _Order("dev", "x" * 30_000, "sent", 60, False, "", False, "ann"))
        with pytest.raises(_Unsaved) as raised:
            await asyncio.wait_for(sending.run(), 20)
        if room_at_the_end:
            connection.execute("PRAGMA max_page_count = 100000")
        await node.close()
        return sending.after_the_end(raised.value)


def test_a_full_disk_ends_it_at_once_with_what_became_of_the_text(tmp_path: Path) -> None:
    with pytest.raises(CommandProblem) as raised:
        asyncio.run(_with_full_disk(tmp_path, room_at_the_end=False))
    assert raised.value.exit_code == 1
    assert str(raised.value).startswith("The message was not sent: the disk is full: the last change was not saved")
    assert str(raised.value).endswith("The text was not kept: send it again.")


def test_a_text_that_is_saved_and_sent_at_the_end_after_all_is_not_told_to_be_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asyncio.run(_with_full_disk(tmp_path, room_at_the_end=True)) == 0
    assert len(capsys.readouterr().out.split()) == 1  # its id


@pytest.mark.parametrize("wait", ["sent", "acked"])
def test_an_id_is_printed_after_the_message_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    async def story() -> list[bool]:
        async with world(tmp_path) as place:
            place.start("bob", "dev")
            node, saved = place.start("ann").node, list[bool]()

            def note(message_id: str, *, flush: bool) -> None:
                with node.profile.store.open_read_only(node.profile.store.path, node.profile.codec) as reader:
                    saved.append(reader.message("dev", message_id, ancestors=0) is not None)

            monkeypatch.setattr("builtins.print", note)
            order = _Order("dev", "hello", wait, 20, False, "", False, "ann")
            assert await asyncio.wait_for(_Sending(node, order).run(), 20) == 0
            return saved

    assert asyncio.run(story()) == [True]


def test_an_acknowledgement_that_nobody_signed_is_called_unproven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        async with world(tmp_path) as place:
            ann = place.start("ann", "dev", changes={"trust.unsigned": "count"})

            def claim(event: NodeEvent) -> None:
                if isinstance(event.body, MessageDelivered):
                    session = ann.node.sessions["dev"]
                    session.receive(sync("somebody", session, event.body.said.message.message_id, "dev"), "live")

            ann.node.listen(claim)
            monkeypatch.setattr("sys.stderr.isatty", lambda: True)
            order = _Order("dev", "hello", "acked", 20, False, "", False, "ann")
            assert await asyncio.wait_for(_Sending(ann.node, order).run(), 20) == 0

    asyncio.run(story())
    assert "acked by <somebody> (unsigned, so unproven)" in capsys.readouterr().err


def test_words_without_quotes_are_told_to_stand_in_quotes(tmp_path: Path) -> None:
    done = run(tmp_path, "send", "lobby", "hello", "there")
    assert done.returncode == 2
    assert "A text of several words stands in quotes." in done.stderr


def test_a_mistyped_channel_is_named_and_the_message_goes_there(tmp_path: Path, url: str) -> None:
    def send(channel: str, *more: str, name: str = "ann") -> tuple[int, str]:
        done = run(tmp_path, "send", channel, "hi", "--name", name, "--broker", url, *more)
        assert len(done.stdout.split()) == 1, done
        return done.returncode, done.stderr

    bob = here(tmp_path, url, "--name", "bob")
    assert send("lobby") == (0, "")
    said = "nobody is in loby now, and ann was never in it. Did you mean lobby?\n"
    assert send("loby") == (0, said)
    assert send("loby") == (0, ""), "it is no new one any more"
    code, told = send("loby2", "--wait", "acked", "--timeout", "2s")
    assert (code, told.splitlines()[0]) == (6, "nobody is in loby2 now, and ann was never in it. Did you mean loby?")
    leads = f"sdschat join 'a b' --broker {url}"
    named = f"nobody is in a b now, and eve was never in it. Others join it with: {leads}\n"
    assert send("a b", name="eve") == (0, named)
    bob.kill(signal.SIGTERM)
    assert send("lobby") == (0, ""), "known, and nobody is there"
