"""Direct messages between nodes with real stores and keys, on a network in memory."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sdschat.mvds.values import Packet, Payload
from sdschat.node.events import DirectRefused, DirectSaid, MessageDelivered, PresenceChanged, TroubleMet
from sdschat.node.sync.direct import CONFIG, DirectMessaging
from sdschat.node.sync.extension import sync_extension
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import conversation_id
from sdschat.sds.events import Rejected, StateChanged
from sdschat.sds.values import AckState, Now
from sdschat.store.direct import newest_with
from sdschat.store.display_rows import DirectRow
from sdschat.tui.model.items import gap_words
from sdschat.tui.model.workspace import TalkModel
from sdschat.wire.catchup_codec import DIRECT, SyncCodec
from tests.node.catching import say, start, stop
from tests.node.worlds import Member, World, world


def direct(member: Member) -> DirectMessaging:
    return sync_extension(member.node, "lobby").direct


async def _met(*members: Member) -> None:
    for member in members:
        await member.until(PresenceChanged, lambda told: told.online)


async def _acked(member: Member, message_id: str) -> None:
    await member.until(StateChanged, lambda s: s.message_id == message_id and s.state is AckState.ACKED)


def test_a_direct_message_reaches_the_other_and_is_acknowledged(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, cid = start(w, "ann"), start(w, "bob"), start(w, "cid")
            await ann.until(PresenceChanged, lambda told: told.nick == "bob")
            sent = direct(ann).send("bob", "between us")
            told = await bob.until(DirectSaid)
            assert (told.message_id, told.opened.text, told.nick, told.own) == (sent, "between us", "ann", False)
            assert told.opened.verdict.signed
            await _acked(ann, sent)
            states = [one.state for one in ann.of(StateChanged) if one.message_id == sent]
            assert states == [AckState.UNACKED, AckState.ACKED]
            assert not cid.of(DirectSaid)
            assert not bob.of(MessageDelivered)

    asyncio.run(story())


def test_it_waits_for_who_is_away_over_restarts_of_both(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "hello")  # so that ann knows bob's key for good
            await ann.until_texts("hello")
            await stop(w, bob)
            sent = direct(ann).send("bob", "when you are back")
            await ann.until(DirectSaid)
            await stop(w, ann)
            ann = start(w, "ann")
            bob = start(w, "bob")
            assert (await bob.until(DirectSaid)).opened.text == "when you are back"
            await _acked(ann, sent)
            rows = newest_with(ann.node.profile.store, bob.node.sender_id, 9)
            assert [(row.text, row.own, row.state) for row in rows] == [("when you are back", True, 2)]
            await stop(w, bob)
            bob = start(w, "bob")
            assert [row.text for row in direct(bob).messages.newest()] == ["when you are back"]
            assert not bob.of(DirectSaid)

    asyncio.run(story())


def test_answers_come_in_their_order(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            for number in range(20):
                direct(ann).send("bob", f"number {number}")
            await bob.until(DirectSaid, lambda told: told.opened.text == "number 19")
            direct(bob).send("ann", "enough")
            await ann.until(DirectSaid, lambda told: told.opened.text == "enough")
            assert [told.opened.text for told in bob.of(DirectSaid)][:20] == [f"number {n}" for n in range(20)]

    asyncio.run(story())


def test_the_broker_and_the_database_s_protocol_rows_hold_no_readable_text(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            seen: list[bytes] = []
            spy = w.network.transport()
            spy.listen(lambda event: seen.append(getattr(event, "payload", b"")))
            spy.subscribe("#")
            spy.start()
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            await _acked(ann, direct(ann).send("bob", "the key is under the mat"))
            assert seen
            assert not any(b"mat" in payload for payload in seen)
            await spy.close()
            with closing(sqlite3.connect(w.path("ann"))) as database:
                bodies = database.execute("SELECT body FROM mvds_message").fetchall()
            assert bodies
            assert not any(b"mat" in body for (body,) in bodies)

    asyncio.run(story())


def test_somebody_who_is_not_known_is_refused_in_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            with pytest.raises(ValueError, match=r"Nobody called eve is known on this channel\. Here are: bob"):
                direct(ann).send("eve", "hello")
            with pytest.raises(ValueError, match="That is yourself"):
                direct(ann).send(ann.node.sender_id, "hello")
            with pytest.raises(ValueError, match="at most 128 KiB"):
                direct(ann).send("bob", "x" * 200_000)
            with pytest.raises(ValueError, match="needs some text"):
                direct(ann).send("bob", "")
            assert not ann.of(DirectSaid)

    asyncio.run(story())


def test_it_waits_for_who_left_without_having_said_anything(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            await stop(w, bob)
            await ann.until(PresenceChanged, lambda told: not told.online)
            sent = direct(ann).send("bob", "when you are back")
            await stop(w, ann)
            ann, bob = start(w, "ann"), start(w, "bob")
            assert (await bob.until(DirectSaid)).opened.text == "when you are back"
            await _acked(ann, sent)

    asyncio.run(story())


def test_a_second_one_of_the_same_name_is_not_written_to_by_mistake(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "it is me")
            await ann.until_texts("it is me")
            await stop(w, bob)
            other = await _second_bob(w)
            await ann.until(PresenceChanged, lambda told: told.sender_id == other.node.sender_id)
            with pytest.raises(ValueError, match="More than one participant is called bob"):
                direct(ann).send("bob", "secret")
            direct(ann).send(other.node.sender_id[:12], "to the second one")
            assert (await other.until(DirectSaid)).opened.text == "to the second one"

    asyncio.run(story())


def test_nobody_acknowledges_in_another_s_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            bob.node.sessions["lobby"].transport.unsubscribe(f"sds/1/lobby/sync/{bob.node.sender_id}/+")
            sent = direct(ann).send("bob", "did you get this?")
            forger = w.network.transport()
            forger.start()
            forger.publish(
                f"sds/1/lobby/sync/{ann.node.sender_id}/{bob.node.sender_id}",
                SyncCodec().encode_records(Payload(acks=(bytes.fromhex(sent),)), DIRECT),
            )
            assert (await ann.until(DirectRefused)).sender_id == bob.node.sender_id
            assert [row.state for row in direct(ann).messages.newest()] == [0]
            await forger.close()

    asyncio.run(story())


async def two_bobs(w: World) -> tuple[Member, Member, Member]:
    """Return ann, and two who go by bob and know her."""
    ann, bob = start(w, "ann"), start(w, "bob")
    other = await _second_bob(w)
    for each in (bob, other):
        await each.until(PresenceChanged, lambda told: told.nick == "ann")
    return ann, bob, other


async def _second_bob(w: World) -> Member:
    folder, w.folder = w.folder, w.folder / "elsewhere"
    try:
        return start(w, "bob")
    finally:
        w.folder = folder


def test_what_others_put_on_the_topic_is_refused_and_nothing_else_happens(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, eve = start(w, "ann"), start(w, "bob"), start(w, "eve")
            await bob.until(PresenceChanged, lambda told: told.nick == "eve")
            await eve.until(PresenceChanged, lambda told: told.nick == "bob")
            await eve.until(PresenceChanged, lambda told: told.nick == "ann")
            forger = w.network.transport()
            forger.start()
            as_ann = f"sds/1/lobby/sync/{bob.node.sender_id}/{ann.node.sender_id}"
            seen: list[bytes] = []
            forger.listen(lambda event: seen.append(getattr(event, "payload", b"")))
            forger.subscribe(f"sds/1/lobby/sync/{bob.node.sender_id}/+")
            direct(eve).send("bob", "from eve")
            await bob.until(DirectSaid)
            for payload in [one for one in seen if one]:
                forger.publish(as_ann, payload)
            forger.publish(as_ann, b"\xff\xff rubbish")
            await bob.until(Rejected)
            assert [told.nick for told in bob.of(DirectSaid)] == ["eve"]
            assert {told.sender_id for told in bob.of(DirectRefused)} == {ann.node.sender_id}
            await forger.close()

    asyncio.run(story())


def test_a_second_known_key_of_the_same_name_is_noticed_while_both_are_away(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "it is me")
            await ann.until_texts("it is me")
            await stop(w, bob)
            other = await _second_bob(w)
            await say(other, "no, me")
            await ann.until_texts("it is me", "no, me")
            await other.node.close()
            await ann.until(PresenceChanged, lambda told: told.sender_id == other.node.sender_id and not told.online)
            with pytest.raises(ValueError, match="More than one participant is called bob") as raised:
                direct(ann).send("bob", "secret")
            for each, standing in ((bob, "known first, not here"), (other, "known, not here")):
                assert f"{each.node.sender_id} ({standing})" in str(raised.value)
            assert direct(ann).people.find(bob.node.sender_id).sender_id == bob.node.sender_id

    asyncio.run(story())


def test_a_changed_key_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "it is me")
            await ann.until_texts("it is me")
            await stop(w, bob)
            other = await _second_bob(w)
            await ann.until(PresenceChanged, lambda told: told.sender_id == other.node.sender_id)
            with pytest.raises(
                ValueError, match=f"{other.node.sender_id} \\(here, with a new key: the key changed, or"
            ):
                direct(ann).people.find("bob")

    asyncio.run(story())


def test_an_id_leads_to_its_owner_whoever_takes_it_for_a_nick(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            thief = start(w, bob.node.sender_id)
            await ann.until(PresenceChanged, lambda told: told.sender_id == thief.node.sender_id)
            assert direct(ann).people.find(bob.node.sender_id).nick == "bob"

    asyncio.run(story())


def _day_of(found: DirectMessaging, now: Now) -> tuple[Now, int, list[str]]:
    """Let a day pass in one moment; gives its end, how many packets went out, and the troubles that were told."""
    packets, troubles, ends = 0, [], now.mono + 24 * 3600 * 1000
    while (due := found.next_wake()) is not None and due < ends:
        now = Now(now.wall + max(0, due - now.mono), max(due, now.mono))
        found.advance(now)
        ready = found.take(now)
        packets += len(ready.packets)
        troubles += [told.detail for told in ready.events if isinstance(told, TroubleMet)]
    return now, packets, troubles


def test_what_is_sealed_for_a_key_that_is_gone_is_not_sent_for_ever(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await say(bob, "it is me")
            await ann.until_texts("it is me")
            await stop(w, bob)
            await ann.until(PresenceChanged, lambda told: not told.online)
            direct(ann).send("bob", "anybody?")
            await ann.until(DirectSaid)
            now, packets, troubles = _day_of(direct(ann), Now(*ann.node.clock.now()))
            assert 6 <= packets <= 9
            assert troubles == [
                f"bob ({bob.node.sender_id}) did not answer a direct message, which was sent 8 times; it goes out "
                "again when they are here with this key"
            ]
            direct(ann).presence_changed(bob.node.sender_id, True)
            _, packets, _ = _day_of(direct(ann), now)
            assert packets > 0

    asyncio.run(story())


def _hand_over(author: Member, reader: Member, message_id: str) -> None:
    """One message of the author reaches the reader, and no other."""
    message = direct(author)._kept.load(bytes.fromhex(message_id))
    assert message is not None
    payload = Payload(messages=(message,))
    packet = direct(author).post(Packet(reader.node.sender_id, payload))
    direct(reader).heard(author.node.sender_id, packet, payload, reader.node.clock.now())


def test_a_message_that_goes_without_an_earlier_one_says_so_until_that_comes(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await _met(ann, bob)
            bob.node.sessions["lobby"].transport.unsubscribe(f"sds/1/lobby/sync/{bob.node.sender_id}/+")
            first, second = (direct(ann).send("bob", text) for text in ("first", "second"))
            await ann.until(DirectSaid, lambda told: told.message_id == second)
            views = Conversations(bob.node)
            view = views.direct(name := conversation_id(ann.node.sender_id))
            _hand_over(ann, bob, second)
            now = bob.node.clock.now()
            direct(bob).advance(Now(now.wall + CONFIG.lost_after + 1000, now.mono + CONFIG.lost_after + 1000))
            bob.node.sessions["lobby"].mark_ready()
            told = await bob.until(DirectSaid)
            assert (told.message_id, told.gap) == (second, (first,))
            view.refresh()
            assert list(view.lost()) == [first]
            assert view.messages()[0].dependencies == (first,)
            model = TalkModel(views, name)
            model.open_at_end()
            model.refresh_gaps(always=True)
            assert gap_words(model.timeline.gaps[first], now.wall).startswith("1 message by ann is lost")
            _hand_over(ann, bob, first)
            bob.node.sessions["lobby"].mark_ready()
            await bob.until(DirectSaid, lambda told: told.message_id == first)
            view.refresh()
            assert view.lost() == {}
            assert [row.gap for row in direct(bob).messages.newest()] == [(), ()]
            views.close()

    asyncio.run(story())


def test_a_message_keeps_its_place_when_it_is_acknowledged(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = start(w, "ann")
            await say(ann, "hello")
            store, kept = ann.node.profile.store, direct(ann).messages
            row = DirectRow("1", "bob", True, "ann", "first", 0, 1, 1, 0, "", "known")
            for each in (row, row._replace(message_id="2", text="second"), row._replace(state=2)):
                with store.transaction() as transaction:
                    kept.put(transaction, each)
            assert [(each.text, each.state) for each in newest_with(store, "bob", 9)] == [("first", 2), ("second", 0)]

    asyncio.run(story())
