"""A stretch of a channel as a page: what is in it, what is not, and that nothing of others runs in it."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from sdschat.node.events import ConnectionChanged, MessageDelivered, PresenceChanged, SavingResumed
from sdschat.node.node import Node
from sdschat.node.recording.reader import RecordingError, read_recording
from sdschat.node.recording.recorder import Recorder
from sdschat.node.recording.replay import ReplayNode
from sdschat.node.sharing.events import SharedEvents, from_database, page
from sdschat.node.sharing.from_recording import SharedRecording
from sdschat.node.sharing.of_node import page_of
from sdschat.node.sharing.to_recording import read_played
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view import members
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.live import fate
from sdschat.sds import events as ev
from sdschat.sds.values import AckState
from tests.browser import browser
from tests.fingerprints import fingerprint_of
from tests.node.worlds import world

HOSTILE = "</script><img src=x onerror=document.title='caught'>"


def shared(node: Node, since: int = 0, *, has_texts: bool = True) -> SharedEvents:
    store = node.profile.store
    with store.open_read_only(store.path, node.profile.codec) as reader:
        return from_database(reader, "lobby", node.sender_id, since, has_texts=has_texts)


def fingerprint_in(node: Node) -> str:
    store = node.profile.store
    with store.open_read_only(store.path, node.profile.codec) as reader:
        return next(info.fingerprint for info in reader.channels() if info.channel == "lobby")


def lines_of(made: str) -> list[dict[str, Any]]:
    block = made.partition('id="lines">\n')[2].partition("\n</script>")[0]
    return [json.loads(line) for line in block.splitlines()]


def test_a_page_has_texts_states_packets_and_the_fingerprint_after_each_message(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            own = ann.node.send("lobby", HOSTILE).message_id
            await bob.until_texts(HOSTILE)
            bob.node.send("lobby", "second")
            await ann.until_texts(HOSTILE, "second")
            await ann.until(ev.StateChanged, lambda changed: changed.state == AckState.ACKED)
            found = shared(ann.node)
            said = [line for line in found.lines if line["event"] == "delivered"]
            assert [(line["nick"], line["text"]) for line in said] == [("ann", HOSTILE), ("bob", "second")]
            places = [(line["lamport"], line["message_id"]) for line in said]
            assert [line["fingerprint"] for line in said] == [fingerprint_of(places[:1]), fingerprint_of(places)]
            assert [line["messages"] for line in said] == [1, 2]
            acked = next(line for line in found.lines if line["event"] == "acked")
            assert (acked["message_id"], acked["peer"]) == (own, bob.node.sender_id)
            assert found.nicks[bob.node.sender_id] == "bob"
            assert any(line["event"] == "sent" and line["bytes"] > 0 for line in found.lines)
            later = said[-1]["ts_ms"] + 60_000
            assert not shared(ann.node, since=later).lines

    asyncio.run(told())


@pytest.mark.parametrize("has_texts", [True, False])
def test_nothing_that_muted_people_say_is_in_a_page(tmp_path: Path, has_texts: bool) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            bob.node.send("lobby", "not to be shown")
            await ann.until_texts("not to be shown")
            ann.node.mute(bob.node.sender_id, True)
            (said,) = (line for line in shared(ann.node, has_texts=has_texts).lines if line["event"] == "delivered")
            assert said["sender"] == bob.node.sender_id
            assert not {"text", "text_length", "packet"} & said.keys()

    asyncio.run(told())


def test_nothing_that_muted_people_say_is_in_a_page_of_a_recording(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            recorders: list[Recorder] = []
            ann = w.start("ann", before=lambda node: recorders.append(Recorder(node, tmp_path / "run.jsonl")))
            bob, carol = w.start("bob"), w.start("carol")
            ann.node.mute(bob.node.sender_id, True)
            bob.node.send("lobby", "not to be shown")
            await carol.until_texts("not to be shown")
            carol.node.send("lobby", "to be shown")
            await ann.until_texts("to be shown")
            recorders[0].close()
            lines = SharedRecording(read_recording(tmp_path / "run.jsonl"), "lobby", has_texts=True).shared().lines
            packets = b"".join(base64.b64decode(line["packet"]) for line in lines if "packet" in line)
            assert b"not to be shown" not in packets
            assert b"to be shown" in packets

    asyncio.run(told())


def test_the_events_of_a_page_are_json_lines_that_no_text_ends(tmp_path: Path) -> None:
    async def told() -> str:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", HOSTILE)
            await ann.until_texts(HOSTILE)
            return page_of(ann.node, "lobby", 0, has_texts=True)

    made = asyncio.run(told())
    assert "<img" not in made
    head, *lines = lines_of(made)
    assert (head["channel"], head["texts"]) == ("lobby", True)
    assert HOSTILE in [line.get("text") for line in lines]


def test_without_texts_neither_text_nor_packet_is_in_the_page(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            bob.node.send("lobby", "a secret")
            await ann.until_texts("a secret")
            found = shared(ann.node, has_texts=False)
            (said,) = (line for line in found.lines if line["event"] == "delivered")
            assert said["text_length"] == 8
            assert "packet" not in said
            assert "secret" not in page(found)

    asyncio.run(told())


@pytest.mark.parametrize("has_texts", [True, False])
def test_a_recording_gives_the_same_messages_and_fingerprints(tmp_path: Path, has_texts: bool) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            recorders: list[Recorder] = []
            file = tmp_path / "run.jsonl"
            ann = w.start("ann", before=lambda node: recorders.append(Recorder(node, file)))
            bob = w.start("bob")
            ann.node.send("lobby", "one")
            await bob.until_texts("one")
            bob.node.send("lobby", "two")
            await ann.until_texts("one", "two")
            await ann.until(ev.StateChanged, lambda changed: changed.state == AckState.ACKED)
            Injection(ann.node, "lobby").offline(True)
            await ann.until(ConnectionChanged, lambda changed: changed.state == "disconnected")
            recorders[0].close()
            read = SharedRecording(read_recording(file), "lobby", has_texts=has_texts)
            columns = ("message_id", "sender", "lamport", "nick", "text", "text_length", "messages", "fingerprint")
            both = [
                [[line.get(name) for name in columns] for line in each.lines if line["event"] == "delivered"]
                for each in (read.shared(), shared(ann.node, has_texts=has_texts))
            ]
            assert both[0] == both[1]
            assert {"sent", "received", "here", "acked"} <= {line["event"] for line in read.shared().lines}
            assert any("packet" in line for line in read.shared().lines) == has_texts
            assert not read.is_private
            assert [line["cause"] for line in read.shared().lines if line["event"] == "disconnected"] == ["offline"]

    asyncio.run(told())


def test_a_members_channel_is_not_shared(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            name = members.create(ann.node, "board")
            ann.node.join(name)
            with pytest.raises(ValueError, match="deleted"):
                page_of(ann.node, name, 0, has_texts=True)

    asyncio.run(told())


def test_a_page_and_its_events_are_told_from_recordings(tmp_path: Path) -> None:
    made = SharedEvents("lobby", "a" * 20, {}, True, [{"ts_ms": 1, "event": "connected"}])
    (tmp_path / "page.html").write_text(page(made))
    (tmp_path / "saved.jsonl").write_text("\n".join(json.dumps(line) for line in [made.head(), *made.lines]) + "\n")
    for name, words in (("page.html", "is a page: open it in a browser"), ("saved.jsonl", "has the events of a page")):
        with pytest.raises(RecordingError, match=f"{name} {words}.*--record FILE"):
            read_recording(tmp_path / name)


@pytest.mark.parametrize("has_texts", [True, False])
@pytest.mark.parametrize("suffix", ["html", "jsonl"])
def test_a_page_and_its_saved_events_are_played(tmp_path: Path, has_texts: bool, suffix: str) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            own = ann.node.send("lobby", HOSTILE).message_id
            await bob.until_texts(HOSTILE)
            theirs = bob.node.send("lobby", "second").message_id
            await ann.until_texts(HOSTILE, "second")
            await ann.until(ev.StateChanged, lambda changed: changed.state == AckState.ACKED)
            found = shared(ann.node, has_texts=has_texts)
            log = fingerprint_in(ann.node)
        file = tmp_path / f"page.{suffix}"
        lines = "".join(f"{json.dumps(line)}\n" for line in [found.head(), *found.lines])
        file.write_text(page(found) if suffix == "html" else lines)
        recording = read_played(file)
        assert (recording.nick, recording.channels, recording.skipped) == ("ann", ["lobby"], 0)
        node = ReplayNode(recording, tmp_path / "played.db")
        node.go_to(len(recording.steps))
        view = Conversations(node, recorded="only shown")
        messages = view.channel("lobby").messages(limit=9)
        assert [each.message_id for each in messages] == [own, theirs]
        kept = (
            [HOSTILE, "second"] if has_texts else [f"({len(HOSTILE)} characters left out)", "(6 characters left out)"]
        )
        assert [each.text for each in messages] == kept
        assert [each.nick for each in messages] == ["ann", "bob"]
        known = fate(node.sessions["lobby"], own, node.clock.now())
        assert known is not None
        assert known.state is AckState.ACKED
        assert {each.sender_id for each in known.evidence} == {bob.node.sender_id}
        assert fingerprint_in(node) == log
        again = SharedRecording(recording, "lobby", has_texts=has_texts).shared()
        said = [line["message_id"] for line in again.lines if line["event"] == "delivered"]
        assert said == [own, theirs], "a page can be made of a page"
        view.close()
        await node.close()

    asyncio.run(told())


def test_missing_and_lost_messages_of_a_page_are_played_and_bad_lines_are_counted(tmp_path: Path) -> None:
    def line(at: int, event: str, **more: object) -> dict[str, object]:
        return {"ts_ms": at, "event": event, **more}

    lines: list[Any] = [
        line(1000, "missing", message_id="m3", deps=["m1", "m2"]),
        line(1500, "repair_wanted", message_id="m1", attempt=2500),
        line(2000, "delivered", message_id="m1", sender="b" * 32, lamport=7, nick="bob", text="late", deps=[]),
        line(3000, "lost", deps=["m2"]),
        line(3100, "acked", message_id="nobody's", peer="b" * 32),
        line(3200, "rejected", cause="no reason"),
        {"event": "delivered"},
        line(4000, "delivered", message_id=[1], sender=None, lamport="x"),
    ]
    file = tmp_path / "page.html"
    file.write_text(page(SharedEvents("lobby", "a" * 32, {"b" * 32: "bob"}, True, lines)))
    recording = read_played(file)
    assert recording.skipped == 4

    async def told() -> None:
        node = ReplayNode(recording, tmp_path / "played.db")
        node.go_to(len(recording.steps))
        snapshot = node.profile.store.channel("lobby").snapshot()
        assert snapshot is not None
        assert not snapshot.missing
        assert [gap.message_id for gap in snapshot.gaps] == ["m2"]
        await node.close()

    asyncio.run(told())
    (tmp_path / "other.html").write_text("<!doctype html>\n<p>no page of ours</p>")
    with pytest.raises(RecordingError, match=r"other.html is no page of sdschat share"):
        read_played(tmp_path / "other.html")


def test_a_page_tells_who_was_here_and_when(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            bob = w.start("bob")
            await ann.until(PresenceChanged, lambda changed: changed.nick == "bob")
            ann.node.send("lobby", "one")
            await ann.until(ev.StateChanged, lambda changed: changed.evidence is not None)
            first = shared(ann.node)
            own, other = ann.node.sender_id, bob.node.sender_id
            assert presences(first.lines) == [("here", own), ("here", other)]
            carol = w.start("carol")
            await bob.node.close(0.1)
            await ann.until(PresenceChanged, lambda changed: not changed.online)
            await carol.until_texts("one")
            ann.node.send("lobby", "two")
            await carol.until_texts("one", "two")
            await ann.until_texts("one", "two")
            assert presences(shared(ann.node).lines)[2:] in (
                [("here", carol.node.sender_id), ("left", other)],
                [("left", other), ("here", carol.node.sender_id)],
            )
            two = [line for line in shared(ann.node).lines if line["event"] == "delivered"][-1]
            later = shared(ann.node, since=two["ts_ms"])
            assert sorted(presences(later.lines)) == sorted([("here", own), ("here", carol.node.sender_id)])
            await ann.node.close(0.1)
            again = w.start("ann")
            await again.until(PresenceChanged, lambda changed: changed.nick == "carol")
            again.node.send("lobby", "three")
            await again.until_texts("three")
            whole = page(shared(again.node))
            (tmp_path / "page.html").write_text(whole)
            node = ReplayNode(recording := read_played(tmp_path / "page.html"), tmp_path / "played.db")
            node.go_to(len(recording.steps))
            assert set(node.sessions["lobby"].presence.online) == {carol.node.sender_id}
            await node.close()

    asyncio.run(told())


@pytest.mark.parametrize("parts", [True, False])
def test_a_page_ends_with_the_leaving_of_its_own_node(tmp_path: Path, parts: bool) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            recorders: list[Recorder] = []
            ann = w.start("ann", before=lambda node: recorders.append(Recorder(node, tmp_path / "run.jsonl")))
            bob = w.start("bob")
            await ann.until(PresenceChanged, lambda changed: changed.nick == "bob")
            own, other = ann.node.sender_id, bob.node.sender_id
            if parts:
                await ann.node.part("lobby", 0.1)
                ann.node.emit(SavingResumed())  # the next event of any kind
            recorders[0].close()
            await ann.node.close(0.1)
            read = SharedRecording(read_recording(tmp_path / "run.jsonl"), "lobby", has_texts=True).shared()
            assert presences(read.lines) == [("here", own), ("here", other), ("left", own)]
            again = w.start("ann")
            await again.until(PresenceChanged, lambda changed: changed.nick == "bob")
            again.node.send("lobby", "back")
            await again.until_texts("back")
            found = shared(again.node)
            assert presences(found.lines)[:4] == [("here", own), ("here", other), ("left", own), ("here", own)]
            (tmp_path / "page.html").write_text(page(found._replace(lines=[*found.lines, left(own, found.lines)])))
            node = ReplayNode(recording := read_played(tmp_path / "page.html"), tmp_path / "played.db")
            node.go_to(len(recording.steps))
            assert node.sessions["lobby"].presence.online == {}, "nobody is known to be here any more"
            await node.close()

    asyncio.run(told())


def left(sender_id: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    return {"ts_ms": lines[-1]["ts_ms"], "event": "left", "sender": sender_id}


def presences(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["event"], line["sender"]) for line in lines if line["event"] in ("here", "left")]


def test_who_only_acknowledged_has_the_nick_that_the_chat_shows(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            ann.node.send("lobby", "one")
            await bob.until_texts("one")
            await ann.until(ev.StateChanged, lambda changed: changed.evidence is not None)
            await ann.until(PresenceChanged, lambda changed: changed.nick == "bob")
            head, *_ = lines_of(page_of(ann.node, "lobby", 0, has_texts=True))
            assert head["nicks"][bob.node.sender_id] == "bob"
            view = Conversations(ann.node)
            view.channel("lobby").keep_nicks()
            view.close()
            assert shared(ann.node).nicks[bob.node.sender_id] == "bob"  # as `sdschat share` reads it from the profile

    asyncio.run(told())


def test_a_page_shows_what_an_answer_answers_and_opens_at_the_end_of_its_events(tmp_path: Path) -> None:
    """Answers lost what they answer, and the last event was cut, since the head grew after the list was scrolled."""

    async def told() -> None:
        async with world(tmp_path / "w") as w:
            ann, bob = w.start("ann"), w.start("bob")
            asked = ann.node.send("lobby", "tea?\nor coffee").message_id
            await bob.until_texts("tea?\nor coffee")
            bob.node.send("lobby", "tea", reply_to=asked)
            await ann.until_texts("tea?\nor coffee", "tea")
            for number in range(40):
                ann.node.send("lobby", f"line {number}")
            await ann.until(MessageDelivered, lambda delivered: delivered.said.opened.text == "line 39")
            found = shared(ann.node)
        (tmp_path / "page.html").write_text(page(found), "utf-8")
        async with browser() as tab:
            await tab.open((tmp_path / "page.html").as_uri())
            await tab.until("document.querySelectorAll('#messages li').length > 40")
            assert await tab.ask("document.querySelector('#messages .quote').textContent") == "↳ ann: tea?"
            gap = "(list => list.scrollHeight - list.clientHeight - list.scrollTop)(document.getElementById('events'))"
            assert await tab.ask(gap) < 2, "the last one is whole"
            await tab.ask("document.getElementById('play').click()")
            shown = "document.getElementById('messages').textContent"
            assert "press play" not in await tab.ask(shown), "it plays"

    asyncio.run(told())


def line_at(at: int, event: str, **more: object) -> dict[str, Any]:
    return {"ts_ms": at, "event": event, **more}


def said_by(sender: str, at: int, lamport: int, text: str) -> dict[str, Any]:
    return line_at(at, "delivered", message_id=text, sender=sender, lamport=lamport, text=text, deps=[])


ANN, BOB = "a" * 32, "b" * 32


def test_a_page_that_is_played_tells_what_the_chat_told(tmp_path: Path) -> None:
    """Nothing was late, whoever left was not in the list of people, and what waits for others was missing itself. A
    missing message had no author, and a cut no reason, though the page has both."""
    lines = [
        line_at(1000, "connected"),
        line_at(1000, "here", sender=BOB),
        said_by(BOB, 2000, 9, "second"),
        said_by(BOB, 3000, 8, "first"),
        line_at(4000, "missing", message_id="sync-1", deps=["waits"]),
        line_at(5000, "missing", message_id="waits", deps=["away"]),
        line_at(6000, "sync_received", peer=BOB),
        line_at(7000, "left", sender=BOB),
        line_at(7500, "disconnected", cause="connection_lost"),
        said_by(BOB, 8000, 10, "away"),
    ]
    file = tmp_path / "page.html"
    file.write_text(page(SharedEvents("lobby", ANN, {BOB: "bob"}, True, lines)))

    async def told() -> None:
        node = ReplayNode(recording := read_played(file), tmp_path / "played.db")
        heard, cuts = list[tuple[str, bool]](), list[tuple[str, str, str]]()
        node.listen(
            lambda event: (
                cuts.append((event.body.state, event.body.why, event.body.detail))
                if isinstance(event.body, ConnectionChanged) and event.body.state == "disconnected"
                else None
            )
        )
        node.listen(
            lambda event: (
                heard.append((event.body.said.opened.text or "", event.body.late))
                if isinstance(event.body, MessageDelivered)
                else None
            )
        )
        moments = [at for at, step in enumerate(recording.steps) if step.at < 8000]
        node.go_to(len(moments))
        view = Conversations(node, recorded="only shown")
        assert heard == [("second", False), ("first", True)]
        people = [(each.nick, each.online, each.heard_at) for each in view.channel("lobby").people() if not each.own]
        assert people == [("bob", False, 6000)]
        snapshot = node.profile.store.channel("lobby").snapshot()
        assert snapshot is not None
        assert [(row.message_id, row.sender_id) for row in snapshot.missing] == [("away", BOB)]
        assert cuts == [("disconnected", "connection_lost", "(connection lost)")]
        view.close()
        await node.close()

    asyncio.run(told())


def test_a_page_names_the_time_zone_and_the_days_of_its_times(tmp_path: Path) -> None:
    at = 1_760_000_000_000  # 2025-10-09 08:53:20 UTC
    lines = [
        said_by(BOB, at, 1, "today"),
        line_at(at, "missing", message_id="sync-1", deps=["waits"]),
        line_at(at, "missing", message_id="waits", deps=["away"]),
        said_by(BOB, at + 90_000_000, 2, "a day later"),
    ]
    (tmp_path / "page.html").write_text(page(SharedEvents("lobby", ANN, {BOB: "bob"}, True, lines)), "utf-8")

    async def told() -> None:
        async with browser() as tab:
            await tab.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
            await tab.open((tmp_path / "page.html").as_uri())
            about = await tab.ask("document.getElementById('about').textContent")
            assert "2025-10-09 14:23:20 UTC+05:30, 25:00:00 long" in about
            shown = await tab.ask(
                "[...document.querySelectorAll('#messages li')].map(row => row.textContent).join('|')"
            )
            assert shown.startswith("2025-10-09|14:23:20bobtoday|2025-10-10|15:23:20boba day later|")
            assert shown.count("missing") == 1, "what waits for another is here"
            assert await tab.ask("document.querySelector('#events time').title") == "2025-10-09 14:23:20 UTC+05:30"

    asyncio.run(told())
