"""Refused messages, and messages on their way, are not requested or sent again at once (2/MVDS, Interactive Mode).

Rules: M-015.
"""

from __future__ import annotations

from collections import Counter

import pytest

from sdschat.mvds import Message, Mode, Payload, Reason
from sdschat.mvds.events import Acknowledged, Delivered, Rejected
from sdschat.mvds.limits import DECLINED_PARENTS, MIB, WAITING_BYTES_PER_PEER
from sdschat.mvds.peers import DeclinedMessages
from sdschat.mvds.values import RecordType
from sdschat.wire.mvds_codec import MvdsCodec
from tests.mvds.world import GROUP, OTHER_GROUP, Node, alice, at, id_of, message


def requests(node: Node, peer: str, mid: bytes) -> int:
    return sum(packet.payload.requests.count(mid) for packet in node.sent if packet.peer == peer)


def bodies(node: Node, peer: str) -> Counter[bytes]:
    return Counter(mid for packet in node.sent if packet.peer == peer for mid in id_of(*packet.payload.messages))


def offer_every_epoch(node: Node, mid: bytes, start: int, end: int) -> None:
    for second in range(start, end):
        node.receive("bob", Payload(offers=(mid,)), second * 1000)


def give_and_offer(node: Node, one: Message) -> None:
    """Act as an interactive peer with a refused message: offer it, send it, and offer it again in every epoch."""
    (mid,) = id_of(one)
    node.receive("bob", Payload(offers=(mid,)), 0)
    node.receive("bob", Payload(messages=(one,)), 1000)
    offer_every_epoch(node, mid, 2, 400)


def test_a_message_of_no_shared_group_is_asked_for_once() -> None:
    node, foreign = alice(), message(b"x", group=OTHER_GROUP)
    (mid,) = id_of(foreign)
    give_and_offer(node, foreign)
    assert node.types("bob") == []
    assert requests(node, "bob", mid) == 1
    assert not any(packet.payload.acks for packet in node.sent), "an ACK says that it is held"


def test_a_message_is_asked_for_again_once_the_group_is_shared() -> None:
    node, foreign = alice(), message(b"x", group=OTHER_GROUP)
    (mid,) = id_of(foreign)
    give_and_offer(node, foreign)
    node.engine.join(OTHER_GROUP, ["bob"])
    node.receive("bob", Payload(offers=(mid,)), 400_000)
    assert requests(node, "bob", mid) == 2


