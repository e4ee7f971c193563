"""Defects of other implementations, continued: receiving, groups, the graph and the models (V-11 to V-20)."""

from __future__ import annotations

from sdschat.mvds import Config, Message, Mode, Payload, Reason, message_id
from sdschat.mvds.events import (
    Acknowledged,
    Delivered,
    DuplicateReceived,
    Rejected,
)
from sdschat.mvds.limits import OFFER_WINDOW, REQUESTS_PER_PEER, SERVED_PER_PEER
from tests.mvds.model import REPAIRED, Search
from tests.mvds.published import FIXED, PUBLISHED, violation
from tests.mvds.world import GROUP, OTHER_GROUP, Node, World, alice, at, id_of, message, times_sent


def test_v_11_duplicates_are_acknowledged_again_and_not_delivered_again() -> None:
    """Defect: a duplicate was delivered again, or not acknowledged.

    Here: acknowledged again, delivered once, also across restarts."""
    node = alice(forward=True)
    one = message(b"x")
    for ms, restart in ((0, False), (1000, False), (2000, True)):
        if restart:
            node.restart(ms)
        packets = node.receive("bob", Payload(messages=(one, one)), ms)
        assert [packet.payload.acks for packet in packets if packet.peer == "bob"] == [id_of(one)]
    assert len(node.reported(Delivered)) == 1
    assert len(node.reported(DuplicateReceived)) == 5
    assert len([row for row in node.engine.snapshot().records if row.peer == "carol"]) == 1


def test_v_12_group_membership_is_checked() -> None:
    """Defect: membership of a group was not checked.

    Here: checked on REQUEST and MESSAGE, and on OFFER where the group is known."""
    node = alice()
    node.engine.join(OTHER_GROUP, ["carol"])
    secret = message(b"secret", group=OTHER_GROUP)
    node.receive("carol", Payload(messages=(secret,)), 0)
    assert node.receive("bob", Payload(messages=(secret._replace(body=b"forged"),)), 1000) == []
    assert node.receive("bob", Payload(offers=id_of(secret)), 2000) == [], "not even that it is here"
    assert node.receive("bob", Payload(requests=id_of(secret)), 3000) == []
    assert node.receive("bob", Payload(messages=(message(b"x", group=bytes(32)),)), 4000) == []
    assert node.receive("mallory", Payload(offers=(bytes(32),)), 5000) == []
    reasons = [event.reason for event in node.reported(Rejected)]
    assert reasons == [Reason.NOT_IN_GROUP] * 4 + [Reason.NO_SHARED_GROUP]
    assert len(node.store.messages) == 1


def test_v_13_grandchildren_wait_for_parents_and_parents_come_first() -> None:
    """Defect: dependencies were resolved one level deep, dependants first.

    Here: any depth, parents first, no recursion."""
    one = message(b"one")
    two = message(b"two", *id_of(one))
    three = message(b"three", *id_of(two))
    node = alice()
    for ms, this in enumerate((three, two, one)):
        node.receive("bob", Payload(messages=(this,)), ms)
    assert node.delivered() == list(id_of(one, two, three))


def test_v_14_release_does_not_skip_while_it_walks() -> None:
    """Defect: a list of dependencies changed while it was walked.

    Here: a walk over 121 messages.

    Many children of one parent, and each with a child of its own."""
    root = message(b"root")
    children = [message(b"%d" % number, *id_of(root), stamp=number) for number in range(60)]
    grand = [message(b"+%d" % number, *id_of(child), stamp=100) for number, child in enumerate(children)]
    node = alice()
    node.receive("bob", Payload(messages=(*grand, *children)), 0)
    assert node.delivered() == []
    node.receive("bob", Payload(messages=(root,)), 1)
    assert len(node.delivered()) == len(set(node.delivered())) == 121
    assert node.delivered()[:61] == list(id_of(root, *children)), "the oldest first"
    assert node.engine.snapshot().waiting == ()


def test_v_15_a_peer_that_cannot_be_reached_does_not_affect_others() -> None:
    """Defect: one transport error stopped the payloads of all other peers.

    Here: packets are made for each peer; nothing is queued twice.

    All packets to bob fail. Carol gets hers, and bob's are not queued up and sent again together."""
    world = World(["alice", "bob", "carol"], Config(mode=Mode.BATCH))
    world.away.add("bob")
    for second in range(20):
        world.send("alice", b"%d" % second)
        world.run(second * 1000 + 999)
    world.run(40_000)
    assert len(world.nodes["carol"].delivered()) == 20
    to_bob = [packet.payload for packet in world.nodes["alice"].sent if packet.peer == "bob"]
    assert all(len(set(id_of(*payload.messages))) == len(payload.messages) for payload in to_bob)
    assert max(times_sent(world.nodes["alice"], "bob", mid) for mid in world.nodes["carol"].delivered()) <= 6
    world.away.clear()
    world.nodes["alice"].engine.peer_online("bob", at(world.now))
    world.run(80_000)
    assert world.settled()


