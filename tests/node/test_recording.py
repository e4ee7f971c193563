"""A recording shows what the recorded node showed."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdschat.identity.content import OpenedContent, Verdict
from sdschat.node.events import MessageDelivered, NodeEvent, PresenceChanged, Said, TroubleMet
from sdschat.node.node import Node
from sdschat.node.recording.codec import Unrecorded, from_json, to_json
from sdschat.node.recording.reader import Recording, RecordingError, read_recording
from sdschat.node.recording.recorder import Recorder
from sdschat.node.recording.replay import ReplayNode
from sdschat.node.sharing.from_recording import SharedRecording
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.sds import events as ev
from sdschat.sds.values import (
    AckState,
    Append,
    Drop,
    Entry,
    Evidence,
    HistoryEntry,
    IncomingRow,
    LogRow,
    Message,
    OutgoingRow,
    Put,
    Reason,
    Table,
)
from tests.cli.processes import run
from tests.node.worlds import Member, World, world

MESSAGE = Message("bob", "m1", "lobby", 5, (HistoryEntry("m0", b"\x00\xff", None),), b"filter", (), b"text")

OPENED = OpenedContent(Verdict.NEW, "text \u202e", 1, "bob", b"key")


@pytest.mark.parametrize(
    "value",
    [
        MessageDelivered(Said(MESSAGE, OPENED, "bob", False), True, ("g",), "live"),
        ev.StateChanged("m1", AckState.POSSIBLY_ACKED, ("bob",), 2, Evidence("bob", "filter", "p", 7, 1e-4)),
        ev.StateChanged("m1", AckState.ACKED, (), 0, None),
        ev.Rejected(Reason.CLOCK_ZERO, "bob", "m1", "why"),
        Append(LogRow(Entry(5, "m1", "bob", ("m0",), 3), b"\x00raw", True, "live", 9)),
        Put(Table.OUTGOING, "m1", OutgoingRow("m1", 5, AckState.UNACKED, 1, 99, ())),
        Drop(Table.MISSING, "m2"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_from_json_as_they_were(value: Any) -> None:
    back = from_json(json.loads(json.dumps(to_json(value))))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "unknown",
    [
        {"o": "Nonsense", "v": []},
        {"e": "Reason", "v": "new"},
        {"b": "%"},
        {"x": 1},
        {"o": "PresenceChanged", "v": ["id", {"b": "AAAA"}, True]},
        {"o": "PresenceChanged", "v": ["id", "ann", "yes"]},
        {"o": "DependenciesLost", "v": [["m1", 2]]},
        {"o": "DependenciesLost", "v": ["m1"]},
        {"o": "PostSaid", "v": [["no post"], False, "live"]},
    ],
)
def test_what_a_later_version_wrote_is_told_apart(unknown: Any) -> None:
    with pytest.raises(Unrecorded):
        from_json(unknown)


WAITING = IncomingRow(MESSAGE, b"raw", "live", 1, 3, 9, ())


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("LeftOutgoing", ev.MessageRetired("m1")),
        ("MessageParked", ev.MessageDeferred("m1", "bob", 9)),
        ("LayoutChanged", ev.FilterFormatChanged("waku")),
        ("HeldRow", WAITING),
    ],
)
def test_a_recording_of_an_earlier_version_is_read(tmp_path: Path, name: str, now: Any) -> None:
    path = tmp_path / "old.jsonl"
    value = {"o": name, "v": [to_json(part) for part in now]}
    head = {"t": 1, "v": 1, "sender_id": "ann", "nick": "ann", "timing": "spec", "config": {}}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, {"t": 2, "c": "lobby", "f": value})))
    step = read_recording(path).steps[0]
    assert from_json(step.fields["f"]) == now


def test_the_table_of_buffered_messages_keeps_its_name_in_recordings() -> None:
    put = {"o": "Put", "v": [{"e": "Table", "v": "held"}, "m1", {"o": "HeldRow", "v": [to_json(x) for x in WAITING]}]}
    assert from_json(put) == Put(Table.INCOMING, "m1", WAITING)


RECORDERS: list[Recorder] = []


@pytest.fixture(autouse=True)
def _close_recorders() -> Iterator[None]:
    yield
    while RECORDERS:
        RECORDERS.pop().close()


def recorded(w: World, path: Path) -> Member:
    """Ann, who is recorded."""
    return w.start("ann", before=lambda node: RECORDERS.append(Recorder(node, path)))


def state_of(node: Node) -> dict[str, Any]:
    """Everything that an interface asks of a channel."""
    view = Conversations(node)
    lobby = view.channel("lobby")
    try:
        shown = lobby.messages()
        return {
            "log": [(each.message_id, each.text, each.nick, each.own, each.state, each.dependencies) for each in shown],
            "own": [fate[:2] + fate[3:] for each in shown if (fate := lobby.own(each.message_id)) is not None],
            "missing": [(each.message_id, each.attempts, each.asking) for each in lobby.missing()],
            "lost": lobby.lost(),
            "sync": lobby.sync(),
            "people": {(person.sender_id, person.nick, person.online) for person in lobby.people()},
            "faults": view.faults("lobby"),
            "found": [each.message_id for each in lobby.search("number")],
        }
    finally:
        view.close()


async def replayed(recording: Recording, folder: Path, place: int | None = None) -> ReplayNode:
    node = ReplayNode(recording, folder / "sdschat.db")
    node.go_to(len(recording.steps) if place is None else place)
    return node


def test_at_its_end_a_recording_shows_what_the_node_showed(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann = recorded(w, path)
            bob, eve = w.start("bob"), w.start("eve")
            await ann.until(PresenceChanged)
            for number in range(4):
                ann.node.send("lobby", f"mine, number {number}")
                bob.node.send("lobby", f"bob's, number {number}")
            await ann.until_texts(*(f"{who}, number {n}" for n in range(4) for who in ("mine", "bob's")))
            Injection(ann.node, "lobby").share("loss", 1.0, "in")
            bob.node.send("lobby", "lost")
            await eve.until_texts(*(f"{who}, number {n}" for n in range(4) for who in ("mine", "bob's")), "lost")
            Injection(ann.node, "lobby").share("loss", 0.0, "in")
            Injection(ann.node, "lobby").delay(1, "in")
            eve.node.send("lobby", "names it")
            await ann.until(ev.DependenciesMissing)
            before = state_of(ann.node)
            steps = len(read_recording(path).steps)
        again = await replayed(read_recording(path), tmp_path / "replay", steps)
        assert state_of(again) == before
        await again.close()

    asyncio.run(story())


def test_in_its_middle_a_recording_shows_what_was_there_then(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann, bob = recorded(w, path), w.start("bob")
            await ann.until(PresenceChanged)
            bob.node.send("lobby", "first")
            await ann.until_texts("first")
            place = len(read_recording(path).steps)
            bob.node.send("lobby", "second")
            await ann.until_texts("first", "second")
        recording = read_recording(path)
        again = await replayed(recording, tmp_path / "replay", place)
        assert [row[1] for row in state_of(again)["log"]] == ["first"]
        told: list[str] = []

        def hear(event: NodeEvent) -> None:
            if isinstance(event.body, MessageDelivered):
                told.append(event.body.said.opened.text or "")

        again.listen(hear)
        again.go_to(len(recording.steps))
        assert told == ["second"]
        await again.close()

    asyncio.run(story())


def test_what_was_there_before_the_recording_is_in_it(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = w.start("bob")
            await ann.until(PresenceChanged)
            bob.node.send("lobby", "earlier")
            await ann.until_texts("earlier")
            await ann.node.close(0.1)
            again = recorded(w, path)
            bob.node.send("lobby", "now")
            await again.until_texts("now")
        shown = await replayed(read_recording(path), tmp_path / "replay")
        assert [row[1] for row in state_of(shown)["log"]] == ["earlier", "now"]
        await shown.close()

    asyncio.run(story())


def test_nothing_is_sent_from_a_recording(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            recorded(w, path)
        node = await replayed(read_recording(path), tmp_path / "replay")
        with pytest.raises(ValueError, match="nothing can be sent"):
            node.send("lobby", "hello")
        with pytest.raises(ValueError, match="no channel 'attic'"):
            node.join("attic")
        await node.close()

    asyncio.run(story())


def test_a_recording_that_breaks_off_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann = recorded(w, path)
            ann.node.send("lobby", "kept")
            await ann.until_texts("kept")
            size = path.stat().st_size
        path.write_bytes(path.read_bytes()[: size + 20] + b'\n{"t":1,"c":"lobby","f":{"o":"Later","v":[]}}\n')
        recording = read_recording(path)
        assert recording.skipped == 1
        done = await asyncio.to_thread(run, tmp_path, "share", "lobby", "--from", str(path))
        assert f"left out of {path}, as damaged: 1 line" in done.stderr
        node = await replayed(recording, tmp_path / "replay")
        assert node.unknown == 1
        assert [row[1] for row in state_of(node)["log"]] == ["kept"]
        await node.close()

    asyncio.run(story())


def test_a_recording_that_lacks_the_state_of_a_channel_is_played(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann = recorded(w, path)
            ann.node.send("lobby", "one")
            await ann.until_texts("one")
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines[1:]:
            line["w"] = [write for write in line.get("w", []) if write["v"][0] != {"e": "Table", "v": "channel"}]
            if not line["w"]:
                del line["w"]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        node = await replayed(read_recording(path), tmp_path / "replay")
        assert node.sessions["lobby"].channel.state.participant_id == ann.node.sender_id
        assert node.unknown == 1
        await node.close()

    asyncio.run(story())


ODD = ("-5", "0", str(2**63 - 1), str(2**63), "1e999", "null", '"text"', "[]", "[" * 5000, '{"b":"AA=="}')


def test_altered_lines_of_a_recording_end_neither_its_reading_nor_its_playing(tmp_path: Path) -> None:
    """Anybody may have written the file: numbers in it are altered, among them Lamport times and the times of lines."""

    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            ann, bob = recorded(w, path), w.start("bob")
            ann.node.send("lobby", "one")
            bob.node.send("lobby", "two")
            await ann.until_texts("one", "two")
        head, *lines = path.read_text().splitlines()
        chance = random.Random(1)
        for number in range(30):
            altered = [
                re.sub(r"\b\d+\b", lambda found: chance.choice(ODD) if chance.random() < 0.2 else found[0], line)
                if chance.random() < 0.5
                else line
                for line in lines
            ]
            path.write_text("\n".join([head, *altered, ""]))
            recording = read_recording(path)
            SharedRecording(recording, "lobby", has_texts=True).shared()
            node = await replayed(recording, tmp_path / f"replay{number}")
            await node.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is no recording"),
        ("[" * 100_000, "is no recording"),
        ("{}\n", "is no recording"),
        ('{"v":99}\n', "of version 99"),
        ('{"v":1,"tap":"0123","seq":1,"topic":"sds/1/lobby/msg","raw":"CgFh"}\n', "`sdschat decode` explains them"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(RecordingError, match=complaint):
        read_recording(path)


def test_a_full_disk_ends_the_recording_and_not_the_node(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = recorded(w, Path("/dev/full"))
            ann.node.send("lobby", "hello")
            await ann.until_texts("hello")
            assert [body.detail.partition(":")[0] for body in ann.of(TroubleMet)] == [
                "recording to /dev/full has stopped"
            ]
            assert not ann.node.recorded

    asyncio.run(story())


def test_a_recording_that_is_there_is_not_written_over_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "run.jsonl"
        async with world(tmp_path) as w:
            recorded(w, path)
            assert path.stat().st_mode & 0o777 == 0o600
            with pytest.raises(FileExistsError):
                w.start("bob", before=lambda node: Recorder(node, path))

    asyncio.run(story())
