"""Cases that the rules leave open: several peers with one message, changes of groups, clocks that jump, and bounds."""

from __future__ import annotations

import pytest

from sdschat.mvds import Config, Mode, Now, Payload
from sdschat.mvds.core import Core
from sdschat.mvds.events import Acknowledged, Delivered, RecordDropped, Rejected
from sdschat.mvds.limits import ACKS_PER_PEER, EPHEMERAL_PER_PEER, EPHEMERAL_SEEN, OFFER_WINDOW
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.peers import Peer, SendQueue
from sdschat.mvds.values import PeerRow, RecordRow, RecordType
from tests.mvds.world import GROUP, OTHER_GROUP, START, World, alice, at, id_of, message


def test_a_message_that_two_offered_is_acknowledged_to_both() -> None:
    """Rules: M-015."""
    node = alice()
    one = message(b"x")
    for peer in ("bob", "carol"):
        node.receive(peer, Payload(offers=id_of(one)), 0)
    packets = node.receive("bob", Payload(messages=(one,)), 1000)
    assert {packet.peer: packet.payload for packet in packets} == {
        "bob": Payload(acks=id_of(one)),
        "carol": Payload(acks=id_of(one)),
    }
    assert node.engine.snapshot().records == ()


def test_an_ack_does_not_end_a_request() -> None:
    node = alice()
    node.receive("bob", Payload(offers=(bytes(32),)), 0)
    node.receive("bob", Payload(acks=(bytes(32),)), 1000)
    assert node.types("bob") == [RecordType.REQUEST]
    assert node.reported(Acknowledged) == []


def test_what_a_peer_gives_us_need_not_be_given_to_it() -> None:
    node = alice(forward=True)
    one = message(b"x")
    node.receive("bob", Payload(messages=(one,)), 0)
    assert node.types("carol") == [RecordType.OFFER]
    node.receive("carol", Payload(offers=id_of(one)), 1000)
    assert node.types("carol") == []
    assert node.reported(Acknowledged) == [Acknowledged(id_of(one)[0], "carol")]


@pytest.mark.parametrize(("before", "after", "given_up"), [(60_000, 0, False), (0, 60_000, True)])
def test_parents_are_waited_for_as_long_as_is_set_now(before: int, after: int, given_up: bool) -> None:
    node = alice(lost_after=before)
    node.receive("bob", Payload(messages=(message(b"x", bytes(32)),)), 0)
    node.config = Config(lost_after=after)
    node.restart(1000)
    node.step(1_000_000)
    assert bool(node.reported(Delivered)) == given_up


def test_who_leaves_a_group_gets_nothing_more_of_it() -> None:
    node = alice()
    node.engine.join(OTHER_GROUP, ["bob"])
    gone = node.engine.send(GROUP, b"gone", at(0))
    stays = node.engine.send(OTHER_GROUP, b"stays", at(0))
    node.engine.send(GROUP, b"typing", at(0), ephemeral=True)
    node.engine.receive("bob", Payload(offers=(bytes(32),)), at(0))
    node.engine.join(GROUP, ["carol"])
    (packet,) = [packet for packet in node.step(0) if packet.peer == "bob"]
    assert packet.payload == Payload(offers=(stays,), requests=(bytes(32),))
    assert node.reported(RecordDropped) == [RecordDropped(gone, "bob", "left_group")]
    node.engine.leave(OTHER_GROUP)
    node.engine.leave(OTHER_GROUP)
    assert node.step(1000) == []
    assert [row.peer for row in node.engine.snapshot().peers] == ["carol"]
    assert {row.peer for row in node.engine.snapshot().records} == {"carol"}
    node.take()
    node.engine.peer_online("bob", at(2000))
    node.engine.peer_offline("nobody", at(2000))
    assert {packet.peer for packet in node.step(2000)} <= {"carol"}


def test_messages_that_wait_go_with_their_group() -> None:
    node = alice(lost_after=5_000)
    node.receive("bob", Payload(messages=(message(b"x", bytes(32)),)), 0)
    node.engine.leave(GROUP)
    node.step(10_000)
    assert node.delivered() == []
    assert node.engine.snapshot() == ((), (), (), (), (), ())