PARENT = message(b"parent")
MANY = [message(b"%d" % number + bytes(MIB), *id_of(PARENT)) for number in range(WAITING_BYTES_PER_PEER // MIB)]


def full() -> Node:
    """A node that requested the last of MANY messages while there was room, and has no room when it comes."""
    node = alice(lost_after=0)
    node.receive("bob", Payload(offers=id_of(MANY[-1])), 0)
    node.receive("bob", Payload(messages=tuple(MANY)), 500)
    return node


def test_a_message_without_room_is_asked_for_once() -> None:
    node, (mid,) = full(), id_of(MANY[-1])
    assert node.reported(Rejected) == [Rejected("bob", Reason.BUFFER_QUOTA, 1, "")]
    assert mid not in node.records("bob")
    offer_every_epoch(node, mid, 1, 400)
    assert requests(node, "bob", mid) == 1


def test_a_message_without_room_is_asked_for_again_once_its_parents_are_here() -> None:
    node, (mid,) = full(), id_of(MANY[-1])
    node.receive("carol", Payload(messages=(PARENT,)), 400_000)
    node.step(401_000)
    assert requests(node, "bob", mid) == 2
    node.receive("bob", Payload(messages=(MANY[-1],)), 402_000)
    assert node.delivered()[-1] == mid
    assert not any(event.gap for event in node.reported(Delivered))


def test_a_message_without_room_comes_once_its_many_parents_are_here() -> None:
    node, parents = full(), [message(b"parent %d" % number) for number in range(3 * DECLINED_PARENTS)]
    lacking = message(b"child" + bytes(MIB), *id_of(*parents))
    node.receive("bob", Payload(messages=(lacking,)), 1000)
    for second, parent in enumerate(parents, start=2):
        node.receive("carol", Payload(messages=(parent,)), second * 60_000)
        if requests(node, "bob", *id_of(lacking)):
            node.receive("bob", Payload(messages=(lacking,)), second * 60_000 + 30_000)
    assert id_of(lacking)[0] in node.delivered()


def test_of_a_refused_message_few_parents_are_remembered() -> None:
    """All of them took memory beside the limits: 109 kB for a message that names 256."""
    declined = DeclinedMessages()
    parents = tuple(bytes([number]) * 32 for number in range(256))
    declined.add("bob", b"m" * 32, 1, parents)
    released = [parent for parent in parents if declined.parent_delivered(parent)]
    assert released == [parents[DECLINED_PARENTS - 1]]


def test_a_message_without_room_has_its_parents_asked_for_all_the_same() -> None:
    """The requests go one after the other, because one of the messages may release the others."""
    node, lacking = full(), message(b"more" + bytes(MIB), b"p" * 32)
    for second in range(1, 50):
        node.receive("bob", Payload(messages=(lacking,)), second * 1000)
    assert requests(node, "bob", b"p" * 32) >= 1


def test_who_left_is_not_asked_for_what_was_refused() -> None:
    node = full()
    node.engine.join(GROUP, ["carol"])
    node.receive("carol", Payload(messages=(PARENT,)), 1000)
    assert len(node.delivered()) == len(MANY)
    assert node.types("carol") == []


def test_a_message_refused_after_its_offer_is_not_asked_for_when_there_is_room_again() -> None:
    """No request before the parent is delivered."""
    node, (mid,) = full(), id_of(lacking := message(b"more" + bytes(MIB), b"p" * 32))
    node.receive("bob", Payload(offers=(b"another".rjust(32), mid)), 1000)
    node.receive("bob", Payload(messages=(lacking,)), 2000)
    node.receive("carol", Payload(messages=(PARENT,)), 3000)
    for second in range(4, 60):
        node.step(second * 1000)
    assert requests(node, "bob", mid) == 0
    node.receive("carol", Payload(offers=(b"p" * 32,)), 60_000)
    assert requests(node, "bob", b"p" * 32) > 0


def half_full() -> Node:
    """More than half of bob's share is used up by messages that wait for a parent which he does not send."""
    node = alice(lost_after=0)
    node.receive("bob", Payload(messages=tuple(MANY[:-2])), 0)
    for second in range(1, 60):
        node.step(second * 1000)
    return node


def test_an_offer_is_taken_up_one_at_a_time_while_others_wait() -> None:
    """The offered message may be ready for delivery, though the waiting ones are not."""
    node, roots = half_full(), [message(b"root %d" % number) for number in range(3)]
    for ms in range(60_000, 75_000, 5_000):
        (packet,) = node.receive("bob", Payload(offers=id_of(*roots)), ms)
        (asked,) = set(packet.payload.requests) - set(id_of(PARENT))
        given = tuple(one for one in roots if id_of(one) == (asked,))
        node.receive("bob", Payload(messages=given), ms + 2_000)
    assert set(node.delivered()) == set(id_of(*roots))


def test_an_offer_that_waits_is_acknowledged_when_another_gave_the_message() -> None:
    node, roots = half_full(), [message(b"root %d" % number) for number in range(3)]
    node.receive("bob", Payload(offers=id_of(*roots)), 60_000)
    node.receive("carol", Payload(messages=tuple(roots)), 61_000)
    node.step(62_000)
    acked = {mid for packet in node.sent if packet.peer == "bob" for mid in packet.payload.acks}
    assert set(id_of(*roots)) <= acked


@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_request_repeated_is_not_answered_while_the_answer_may_be_on_its_way(every: int) -> None:
    """Before, two thousand messages were sent 25 times when the peer repeated its requests until all had come.

    Rules: M-014.
    """
    node = alice(mode=Mode.INTERACTIVE)
    ids = tuple(node.engine.send(GROUP, b"%d" % number, at(0), to=["bob"]) for number in range(300))
    for second in range(0, 40, every):
        node.receive("bob", Payload(requests=ids), second * 1000)
        for between in range(1, every):
            node.step((second + between) * 1000)
    sent = bodies(node, "bob")
    assert set(sent) == set(ids)
    assert max(sent.values()) <= 14
    assert min(sent.values()) >= 4, "what may have been lost is sent again"


def test_a_request_repeated_after_a_long_rest_is_answered_at_once() -> None:
    """Rules: M-014."""
    node = alice(expire_after=0)
    node.receive("bob", Payload(), 0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    for second in range(1000):
        node.step(second * 1000)
    before = bodies(node, "bob")[mid]
    (packet,) = [one for one in node.receive("bob", Payload(requests=(mid,)), 1_000_000) if one.peer == "bob"]
    assert id_of(*packet.payload.messages) == (mid,)
    node.receive("bob", Payload(requests=(mid,)), 1_001_000)
    assert bodies(node, "bob")[mid] == before + 1


def test_an_offer_repeated_is_not_answered_while_the_message_may_be_on_its_way() -> None:
    node = alice()
    offer_every_epoch(node, bytes(32), 0, 40)
    assert 4 <= requests(node, "bob", bytes(32)) <= 12


def test_a_request_repeated_resumes_what_had_expired() -> None:
    """Rules: M-014."""
    node = alice(expire_after=2)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    for second in range(60):
        node.step(second * 1000)
    assert node.records("bob")[mid].expired
    node.receive("bob", Payload(requests=(mid,)), 60_000)
    assert bodies(node, "bob")[mid] == 3


def test_thousands_of_acks_in_one_packet_are_taken() -> None:
    """A peer with another implementation acknowledges in one payload all messages of the epoch before."""
    node = alice()
    ids = tuple(node.engine.send(GROUP, b"%d" % number, at(0), mode=Mode.BATCH, to=["bob"]) for number in range(5000))
    decoded = MvdsCodec().decode(MvdsCodec().encode(Payload(acks=ids)))
    node.receive("bob", decoded, 0)
    assert len(node.reported(Acknowledged)) == 5000
    assert RecordType.MESSAGE not in node.types("bob")
