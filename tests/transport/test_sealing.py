"""Sealed packets of a private channel: what the broker sees, and what comes through."""

from __future__ import annotations

from functools import partial

import pytest

from sdschat.identity.packets import OVERHEAD, SIZES
from sdschat.node.private.sealer import ChannelSealer
from sdschat.transport import sealing
from sdschat.transport.base import Receipt, Received, Topics
from sdschat.transport.memory import MemoryNetwork, MemoryTransport
from sdschat.transport.sealing import MAX_WAITING, SealedTopics, SealedTransport
from tests.transport.worlds import Recorder

TOPICS = Topics("garden")
FIRST, SECOND = bytes(32), bytes([1]) * 32


class Member:
    """A member of a private channel on a network in memory."""

    def __init__(self, network: MemoryNetwork, name: str, secret: bytes = FIRST) -> None:
        self.sealer = ChannelSealer(bytes(20), bytes(16), secret)
        names, own = SealedTopics(self.sealer, TOPICS), TOPICS.who(name)
        inner = network.transport(names.outside(own))
        self.transport = SealedTransport(inner, self.sealer, names, own, network.soon)
        self.facts = Recorder()
        self.transport.listen(self.facts)
        self.transport.subscribe(TOPICS.msg)
        self.transport.subscribe(TOPICS.who_all)
        self.transport.subscribe(TOPICS.sync_to(name))
        self.transport.start()
        network.run()

    @property
    def heard(self) -> list[tuple[str, bytes]]:
        return [(each.topic, each.payload) for each in self.facts.of(Received)]


class Broker:
    """Everything that passes the broker."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.facts = Recorder()
        self.transport: MemoryTransport = network.transport()
        self.transport.listen(self.facts)
        self.transport.subscribe("#")
        self.transport.start()

    @property
    def packets(self) -> list[Received]:
        return self.facts.of(Received)


def test_packets_arrive_on_the_topics_of_the_channel() -> None:
    network = MemoryNetwork()
    alice, bob = Member(network, "alice"), Member(network, "bob")
    alice.transport.publish(TOPICS.msg, b"hello")
    alice.transport.publish(TOPICS.sync("bob", "alice"), b"for bob")
    network.run()
    assert bob.heard == [(TOPICS.msg, b"hello"), (TOPICS.sync("bob", "alice"), b"for bob")]
    assert alice.heard == [(TOPICS.msg, b"hello")]


def test_the_broker_sees_no_name_and_no_text_and_only_the_sizes_of_the_list() -> None:
    network = MemoryNetwork()
    broker = Broker(network)
    alice, bob = Member(network, "alice"), Member(network, "bob")
    alice.transport.set_presence(b"alice is here")
    for size in (0, 1, 200, 300, 3000, 5000):
        alice.transport.publish(TOPICS.sync("bob", "alice"), b"secret" * size)
    network.run()
    assert len(bob.heard) == 7
    seen = b"".join(each.topic.encode() + each.payload for each in broker.packets)
    assert not any(word in seen for word in (b"garden", b"alice", b"bob", b"secret", b"here"))
    assert all(len(each.payload) in SIZES or len(each.payload) % 4096 == 0 for each in broker.packets)
    assert len({each.payload for each in broker.packets}) == 7


def test_a_packet_moved_to_another_topic_or_altered_is_counted_and_nothing_else() -> None:
    network = MemoryNetwork()
    broker = Broker(network)
    alice, bob = Member(network, "alice"), Member(network, "bob")
    alice.transport.publish(TOPICS.sync("carol", "alice"), b"for carol")
    network.run()
    packet = broker.packets[0].payload
    names = SealedTopics(alice.sealer, TOPICS)
    for topic in (names.outside(TOPICS.msg), names.outside(TOPICS.sync("bob", "alice"))):
        for forged in (packet, packet[:-1] + b"x", b"SDE1", b"junk", packet[:100], packet[:OVERHEAD]):
            broker.transport.publish(topic, forged)
    network.run()
    assert bob.heard == []
    assert bob.transport.counts.strange == 12
    assert len(bob.transport._waiting) == 0


def test_a_packet_of_an_unknown_epoch_waits_for_its_key() -> None:
    network = MemoryNetwork()
    alice, bob = Member(network, "alice", SECOND), Member(network, "bob")
    alice.transport.publish(TOPICS.msg, b"in the second epoch")
    network.run()
    assert (bob.heard, len(bob.transport._waiting)) == ([], 1)
    bob.sealer.use(bob.sealer.add(SECOND))
    bob.transport.keys_changed()
    network.run()
    assert (bob.heard, len(bob.transport._waiting)) == ([(TOPICS.msg, b"in the second epoch")], 0)


def test_packets_that_wait_are_bounded_and_the_oldest_go_first() -> None:
    network = MemoryNetwork()
    alice, bob = Member(network, "alice", SECOND), Member(network, "bob")
    for number in range(MAX_WAITING + 3):
        alice.transport.publish(TOPICS.msg, b"%d" % number)
    network.run()
    assert (len(bob.transport._waiting), bob.transport.counts.forgotten) == (MAX_WAITING, 3)
    for _ in range(20):
        alice.transport.publish(TOPICS.msg, bytes(100_000))
    network.run()
    assert len(bob.transport._waiting) == 10
    bob.sealer.use(bob.sealer.add(SECOND))
    bob.transport.keys_changed()
    network.run()
    assert len(bob.heard) == 10


def test_a_packet_that_names_another_topic_inside_is_counted_and_nothing_else() -> None:
    """It is sealed for the topic that it came on, by a member."""
    network = MemoryNetwork()
    broker = Broker(network)
    alice, bob = Member(network, "alice"), Member(network, "bob")
    names = SealedTopics(alice.sealer, TOPICS)
    outside = names.outside(TOPICS.msg)
    for inside in (TOPICS.who("carol"), TOPICS.sync("bob", "carol")):
        broker.transport.publish(outside, alice.sealer.seal(outside, names.frame(inside, b"from carol")))
    network.run()
    assert (bob.heard, bob.transport.counts.strange) == ([], 2)


def test_of_topics_of_presence_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any member may announce itself under any number of names."""
    monkeypatch.setattr(sealing, "_MAX_LEARNED", 3)
    network = MemoryNetwork()
    alice, bob = Member(network, "alice"), Member(network, "bob")
    for number in range(9):
        alice.transport.publish(TOPICS.who(str(number)), b"here")
    network.run()
    assert (len(bob.heard), len(bob.transport._learned)) == (9, 3)


