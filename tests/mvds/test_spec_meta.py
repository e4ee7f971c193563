"""4/MVDS-META, rule by rule: one test or more for each of MM-01 to MM-09."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from sdschat.mvds import Config, Message, Metadata, Mode, Payload, Reason
from sdschat.mvds.events import Delivered, DuplicateReceived, EphemeralReceived, ParentsLost, ParentsMissing, Rejected
from sdschat.mvds.limits import MAX_HEADS, MIB, WAITING_BYTES_PER_PEER, WAITING_BYTES_TOTAL
from sdschat.mvds.values import RecordType
from sdschat.wire import mvds_pb2
from sdschat.wire.mvds_codec import MvdsCodec
from tests.mvds.world import GROUP, Node, World, alice, at, id_of, message


def parents_of(node: Node, mid: bytes) -> tuple[bytes, ...]:
    return node.store.messages[mid].message.parents


def chain(length: int) -> list[Message]:
    made = [message(b"0")]
    for number in range(1, length):
        made.append(message(b"%d" % number, *id_of(made[-1]), stamp=number + 1))
    return made


def test_mm_01_metadata_is_field_6004() -> None:
    """Spec: "Nodes MAY transmit a `Metadata` message by extending the MVDS message with a `metadata` field."

    Here: field 6004."""
    assert mvds_pb2.Message.METADATA_FIELD_NUMBER == 6004
    fields = {field.name: field.number for field in mvds_pb2.Metadata.DESCRIPTOR.fields}
    assert fields == {"parents": 1, "ephemeral": 2}
    for metadata in (None, Metadata(), Metadata((bytes(32),)), Metadata((), True), Metadata((bytes(32),), True)):
        payload = Payload(messages=(Message(GROUP, -5, b"x", metadata),))
        assert MvdsCodec().decode(MvdsCodec().encode(payload)) == payload
    quiet = alice(metadata=False)
    assert quiet.store.load(quiet.engine.send(GROUP, b"x", at(0))) is None
    quiet.take()
    assert all(row.message.metadata is None for row in quiet.store.messages.values())


def test_mm_02_ephemeral_messages_are_never_parents() -> None:
    """Spec: "It MUST NOT contain any messages as parent whose `ack` flag was set to `false`."

    Here: ephemeral messages never enter the graph."""
    node = alice()
    first = node.engine.send(GROUP, b"first", at(0))
    passing = node.engine.send(GROUP, b"passing", at(0), ephemeral=True)
    node.receive("bob", Payload(messages=(message(b"typing", ephemeral=True),)), 0)
    second = node.engine.send(GROUP, b"second", at(0))
    node.take()
    assert parents_of(node, second) == (first,)
    assert passing not in node.store.messages


def test_mm_03_causal_mode_waits_for_parents_and_eventual_mode_does_not() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."

    Here: causal: messages are handed over after their parents, to any depth; missing parents are requested, and
    given up after `lost_after` with a gap. 8 MiB may wait for each peer."""
    parent, child = chain(2)
    causal, eventual = alice(ordering="causal"), alice(ordering="eventual")
    for node in (causal, eventual):
        node.receive("bob", Payload(messages=(child,)), 0)
    assert causal.delivered() == []
    assert causal.reported(ParentsMissing) == [ParentsMissing(id_of(child)[0], id_of(parent))]
    assert eventual.reported(Delivered)[0].gap == id_of(parent)
    for node in (causal, eventual):
        node.receive("bob", Payload(messages=(parent,)), 1000)
    assert causal.delivered() == [*id_of(parent), *id_of(child)]
    assert eventual.delivered() == [*id_of(child), *id_of(parent)]


def test_mm_03_causal_mode_releases_to_any_depth_parents_first() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    made = chain(200)
    node = alice()
    for number, one in enumerate(reversed(made)):
        node.receive("bob" if number % 2 else "carol", Payload(messages=(one,)), 0)
    assert node.delivered() == list(id_of(*made))
    assert node.engine.snapshot().waiting == ()