def test_wall_clock_that_jumps_moves_no_epoch() -> None:
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    node.step(0)
    due = node.records("bob")[mid].send_epoch * 1000 - START.wall
    for jump in (-(10**10), 10**10):
        node.engine.advance(Now(START.wall + jump, START.mono + due - 1))
        assert node.take().packets == ()
    node.engine.advance(Now(START.wall, START.mono + due))
    assert len(node.take().packets) >= 1


def test_body_that_is_gone_or_too_large_ends_the_record() -> None:
    node = alice()
    gone = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    large = node.engine.send(GROUP, bytes(5000), at(0), mode=Mode.BATCH)
    node.take()
    node.config = Config(packet_bytes=1024)
    node.restart(0)
    del node.store.messages[gone]
    assert node.step(0) == []
    assert {(event.message_id, event.why) for event in node.reported(RecordDropped)} == {
        (gone, "no_body"),
        (large, "too_large"),
    }


def test_no_more_offers_than_can_be_taken_up() -> None:
    """Rules: M-010."""
    node = alice()
    for number in range(OFFER_WINDOW - 100):
        node.engine.send(GROUP, b"%d" % number, at(0), mode=Mode.BATCH, to=["bob"])
    node.step(0)
    bodies = [b"+%d" % number for number in range(300)]
    ids = [node.engine.send(GROUP, body, at(900), mode=Mode.INTERACTIVE, to=["bob"]) for body in bodies]
    (packet,) = node.step(1000)
    assert packet.payload.offers == tuple(ids[:100]), "the oldest, while messages are on their way"
    sent = [mid for ms in range(2_000, 300_000, 1000) for packet in node.step(ms) for mid in packet.payload.offers]
    assert set(sent) == set(ids[:100]), "again and again, and no others before an answer"
    packets = node.receive("bob", Payload(requests=tuple(ids[:50])), 300_000)
    assert {mid for packet in packets for mid in packet.payload.offers} == set(ids[50:]), "the messages go before them"


def test_three_thousand_messages_take_a_few_epochs() -> None:
    """Offers stay below the quota of requests, and no message arrives so early that it waits for long."""
    world = World(["alice", "bob"])
    for number in range(3_000):
        world.nodes["alice"].engine.send(GROUP, b"%d" % number, at(0), mode=Mode.INTERACTIVE)
    world.nodes["alice"].take()
    world.run(12_000)
    assert len(world.nodes["bob"].delivered()) == 3_000
    assert world.nodes["bob"].reported(Rejected) == []


def test_what_waits_for_a_payload_is_bounded() -> None:
    peer = Peer(PeerRow("bob"))
    for number in range(ACKS_PER_PEER + 10):
        peer.add_ack(number.to_bytes(32, "big"))
        peer.add_ephemeral(message(b"%d" % number, ephemeral=True))
    assert len(peer.acks) == ACKS_PER_PEER
    assert len(peer.ephemeral) == EPHEMERAL_PER_PEER
    core = Core(Config(), b"", MemoryStore(), at(0))
    assert all(core.remember_ephemeral(number.to_bytes(32, "big")) for number in range(EPHEMERAL_SEEN + 10))
    assert not core.remember_ephemeral((EPHEMERAL_SEEN + 9).to_bytes(32, "big"))
    assert len(core.ephemeral_seen) == EPHEMERAL_SEEN


def test_records_that_expired_take_no_room() -> None:
    peer = Peer(PeerRow("bob"))
    record = RecordRow("bob", bytes(32), GROUP, RecordType.OFFER, 1, send_count=3, attempt=3, send_epoch=7)
    for expired, room in ((False, OFFER_WINDOW - 1), (True, OFFER_WINDOW), (False, OFFER_WINDOW - 1)):
        peer.set(record._replace(expired=expired))
        assert peer.offer_room() == room
    peer.remove(record.message_id)
    assert peer.offer_room() == OFFER_WINDOW


def test_a_heap_is_built_anew_only_when_most_of_it_is_out_of_date(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[SendQueue] = []
    rebuild = Peer._rebuild

    def noted(self: Peer, queue: SendQueue) -> None:
        built.append(queue)
        rebuild(self, queue)

    monkeypatch.setattr(Peer, "_rebuild", noted)
    peer = Peer(PeerRow("bob"))
    record = RecordRow("bob", bytes(32), GROUP, RecordType.OFFER, 1, 0, 0, 0)
    for epoch in range(660):
        peer.set(record._replace(send_epoch=epoch))
    assert 0 < len(built) <= 660 // 64