def test_those_who_left_take_no_place_among_the_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many had come and gone, nobody was seen to leave any more."""
    monkeypatch.setattr(sealing, "_MAX_LEARNED", 3)
    network = MemoryNetwork()
    alice, bob = Member(network, "alice"), Member(network, "bob")
    topics = [TOPICS.who(str(number)) for number in range(9)]
    for topic in topics:
        alice.transport.publish(topic, b"here")
        alice.transport.publish(topic, b"", retain=True)
    network.run()
    assert bob.heard == [(topic, said) for topic in topics for said in (b"here", b"")]


def test_what_is_not_passed_on_is_acknowledged_at_once() -> None:
    """Acknowledgements go out in order, so that those of all later packets would wait for one that is missing: one
    packet of anybody, empty or of no epoch, ended the recording of `tap`."""
    network = MemoryNetwork()
    bob = Member(network, "bob")
    msg = SealedTopics(bob.sealer, TOPICS).outside(TOPICS.msg)
    stranger = ChannelSealer(bytes(20), bytes(16), SECOND)
    acknowledged: list[int] = []
    for number, packet in enumerate([b"", b"junk", stranger.seal(msg, b"of another epoch")]):
        bob.transport._heard(Received(msg, packet, False, Receipt(number, False, partial(acknowledged.append, number))))
    network.run()
    assert (bob.heard, acknowledged) == ([], [0, 1, 2])


def test_a_packet_of_an_earlier_epoch_is_marked() -> None:
    network = MemoryNetwork()
    alice, bob = Member(network, "alice"), Member(network, "bob")
    bob.sealer.use(bob.sealer.add(SECOND))
    others: list[bool] = []
    bob.sealer.on_other_epoch = others.append
    alice.transport.publish(TOPICS.msg, b"old")
    bob.transport.publish_in_epoch(alice.sealer.epoch_id, TOPICS.msg, b"for alice")
    network.run()
    assert [each.outdated for each in bob.facts.of(Received)] == [True, True]
    assert others == [True, True]
    assert alice.heard[-1] == (TOPICS.msg, b"for alice")


def test_presence_is_sealed_anew_with_a_new_key_and_so_is_the_last_will() -> None:
    network = MemoryNetwork()
    alice = Member(network, "alice")
    alice.transport.set_presence(b"here", b"left")
    network.run()
    bob = Member(network, "bob")
    assert bob.heard == [(TOPICS.who("alice"), b"here")]
    alice.sealer.use(alice.sealer.add(SECOND))
    alice.transport.keys_changed()
    bob.sealer.use(bob.sealer.add(SECOND))
    network.run()
    assert bob.facts.of(Received)[-1] == Received(TOPICS.who("alice"), b"here", False)
    network.clients[0].drop()
    network.run()
    assert bob.heard[-1] == (TOPICS.who("alice"), b"left")


def test_other_channels_of_the_same_name_hear_nothing() -> None:
    network = MemoryNetwork()
    alice = Member(network, "alice")
    opener = network.transport()
    facts = Recorder()
    opener.listen(facts)
    opener.subscribe(TOPICS.everything)
    opener.start()
    alice.transport.publish(TOPICS.msg, b"hello")
    network.run()
    assert facts.of(Received) == []
