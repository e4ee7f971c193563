"""Back-off, probe and outbox: the decisions of a connection, without a network."""

from __future__ import annotations

from random import Random

import pytest

from sdschat.transport.base import Failure
from sdschat.transport.client import ReconnectBackoff
from sdschat.transport.outbox import Outbox, QueuedPacket
from sdschat.transport.session import Probe, ProbeStep

# Back-off and probe.


def test_back_off_doubles_to_its_bound_and_waits_half_of_it_at_least() -> None:
    longest = ReconnectBackoff(1, 60, lambda: 1.0)
    assert [longest.next() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    longest.reset()
    assert longest.next() == 1
    shortest = ReconnectBackoff(1, 60, lambda: 0.0)
    assert [shortest.next() for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    for draw in range(20):
        lasted, cut = 0.0, ReconnectBackoff(1, 60, Random(draw).random)
        for _ in range(6):
            wait = cut.next()
            assert wait <= 2 * lasted + 1, "nobody sits before a wait of 30 seconds after a cut of 4"
            lasted += wait
    some = ReconnectBackoff(1, 60, Random(1).random)
    assert len({some.next() for _ in range(50)}) == 50
    with pytest.raises(ValueError, match="must grow"):
        ReconnectBackoff(2, 1, lambda: 0.5)


def test_a_hang_is_noticed_once_the_probe_has_worked() -> None:
    probe = Probe(15, 15, 0)
    assert probe.step(0) is ProbeStep.SEND
    assert probe.step(1) is ProbeStep.NOTHING
    probe.answered(2)
    assert probe.step(16) is ProbeStep.NOTHING
    assert probe.step(17) is ProbeStep.SEND
    assert probe.step(31) is ProbeStep.NOTHING
    assert probe.step(32) is ProbeStep.HUNG


def test_what_was_heard_before_the_probe_was_sent_is_no_answer() -> None:
    """A session gives the time of the last packet at every tick, also if none came since."""
    probe = Probe(15, 15, 0)
    probe.step(0)
    probe.answered(2)
    assert probe.step(17) is ProbeStep.SEND
    for second in range(18, 32):
        probe.answered(2)
        assert probe.step(second) is ProbeStep.NOTHING
    probe.answered(2)
    assert probe.step(32) is ProbeStep.HUNG


def test_traffic_is_as_good_as_an_answer() -> None:
    probe = Probe(15, 15, 0)
    probe.step(0)
    probe.answered(1)
    for second in range(2, 200):
        probe.heard(second)
        assert probe.step(second + 0.5) is ProbeStep.NOTHING


def test_a_probe_that_never_worked_proves_nothing() -> None:
    probe = Probe(15, 15, 0)
    assert probe.step(0) is ProbeStep.SEND
    probe.heard(10)
    assert probe.step(14) is ProbeStep.NOTHING
    assert probe.step(15) is ProbeStep.NOT_ANSWERED
    assert {probe.step(second) for second in range(16, 200)} == {ProbeStep.NOTHING}


# The outbox.


class Wire:
    """A recorder of the packets that an outbox sends."""

    def __init__(self) -> None:
        self.sent: list[QueuedPacket] = []

    def pump(self, box: Outbox) -> None:
        """Send what the outbox allows; the id of a packet is its number here."""
        while (packet := box.next()) is not None:
            self.sent.append(packet)
            box.sent(packet, len(self.sent))


def packet(tag: int, qos: int = 1, size: int = 10) -> QueuedPacket:
    return QueuedPacket("t", bytes(size), qos, False, tag)


def test_an_outbox_keeps_to_its_window_and_order() -> None:
    box, wire = Outbox(100, 10_000, 3), Wire()
    for tag in range(6):
        assert box.add(packet(tag)) is None
    wire.pump(box)
    assert [each.tag for each in wire.sent] == [0, 1, 2]
    taken = box.taken(2)
    assert taken is not None
    assert taken.tag == 1
    wire.pump(box)
    assert [each.tag for each in wire.sent] == [0, 1, 2, 3]
    assert box.taken(2) is None
    assert len(box) == 5


def test_an_outbox_is_bounded_in_packets_and_bytes() -> None:
    box = Outbox(3, 1000, 10)
    assert [box.add(packet(tag)) for tag in range(4)] == [None, None, None, Failure.QUEUE_FULL]
    box = Outbox(100, 100, 10)
    assert box.add(packet(1, size=99)) is None
    assert box.add(packet(2, size=1)) is Failure.QUEUE_FULL
    assert len(box.drain()) == 1
    assert box.add(packet(3, size=99)) is None


def test_what_was_under_way_goes_again_first_and_one_at_a_time() -> None:
    box, wire = Outbox(100, 10_000, 3), Wire()
    for tag in range(5):
        box.add(packet(tag, qos=tag != 1))
    wire.pump(box)
    given_up = box.connection_lost(hung_up=True)
    assert [(each.tag, failure) for each, failure in given_up] == [(1, Failure.NOT_CONNECTED)]
    wire = Wire()
    for turn, tag in enumerate((0, 2, 3, 4), 1):
        wire.pump(box)
        assert wire.sent[turn - 1].tag == tag
        assert len(wire.sent) == (turn if turn < 3 else 4)
        box.taken(turn)
    assert len(box) == 0


def test_a_packet_that_ends_every_connection_is_given_up_and_no_other() -> None:
    box, wire = Outbox(100, 10_000, 10), Wire()
    for tag in range(3):
        box.add(packet(tag))
    given_up: list[tuple[QueuedPacket, Failure]] = []
    drops = 0
    while len(box):
        wire.sent.clear()
        wire.pump(box)
        if any(each.tag == 1 for each in wire.sent):
            drops += 1
            given_up += box.connection_lost(hung_up=True)
        else:
            box.taken(len(wire.sent))
    assert [(each.tag, failure) for each, failure in given_up] == [(1, Failure.REFUSED)]
    assert drops == 4


def test_a_network_that_goes_away_is_no_packets_fault() -> None:
    box, wire = Outbox(100, 10_000, 10), Wire()
    box.add(packet(0))
    for _ in range(50):
        wire.pump(box)
        assert box.connection_lost(hung_up=False) == []
    assert len(box) == 1
