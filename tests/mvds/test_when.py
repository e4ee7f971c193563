"""The time of a payload, and the order of the records in it (2/MVDS, Flow and Retransmission)."""

from __future__ import annotations

from sdschat.mvds import Config, Mode, Payload
from sdschat.mvds.events import BroughtForward, PayloadSent
from sdschat.mvds.packing import ID_COST, message_cost
from tests.mvds.world import GROUP, START, Node, at, id_of, message


def alice(**settings: object) -> Node:
    return Node("alice", ["bob", "carol"], Config(jitter=0, **settings))  # type: ignore[arg-type]


def payload_to(node: Node, peer: str, ms: int) -> Payload:
    """The one packet sent to a peer at a time; empty if there is none."""
    found = [packet.payload for packet in node.step(ms) if packet.peer == peer]
    assert len(found) <= 1
    return found[0] if found else Payload()


def test_a_peer_that_shows_itself_gets_no_second_payload_in_the_epoch() -> None:
    node = alice()
    first = node.engine.send(GROUP, b"first", at(0), mode=Mode.BATCH, to=["bob"])
    node.step(0)
    node.step(2_000)
    node.engine.send(GROUP, b"second", at(6_000), mode=Mode.BATCH, to=["bob"])
    assert len(payload_to(node, "bob", 6_000).messages) == 2
    node.engine.peer_online("bob", at(6_100))
    node.engine.send(GROUP, b"third", at(6_100), mode=Mode.BATCH, to=["bob"])
    assert payload_to(node, "bob", 6_200) == Payload()
    assert node.reported(BroughtForward) == [BroughtForward("bob", 1, 0)], "the first: it waits for the next epoch"
    again = payload_to(node, "bob", 7_000)
    assert first in id_of(*again.messages)
    assert len(again.messages) == 2
    epochs = [event.epoch for event in node.reported(PayloadSent)]
    assert len(epochs) == len(set(epochs))


def test_what_was_sent_just_now_is_not_brought_forward() -> None:
    """A record due within two epochs is not brought forward: an answer may be on its way."""
    node = alice(presence_interval=0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH, to=["bob"])
    node.step(0)
    node.engine.peer_online("bob", at(0))
    node.step(500)
    assert node.reported(BroughtForward) == []
    assert payload_to(node, "bob", 1_000) == Payload()
    assert node.records("bob")[mid].send_count == 1


def test_what_is_due_in_three_epochs_is_brought_forward() -> None:
    node = alice(presence_interval=0, backoff_first=3)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH, to=["bob"])
    node.step(0)
    node.engine.peer_online("bob", at(0))
    node.step(500)
    assert node.reported(BroughtForward) == [BroughtForward("bob", 1, 0)]
    assert id_of(*payload_to(node, "bob", 1_000).messages) == (mid,)


def test_messages_go_before_offers_where_there_is_no_room_for_both() -> None:
    node = alice(packet_bytes=1024, payload_bytes=1024)
    ids = [node.engine.send(GROUP, b"%d" % number, at(0), mode=Mode.INTERACTIVE, to=["bob"]) for number in range(40)]
    node.step(0)
    node.engine.send(GROUP, bytes(500), at(1_000), mode=Mode.BATCH, to=["bob"])
    payload = payload_to(node, "bob", 2_000)
    assert len(payload.messages) == 1
    assert 0 < len(payload.offers) < len(ids)


def test_requests_go_before_messages_where_there_is_no_room_for_both() -> None:
    node = alice(packet_bytes=1024, payload_bytes=1024)
    node.engine.send(GROUP, bytes(950), at(0), mode=Mode.BATCH, to=["bob"])
    node.engine.receive("bob", Payload(offers=(bytes(32), b"x" * 32)), at(0))
    payload = payload_to(node, "bob", 0)
    assert len(payload.requests) == 2
    assert payload.messages == ()


def test_offers_made_before_go_before_new_ones() -> None:
    room = 1024 // ID_COST
    node = alice(packet_bytes=1024, payload_bytes=1024)
    old = [node.engine.send(GROUP, b"%d" % number, at(1), to=["bob"]) for number in range(room)]
    node.step(0)
    new = [node.engine.send(GROUP, b"+%d" % number, at(0), to=["bob"]) for number in range(room)]
    assert set(payload_to(node, "bob", 2_000).offers) == set(old)
    assert set(payload_to(node, "bob", 3_000).offers) == set(new)


def test_what_came_in_a_payload_is_acknowledged_and_not_asked_for() -> None:
    node, one = alice(), message(b"x")
    node.engine.receive("bob", Payload(offers=id_of(one), messages=(one,)), at(0))
    assert payload_to(node, "bob", 0) == Payload(acks=id_of(one))


def test_an_answer_goes_in_the_next_payload() -> None:
    """A message requested in one epoch is sent in the next, if a payload was sent in this one already. The peer was
    seen before, so that nothing is brought forward because of contact.

    Rules: M-014.
    """
    node = alice()
    node.receive("bob", Payload(), 0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.INTERACTIVE, to=["bob"])
    assert payload_to(node, "bob", 0).offers == (mid,)
    node.engine.receive("bob", Payload(requests=(mid,)), at(100))
    assert payload_to(node, "bob", 200) == Payload()
    assert node.engine.next_wake() == START.mono + 1_000
    payload = payload_to(node, "bob", 1_000)
    assert (id_of(*payload.messages), payload.offers) == ((mid,), ())


def test_a_node_wakes_for_the_peer_whose_time_comes_first() -> None:
    node = alice()
    node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH, to=["bob"])
    for ms in (0, 2_000):
        node.step(ms)
    node.engine.send(GROUP, b"y", at(3_000), mode=Mode.BATCH, to=["carol"])
    node.step(3_000)
    assert node.engine.next_wake() == START.mono + 5_000, "carol's is due then, and bob's at 6 s"


def test_payload_bytes_are_used_up_to_the_last_message_that_fits() -> None:
    node = alice(packet_bytes=1024, payload_bytes=1024)
    ids = [node.engine.send(GROUP, bytes([number]) * 200, at(0), mode=Mode.BATCH, to=["bob"]) for number in range(9)]
    node.take()
    fit = 1024 // message_cost(node.store.messages[ids[1]].message)
    assert len(payload_to(node, "bob", 0).messages) == fit
