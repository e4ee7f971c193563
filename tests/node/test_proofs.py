"""Acknowledgements that count, because they are signed, and those that are only shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.catchup.values import Frame, Nudge
from sdschat.identity.signing import Identity
from sdschat.identity.sync_proof import sign_sync
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import ConnectionChanged, MessageDelivered
from sdschat.node.settings import Value
from sdschat.node.sync.extension import install, sync_extension
from sdschat.sds.events import Rejected, StateChanged, SyncReceived
from sdschat.sds.values import AckState, HistoryEntry, Message, Reason
from sdschat.wire.catchup_codec import encode_frame
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.worlds import Member, World, run

CODEC = SdsCodec()
BOB, CAROL = Identity(b"b" * 32), Identity(b"c" * 32)


def sync(sender: str, session: ChannelSession, names: str, channel: str = "lobby") -> bytes:
    """Return the unsigned packet of a sync message that names a message."""
    lamport = session.channel.state.clock.value + 1
    return CODEC.encode(Message(sender, "sync-1", channel, lamport, (HistoryEntry(names),)))


async def spoken(w: World, **changes: Value) -> tuple[Member, ChannelSession, Message]:
    """Return a node, alone, that has said something."""
    settings = {name.replace("__", "."): value for name, value in changes.items()}
    ann = w.start("ann", changes={"sds.sync_interval": "1h", **settings})
    await ann.until(ConnectionChanged, lambda c: c.state == "connected")
    return ann, ann.node.sessions["lobby"], ann.node.send("lobby", "hello")


def told(member: Member) -> StateChanged:
    return member.of(StateChanged)[-1]


def test_nobody_acknowledges_in_an_invented_name(tmp_path: Path) -> None:
    """Attack 2."""

    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        for name in ("nobody", "no one", "somebody else"):
            session.receive(sync(name, session, sent.message_id), "live")
        last = await ann.until(StateChanged, lambda s: len(s.unproven) == 3)
        assert (last.state, last.by, last.perhaps) == (AckState.UNACKED, (), ())

    run(tmp_path, story)


def test_nobody_acknowledges_in_the_name_of_somebody_who_spoke(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w, trust__unsigned="count")
        session.receive(CODEC.encode(signed_message(BOB, "lobby", "hi", session.channel.state.clock.value)), "live")
        await ann.until(MessageDelivered, lambda m: not m.said.own)
        session.receive(sync(BOB.sender_id, session, sent.message_id), "live")
        last = await ann.until(StateChanged, lambda s: s.unproven != ())
        assert (last.state, last.unproven) == (AckState.UNACKED, (BOB.sender_id,))

    run(tmp_path, story)


@pytest.mark.parametrize("setting", [("trust__unsigned", "count"), ("content__format", "text")])
def test_the_word_of_those_without_a_key_counts_where_the_user_says_so(
    tmp_path: Path, setting: tuple[str, str]
) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w, **dict([setting]))
        session.receive(sync("somebody", session, sent.message_id), "live")
        last = await ann.until(StateChanged, lambda s: s.state is AckState.ACKED)
        assert (last.by, last.unproven) == (("somebody",), ())

    run(tmp_path, story)


def test_a_signed_sync_message_acknowledges(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        packet = sync(BOB.sender_id, session, sent.message_id)
        session.receive(packet, "live")
        await ann.until(StateChanged, lambda s: s.unproven == (BOB.sender_id,))
        session.receive(sign_sync(BOB, "lobby", 1, packet), "live")
        last = await ann.until(StateChanged, lambda s: s.state is AckState.ACKED)
        assert (last.by, last.unproven) == ((BOB.sender_id,), ())

    run(tmp_path, story)


def test_a_proof_is_of_its_sender_for_its_channel_and_for_every_byte(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        packet = sync(BOB.sender_id, session, sent.message_id)
        another = sync(BOB.sender_id, session, "m0")
        moved = packet + sign_sync(BOB, "lobby", 1, another)[len(another) :]
        for wrong in (sign_sync(CAROL, "lobby", 1, packet), sign_sync(BOB, "attic", 1, packet), moved):
            session.receive(wrong, "live")
        await ann.until(Rejected, lambda _: len(ann.of(Rejected)) == 3)
        assert {each.reason for each in ann.of(Rejected)} == {Reason.ALTERED}
        assert told(ann).state is AckState.UNACKED
        session.receive(sign_sync(BOB, "lobby", 1, packet), "live")
        await ann.until(StateChanged, lambda s: s.state is AckState.ACKED)

    run(tmp_path, story)


def test_who_has_signed_signs_and_an_old_packet_is_no_news(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        empty = CODEC.encode(Message(BOB.sender_id, "sync-0", "lobby", session.channel.state.clock.value + 1))
        for packet in (sign_sync(BOB, "lobby", 5, empty), sign_sync(BOB, "lobby", 4, empty)):
            session.receive(packet, "live")
        session.receive(sync(BOB.sender_id, session, sent.message_id), "live")
        refused = await ann.until(Rejected)
        assert refused.reason is Reason.ALTERED
        assert [each.sender_id for each in ann.of(SyncReceived)] == [BOB.sender_id]
        assert told(ann).unproven == ()

    run(tmp_path, story)


def test_two_of_our_make_acknowledge_with_signatures(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, bob = w.start("ann"), w.start("bob")
        sent = ann.node.send("lobby", "hello")
        last = await ann.until(StateChanged, lambda s: s.state is AckState.ACKED)
        assert (last.message_id, last.by, last.unproven) == (sent.message_id, (bob.node.sender_id,), ())
        assert not ann.of(Rejected)

    run(tmp_path, story)


def test_unproven_evidence_outlives_a_restart(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        session.receive(sync("nobody", session, sent.message_id), "live")
        await ann.until(StateChanged, lambda s: s.unproven == ("nobody",))
        await ann.node.close(0.1)
        again = w.start("ann", changes={"sds.sync_interval": "1h"}).node.sessions["lobby"]
        known = again.channel.state.outgoing.open[sent.message_id]
        assert (list(known.evidence), list(known.unproven)) == ([], ["nobody"])

    run(tmp_path, story)


def test_who_signed_a_comparison_signs_all(tmp_path: Path) -> None:
    """Comparisons acknowledge, too: an equal range."""

    async def story(w: World) -> None:
        ann, bob = (w.start(name, before=install) for name in ("ann", "bob"))
        signing = sync_extension(ann.node, "lobby").catchup.signing
        async with asyncio.timeout(10):
            while bob.node.sender_id not in signing:
                await asyncio.sleep(0.01)
        frame = encode_frame(Frame(1, 1, Nudge(3)))
        w.network.pass_on(f"sds/1/lobby/sync/{ann.node.sender_id}/{bob.node.sender_id}", frame, False)
        assert (await ann.until(Rejected)).reason is Reason.ALTERED

    run(tmp_path, story)


def test_an_old_packet_is_no_news_after_a_restart_either(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        session.receive(
            CODEC.encode(signed_message(BOB, "lobby", "hi", sent.lamport_timestamp or 0, nick="bob")), "live"
        )
        await ann.until_texts("hello", "hi")
        unsigned = sync(BOB.sender_id, session, sent.message_id)
        signed = sign_sync(BOB, "lobby", 7, unsigned)
        session.receive(signed, "live")
        await ann.until(SyncReceived)
        await ann.node.close(0.1)
        again = w.start("ann", changes={"sds.sync_interval": "1h"})
        room = again.node.sessions["lobby"]
        for packet in (signed, unsigned):
            room.receive(packet, "live")
        assert (await again.until(Rejected)).reason is Reason.ALTERED
        assert not again.of(SyncReceived)
        room.receive(sign_sync(BOB, "lobby", 8, unsigned), "live")
        await again.until(SyncReceived)

    run(tmp_path, story)


def test_invented_keys_do_not_let_unsigned_sync_messages_pass_for_those_of_who_signs(tmp_path: Path) -> None:
    """They pushed out the counter by which it is known that somebody signs."""

    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        session.receive(CODEC.encode(signed_message(BOB, "lobby", "hi", session.channel.state.clock.value)), "live")
        await ann.until(MessageDelivered, lambda m: not m.said.own)
        session.proofs.restore(BOB.sender_id, 1)
        for number in range(5_000):
            session.proofs.restore(f"nobody {number}", 1)
        session.receive(sync(BOB.sender_id, session, sent.message_id), "live")
        refused = await ann.until(Rejected)
        assert (refused.reason, refused.sender_id) == (Reason.ALTERED, BOB.sender_id)

    run(tmp_path, story)


def test_counters_of_strangers_are_not_kept(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, session, sent = await spoken(w)
        session.receive(sign_sync(CAROL, "lobby", 7, sync(CAROL.sender_id, session, sent.message_id)), "live")
        await ann.until(SyncReceived)
        assert not ann.node.profile.store.values("counter/")

    run(tmp_path, story)
