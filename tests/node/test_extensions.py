"""Tests of channel extensions: they hear their topics, and share the transaction of the turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.channel.extension import ExtensionOutput, OutgoingPacket
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import ConnectionChanged, HandedOver, MessageDelivered, PresenceChanged, TroubleMet
from sdschat.sds.state import Ready
from sdschat.sds.values import Append, Now
from sdschat.store.transaction import Transaction
from tests.node.worlds import world


class Courier:
    """Sends every own message of the channel to one peer over `sync` too, and gives the engine what it gets."""

    def __init__(self, what: str = "sync", to: str = "") -> None:
        self.what, self.to = what, to
        self.seen: list[str] = []
        self.got: list[tuple[str, bytes]] = []
        self.order: list[str] = []
        self.due: int | None = None
        self.woken = asyncio.Event()

    def attach(self, session: ChannelSession) -> None:
        self.session = session
        session.handle(self.what, self.hear)

    def hear(self, frm: str, payload: bytes, now: Now) -> None:
        self.got.append((frm, payload))
        self.session.receive(payload, "sync")

    def connected(self, now: Now) -> None:
        self.due = now.mono + 1

    def disconnected(self, now: Now) -> None:
        self.due = None

    def next_wake(self) -> int | None:
        return self.due

    def advance(self, now: Now) -> None:
        self.due = None
        self.woken.set()

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        rows = [write.row for write in ready.writes if isinstance(write, Append)]
        self.seen += [row.entry.message_id for row in rows]
        packets = [
            OutgoingPacket(self.what, self.to, row.raw, lambda _: self.order.append("sent")) for row in rows if row.own
        ]
        return ExtensionOutput(self.save, packets) if packets else ExtensionOutput()

    def save(self, transaction: Transaction) -> None:
        self.order.append("saved")
        transaction.set_value("courier", b"was here")


def test_a_part_is_saved_before_its_packets_go_out_and_the_other_side_hears_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            bob = w.start("bob", "hall")  # hears lobby only by way of the part
            ann = w.start("ann", "hall")
            mine, theirs = Courier(to=bob.node.sender_id), Courier(to=ann.node.sender_id)
            ann.node.extend(lambda _: mine)
            bob.node.extend(lambda _: theirs)
            ann.node.join("lobby")
            bob.node.join("lobby").transport.unsubscribe("sds/1/lobby/msg")
            await mine.woken.wait()
            await theirs.woken.wait()
            sent = ann.node.send("lobby", "hello")
            told = await bob.until(MessageDelivered)
            assert (told.said.message.message_id, told.via) == (sent.message_id, "sync")
            assert theirs.got[0][0] == ann.node.sender_id
            assert mine.order == ["saved", "sent"]
            assert theirs.seen == [sent.message_id]

    asyncio.run(story())


def test_every_topic_of_parts_reaches_whom_it_is_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann", "hall"), w.start("bob", "hall")
            for what in ("sync", "timber", "store/query", "store/answer"):
                mine, theirs = Courier(what), Courier(what)
                session = ann.node.sessions["hall"]
                session.attach(mine)
                bob.node.sessions["hall"].attach(theirs)
                session.send_packets([OutgoingPacket(what, bob.node.sender_id, what.encode())])
                while not theirs.got:
                    await asyncio.sleep(0)
                assert theirs.got == [("" if what == "store/answer" else ann.node.sender_id, what.encode())]
                assert mine.got == []

    asyncio.run(story())


def test_a_topic_has_one_handler(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            session = w.start("ann").node.sessions["lobby"]
            session.attach(Courier())
            with pytest.raises(ValueError, match="sync is handled already"):
                session.attach(Courier())

    asyncio.run(story())


def test_a_handler_that_raises_is_reported_and_stops_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            await ann.until(ConnectionChanged, lambda c: c.state == "connected")
            await ann.until(PresenceChanged)

            def broken(frm: str, payload: bytes, now: Now) -> None:
                raise RuntimeError("a part's own affair")

            ann.node.sessions["lobby"].handle("sync", broken)
            bob.node.sessions["lobby"].send_packets([OutgoingPacket("sync", ann.node.sender_id, b"x")])
            assert "own affair" in (await ann.until(TroubleMet)).detail
            bob.node.send("lobby", "go on")
            await ann.until_texts("go on")

    asyncio.run(story())


def test_a_joining_that_fails_half_way_leaves_no_session(tmp_path: Path) -> None:
    """The next joining took the half of a session for a whole one, which never connected."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            node = ann.node
            extensions = [Courier(), Courier()]  # two for one topic, the first time
            node.extend(lambda _: extensions.pop() if extensions else Courier("timber"))
            node.extend(lambda _: extensions.pop() if extensions else Courier("store/query"))
            with pytest.raises(ValueError, match="sync is handled already"):
                node.join("dev")
            assert list(node.sessions) == ["lobby"]
            node.join("dev")
            sent = node.send("dev", "hello")
            await ann.until(HandedOver, lambda told: told.message_id == sent.message_id)

    asyncio.run(story())
