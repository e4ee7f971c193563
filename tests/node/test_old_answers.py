"""Answers that come with the history: those that their authors signed acknowledge what they answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.catchup.wanted_bodies import WantedBodies
from sdschat.node.sync.intake import EngineIntake
from sdschat.sds.values import AckState, HistoryEntry, Message
from sdschat.store.packets import ChannelLog
from tests.node.catching import CODEC
from tests.node.worlds import Member, world


def fetch(member: Member, packet: bytes) -> AckState:
    """Give a packet of the history to a member. Return what became of its one message."""
    session, store = member.node.sessions["lobby"], member.node.profile.store
    bodies = WantedBodies(ChannelLog(store, "lobby"))
    intake = EngineIntake(session.channel, member.node.gate, session.reception, lambda _: True, bodies, is_open=True)
    assert intake.take_in([packet], "store", member.node.clock.now()).new == 1
    (known,) = session.channel.state.outgoing.known.values()
    return known.state


def test_an_answer_in_the_history_acknowledges_if_it_is_signed(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            ann.node.sessions["lobby"].transport.unsubscribe("sds/1/lobby/msg")
            ann.node.send("lobby", "who has this?")
            await bob.until_texts("who has this?")
            bob.node.send("lobby", "I have")
            await bob.until_texts("who has this?", "I have")
            question, answer = bob.node.profile.store.channel("lobby").history.newest(2)
            assert question.message_id in answer.dependencies
            lamport, named = answer.lamport + 1, (HistoryEntry(question.message_id),)
            forged = Message("nobody", "f" * 8, "lobby", lamport, named, content=b"I have it, too")
            assert fetch(ann, CODEC.encode(forged)) is AckState.UNACKED
            row = bob.node.profile.store.channel("lobby").history.row(answer.message_id)
            assert row is not None
            assert fetch(ann, row.raw) is AckState.ACKED

    asyncio.run(story())