def test_v_16_same_body_in_the_same_moment_is_two_messages() -> None:
    """Defect: two messages had the same id.

    Here: the timestamp moves on while the id is taken; nanoseconds by default; groups of one length."""
    for unit in ("s", "ms", "ns"):
        node, other = alice(timestamp_unit=unit), Node("carol", ["alice", "bob"], Config())
        ids = {node.engine.send(GROUP, b"ok", at(0)) for _ in range(5)}
        ids |= {node.engine.send(GROUP, b"ok", at(0), ephemeral=True) for _ in range(5)}
        assert len(ids) == 10
        assert other.engine.send(GROUP, b"ok", at(0)) not in ids


def test_v_16_concatenation_is_unambiguous_because_groups_have_one_length() -> None:
    """Defect: two messages had the same id."""
    honest = Message(GROUP, 7, b"12345678body")
    stamp = int.from_bytes(honest.body[:8], "little", signed=True)
    shifted = Message(GROUP + (7).to_bytes(8, "little"), stamp, b"body")
    assert message_id(honest) == message_id(shifted), "the same id"
    node = alice()
    node.receive("bob", Payload(messages=(shifted,)), 0)
    assert node.store.messages == {}
    assert node.reported(Rejected)[0].reason is Reason.NOT_IN_GROUP


def test_v_17_published_model_breaks_in_five_steps_and_the_corrected_one_does_not() -> None:
    """Defect: the published TLA+ model sets the wrong index in `ReceiveAck`.

    Here: reproduced in 5 steps (44 states); the corrected model has no such state."""
    broken = violation(2, PUBLISHED)
    assert broken is not None
    assert [step.split("(")[0] for step in broken.steps] == [
        "Offer",
        "ReceiveOffer",
        "ReceiveRequest",
        "ReceiveMessage",
        "ReceiveAck",
    ]
    assert broken.state[0][1] == "offered"
    assert broken.state[1][0] == "delivered"
    assert violation(2, FIXED) is None


def test_v_18_delivery_is_checked_and_not_assumed() -> None:
    """Defect: delivery was not checked: no fairness, loss, retransmission or batch mode.

    Here: safety in every state and fair delivery from every state, with loss, duplication and restart."""
    result = Search(2, REPAIRED, limit=20_000).run()
    assert result.unsafe is None
    assert result.stuck == 0


def test_v_19_an_offer_flood_ends_at_the_quota_of_its_maker() -> None:
    """Defect: a flood of offers or requests used up the memory.

    Here: 4,096 requests and 16,384 offers for each peer, 1,000 messages that it asked for without an offer."""
    node = alice()
    for batch in range(20):
        offers = tuple((batch * 1000 + number).to_bytes(32, "big") for number in range(1000))
        node.receive("bob", Payload(offers=offers), batch)
    assert 0 < len(node.records("bob")) <= REQUESTS_PER_PEER
    assert node.reported(Rejected)[-1].reason is Reason.REQUEST_QUOTA
    node.receive("carol", Payload(offers=(b"c" * 32,)), 100)
    assert len(node.records("carol")) == 1


def test_v_19_requests_for_everything_end_at_a_quota() -> None:
    """Defect: a flood of offers or requests used up the memory."""
    node = alice()
    ids = [node.engine.send(GROUP, b"%d" % number, at(0), to=["carol"]) for number in range(SERVED_PER_PEER + 10)]
    node.take()
    node.engine.receive("bob", Payload(requests=tuple(ids)), at(0))
    node.take()
    assert len(node.records("bob")) == SERVED_PER_PEER
    assert node.reported(Rejected)[-1] == Rejected("bob", Reason.SERVE_QUOTA, 10, "")
    node.step(0)
    offered = [packet.payload.offers for packet in node.sent if packet.peer == "carol"]
    assert len(offered[0]) == OFFER_WINDOW


def test_v_20_acks_follow_the_write_and_speak_for_one_peer() -> None:
    """Defect: an ACK was sent before the write, or counted for all peers.

    Here: sent after the write, for one peer.

    Rules: MM-05.
    """
    node = alice()
    node.engine.receive("bob", Payload(messages=(message(b"x"),)), at(0))
    node.engine.advance(at(0))
    ready = node.engine.take()
    kept = [write.row.message_id for write in ready.writes if hasattr(write.row, "message")]  # type: ignore[union-attr]
    assert kept == list(ready.packets[0].payload.acks), "in one hand-over, writes first"
    node.store.apply(ready.writes)
    mid = node.engine.send(GROUP, b"y", at(0))
    node.receive("bob", Payload(acks=(mid,)), 0)
    assert node.reported(Acknowledged) == [Acknowledged(mid, "bob")]
    assert mid in node.records("carol")