def test_mm_03_causal_order_of_a_shuffled_graph() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    random = Random(3)
    made: list[Message] = []
    for number in range(120):
        parents = random.sample(made, min(len(made), random.randint(0, 4)))
        made.append(message(b"%d" % number, *id_of(*parents), stamp=number))
    random.shuffle(made)
    node = alice()
    for one in made:
        node.receive("bob", Payload(messages=(one,)), 0)
    place = {mid: number for number, mid in enumerate(node.delivered())}
    assert len(place) == 120
    for one in made:
        assert all(place[parent] < place[id_of(one)[0]] for parent in one.parents)


def test_mm_03_missing_parents_are_asked_of_the_peer_that_has_the_child() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    made = chain(50)
    bob, carol = Node("bob", ["alice", "carol"]), Node("carol", ["alice", "bob"])
    for one in made:
        bob.receive("alice", Payload(messages=(one,)), 0)
    packets = carol.receive("bob", Payload(messages=(made[-1],)), 0)
    for second in range(1, 120):
        ms = second * 1000
        for packet in packets:
            if packet.peer == "bob":
                bob.receive("carol", packet.payload, ms)
        for packet in bob.step(ms):
            if packet.peer == "carol":
                carol.receive("bob", packet.payload, ms)
        bob_sent = [packet for packet in bob.sent if packet.peer == "carol"]
        for packet in bob_sent:
            carol.engine.receive("bob", packet.payload, at(ms))
        bob.sent.clear()
        packets = carol.step(ms)
    assert carol.delivered() == list(id_of(*made))


def test_mm_03_parents_that_nobody_has_are_given_up() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    node = alice(lost_after=60_000)
    lost, (child, grandchild) = bytes(32), (message(b"child", bytes(32)), message(b"grandchild", stamp=2))
    grandchild = grandchild._replace(metadata=Metadata(id_of(child)))
    node.receive("bob", Payload(messages=(grandchild,)), 0)
    node.receive("bob", Payload(messages=(child,)), 30_000)
    wake = node.engine.next_wake()
    assert wake is not None
    node.step(89_000)
    assert node.delivered() == []
    node.step(90_000)
    assert [(event.message_id, event.gap) for event in node.reported(Delivered)] == [
        (*id_of(child), (lost,)),
        (*id_of(grandchild), ()),
    ]
    assert node.reported(ParentsLost) == [ParentsLost((lost,))]
    assert node.records("bob") == {}, "what is lost is not asked for any more"


def test_mm_03_messages_that_name_each_other_are_let_go() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."

    Metadata is not part of the id, so a cycle can be made. The oldest goes first, with a gap."""
    one, two = message(b"one", stamp=1), message(b"two", stamp=2)
    one, two = one._replace(metadata=Metadata(id_of(two))), two._replace(metadata=Metadata(id_of(one)))
    node = alice(lost_after=10_000)
    node.receive("bob", Payload(messages=(two, one)), 0)
    node.step(10_000)
    assert [(event.message_id, event.gap) for event in node.reported(Delivered)] == [
        (*id_of(one), id_of(two)),
        (*id_of(two), ()),
    ]


def test_mm_03_a_message_that_names_itself_as_its_parent_waits_for_nothing() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    own = message(b"own")
    own = own._replace(metadata=Metadata(id_of(own)))
    node = alice()
    packets = node.receive("bob", Payload(messages=(own,)), 0)
    assert [packet.payload for packet in packets] == [Payload(acks=id_of(own))]
    assert node.reported(Delivered) == [Delivered(id_of(own)[0], own, "bob", ())]


def heavy(count: int, of: str) -> tuple[Message, ...]:
    """Messages of a MiB each that wait for a parent which does not come."""
    return tuple(message(f"{of}{number}".encode() + bytes(MIB), bytes(32)) for number in range(count))


def test_mm_03_waiting_messages_are_bounded_for_each_peer() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    node = alice()
    fit = WAITING_BYTES_PER_PEER // MIB - 1
    packets = node.receive("bob", Payload(messages=heavy(fit + 3, "bob")), 0)
    acked = [mid for packet in packets for mid in packet.payload.acks]
    assert len(node.engine.snapshot().waiting) == len(acked) == fit
    assert node.reported(Rejected)[0] == Rejected("bob", Reason.BUFFER_QUOTA, 3, "")
    (packet,) = node.receive("carol", Payload(messages=(message(b"of carol", bytes(32)),)), 0)
    assert packet.payload.acks, "the other peer is not hurt"


def test_mm_03_waiting_messages_are_bounded_for_all_peers_together() -> None:
    """Spec: "Nodes MAY buffer messages until dependencies are satisfied for causal consistency, they MAY also pass the
    messages straight away for eventual consistency."
    """
    peers = [f"peer {number}" for number in range(WAITING_BYTES_TOTAL // WAITING_BYTES_PER_PEER + 2)]
    node = Node("alice", peers)
    fit = WAITING_BYTES_PER_PEER // MIB - 1
    for peer in peers:
        node.receive(peer, Payload(messages=heavy(fit, peer)), 0)
    held = sum(len(row.message.body) for row in node.engine.snapshot().waiting)
    assert WAITING_BYTES_TOTAL - MIB - MIB // 8 < held < WAITING_BYTES_TOTAL
    assert {event.peer for event in node.reported(Rejected)} == set(peers[-1:]), "whoever comes when all is used up"


def test_mm_04_parents_are_the_messages_without_children() -> None:
    """Spec: "A parent is any message before a new message that a node is aware of that has no children."

    Here: at most as many as there are nodes in the group; a message whose child is known is no head."""
    node = alice()
    node.receive("bob", Payload(messages=(message(b"left"),)), 0)
    node.receive("carol", Payload(messages=(message(b"right"),)), 0)
    joined = node.engine.send(GROUP, b"joined", at(0))
    after = node.engine.send(GROUP, b"after", at(0))
    node.take()
    assert parents_of(node, joined) == id_of(message(b"left"), message(b"right"))
    assert parents_of(node, after) == (joined,)


@pytest.mark.parametrize("ordering", ["causal", "eventual"])
def test_mm_04_a_message_whose_child_is_known_is_no_head(ordering: str) -> None:
    """Spec: "A parent is any message before a new message that a node is aware of that has no children." """
    parent, child = chain(2)
    node = alice(ordering=ordering, lost_after=1000)
    node.receive("bob", Payload(messages=(child,)), 0)
    node.step(5_000)
    node.receive("bob", Payload(messages=(parent,)), 6_000)
    mid = node.engine.send(GROUP, b"next", at(6_000))
    node.take()
    assert parents_of(node, mid) == id_of(child)
    assert node.engine.snapshot().ahead == ()


def test_mm_04_parents_are_bound_by_the_number_of_nodes() -> None:
    """Spec: "A parent is any message before a new message that a node is aware of that has no children." """
    node = alice()
    roots = [message(b"%d" % number) for number in range(MAX_HEADS + 10)]
    node.receive("bob", Payload(messages=tuple(roots)), 0)
    mid = node.engine.send(GROUP, b"x", at(0))
    node.take()
    assert parents_of(node, mid) == id_of(*roots[-3:])
    assert len(node.engine.snapshot().heads[0].heads) == MAX_HEADS - 3 + 1


def test_mm_05_messages_are_acknowledged_once_processed() -> None:
    """Spec: "When the `ephemeral` flag is set to `false`, a node MUST send an acknowledgment when they have received
    and processed a message."

    Here: once it is on disk (delivered, or waiting for its parents), never before the write."""
    node = alice()
    parent, child = chain(2)
    for one in (child, parent):
        node.engine.receive("bob", Payload(messages=(one,)), at(0))
        ready = node.engine.take()
        assert ready.writes, "on disk before the acknowledgement leaves"
        assert ready.packets == ()
        node.store.apply(ready.writes)
    (packet,) = node.step(0)
    assert set(packet.payload.acks) == set(id_of(parent, child))
    node.restart(2_000)
    (packet,) = node.receive("bob", Payload(messages=(Message(GROUP, 1, b"no metadata"),)), 2_000)
    assert packet.payload.acks == id_of(Message(GROUP, 1, b"no metadata"))


def test_mm_06_ephemeral_messages_are_not_acknowledged() -> None:
    """Spec: "If it is set to `true`, it SHOULD NOT send any acknowledgment." """
    node = alice()
    passing = message(b"typing", ephemeral=True)
    assert node.receive("bob", Payload(messages=(passing, passing)), 0) == []
    assert [event.message for event in node.reported(EphemeralReceived)] == [passing]
    assert len(node.reported(DuplicateReceived)) == 1


def test_mm_07_ephemeral_messages_are_not_kept() -> None:
    """Spec: "Nodes MAY decide to not persist ephemeral messages"

    Here: never kept."""
    node = alice()
    node.receive("bob", Payload(messages=(message(b"typing", ephemeral=True),)), 0)
    node.engine.send(GROUP, b"mine", at(0), ephemeral=True)
    node.step(0)
    assert node.store.messages == {}
    assert node.engine.snapshot().records == ()


def test_mm_08_ephemeral_messages_are_never_shared() -> None:
    """Spec: "they MUST NOT be shared as part of the message history."

    Here: not shared, not served, not forwarded."""
    node = alice(forward=True)
    passing = message(b"typing", ephemeral=True)
    mine = node.engine.send(GROUP, b"mine", at(0), ephemeral=True)
    node.receive("bob", Payload(messages=(passing,)), 0)
    ids = (*id_of(passing), mine)
    assert node.engine.share("carol", ids, at(1000)) == 0
    assert node.receive("carol", Payload(requests=ids), 1000) == []
    assert {event.reason for event in node.reported(Rejected)} == {Reason.UNKNOWN_MESSAGE}


def test_mm_09_ephemeral_messages_go_in_batch_mode_once() -> None:
    """Spec: "Nodes SHOULD send ephemeral messages in batch mode."

    Here: once, in any mode."""
    node = alice(mode=Mode.INTERACTIVE)
    mid = node.engine.send(GROUP, b"mine", at(0), ephemeral=True)
    sent = [packet for ms in range(0, 100_000, 1000) for packet in node.step(ms)]
    assert [(packet.peer, id_of(*packet.payload.messages)) for packet in sent] == [("bob", (mid,)), ("carol", (mid,))]


def test_forwarding_offers_on_what_came_and_shares_history() -> None:
    world = World(["alice", "bob", "carol"], Config(forward=True))
    mid = world.send("alice", b"only to bob", to=["bob"])
    world.run(10_000)
    assert world.nodes["carol"].delivered() == [mid]
    assert world.settled()
    dave = Node("dave", ["alice"])
    alice_node = world.nodes["alice"]
    alice_node.engine.join(GROUP, ["bob", "carol", "dave"])
    assert alice_node.engine.share("dave", [mid, bytes(32)], at(10_000)) == 1
    assert alice_node.types("dave") == [RecordType.OFFER]
    (packet,) = alice_node.step(11_000)
    assert dave.receive("alice", packet.payload, 11_000)[0].payload.requests == (mid,)


def test_chains_stay_chains_under_load() -> None:
    """Own messages follow each other, so that the graph does not grow wide without concurrency."""
    node = alice()
    ids = [node.engine.send(GROUP, b"%d" % number, at(number)) for number in range(50)]
    node.take()
    assert all(parents_of(node, two) == (one,) for one, two in pairwise(ids))


def test_children_are_dated_after_their_parents() -> None:
    """Records go out in the order of timestamps, so a burst arrives in causal order. A parent dated into the far
    future cannot drag its children along."""
    node = alice()
    ids = [node.engine.send(GROUP, b"%d" % number, at(0), mode=Mode.BATCH) for number in range(50)]
    packets = node.step(0)
    assert id_of(*packets[0].payload.messages) == tuple(ids)
    node.receive("bob", Payload(messages=(message(b"future", stamp=2**63 - 1),)), 0)
    late = node.engine.send(GROUP, b"now", at(0))
    node.take()
    assert id_of(message(b"future", stamp=2**63 - 1))[0] in parents_of(node, late)
    assert node.store.messages[late].message.timestamp < at(1000).wall * 1_000_000
