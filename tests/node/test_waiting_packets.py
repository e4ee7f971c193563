"""Tests of the packets that wait when more comes in than can be taken in: turns, room, and what is passed over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from sdschat.node.channel import waiting_packets
from sdschat.node.channel.waiting_packets import AT_ONCE, FEW, MOST, NO_HEAD, PacketHead, WaitingPackets, head_of
from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec

MANY_SENDERS = 3000


class Crowd:
    """A channel at which packets arrive at a multiple of the rate at which they are taken in; a step is a moment."""

    def __init__(self) -> None:
        self.steps: deque[Callable[[], None]] = deque()
        self.taken: list[str] = []
        self.waiting = WaitingPackets(lambda packet: self.taken.append(packet.decode()), self.steps.append)

    def say(self, sender_id: str, number: int = 0, *, known: bool = False) -> str:
        """Let a packet arrive, and return its text."""
        text = f"{sender_id} {number}"
        self.waiting.put(text.encode(), PacketHead(sender_id, text), known=known)
        return text

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            if self.steps:
                self.steps.popleft()()

    def settle(self) -> None:
        while self.steps:
            self.step()

    def fill(self) -> None:
        """Let one stranger send as much as has room."""
        for number in range(AT_ONCE + MOST):
            self.say("flood", number)


def test_in_a_quiet_channel_a_packet_is_taken_at_once() -> None:
    crowd = Crowd()
    for number in range(3):
        for _ in range(AT_ONCE):
            text = crowd.say("new", number)
            assert crowd.taken[-1] == text
        crowd.settle()


def test_a_burst_is_taken_in_the_order_in_which_it_came() -> None:
    """People name what others said just before."""
    crowd = Crowd()
    said = [crowd.say(f"sender {number % 3}", number, known=number % 3 < 2) for number in range(AT_ONCE + FEW)]
    crowd.settle()
    assert crowd.taken == said


def test_in_three_times_as_many_as_are_taken_in_a_person_is_heard_in_the_next_step() -> None:
    crowd = Crowd()
    crowd.fill()
    for moment in range(1000):
        for number in range(3 * AT_ONCE):
            crowd.say(f"stranger {number}", moment)
        if moment % 10 == 0:
            said = crowd.say("ann", moment, known=True)
            crowd.step()
            assert said in crowd.taken[-AT_ONCE:]
        else:
            crowd.step()
    assert sum(crowd.waiting.take_passed_over().values()) > 0


def test_a_newcomer_has_a_fair_share_of_a_flood_of_a_few_keys() -> None:
    crowd = Crowd()
    crowd.fill()
    said = crowd.say("newcomer")
    crowd.step(2)
    assert said in crowd.taken


def test_people_who_flood_do_not_keep_strangers_out() -> None:
    crowd = Crowd()
    for number in range(AT_ONCE + 2 * MOST):
        crowd.say("loud", number, known=True)
    said = crowd.say("newcomer")
    crowd.step(2)
    assert said in crowd.taken


def test_the_packets_of_a_sender_stay_in_order_also_when_it_becomes_known() -> None:
    crowd = Crowd()
    crowd.fill()
    said = [crowd.say("new", number, known=number > 2) for number in range(6)]
    crowd.settle()
    assert [text for text in crowd.taken if text in said] == said


def test_what_waits_is_bounded_however_many_keys_send() -> None:
    crowd = Crowd()
    for number in range(MANY_SENDERS):
        crowd.say(f"stranger {number}")
    crowd.settle()
    assert len(crowd.taken) == AT_ONCE + MOST
    assert sum(crowd.waiting.take_passed_over().values()) == MANY_SENDERS - len(crowd.taken)
    assert not crowd.waiting.take_passed_over()


def test_the_bytes_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_packets, "KEPT", 100)
    crowd = Crowd()
    for number in range(40):
        crowd.say("flood", 10 + number)  # 8 bytes each
    crowd.settle()
    assert len(crowd.taken) == AT_ONCE + 100 // len("flood 10")


def test_what_is_named_is_taken_out_of_turn_also_if_it_was_passed_over() -> None:
    crowd = Crowd()
    crowd.fill()
    passed_over = crowd.say("flood", AT_ONCE + MOST)
    waits = f"flood {AT_ONCE + MOST - 1}"
    assert [crowd.waiting.take_named(text) for text in (passed_over, waits)] == [passed_over.encode(), waits.encode()]
    assert crowd.waiting.take_named(waits) is None
    crowd.settle()
    assert waits not in crowd.taken


def test_at_the_end_a_few_are_taken_and_then_none() -> None:
    crowd = Crowd()
    crowd.fill()
    crowd.waiting.finish()
    crowd.say("late")
    crowd.settle()
    assert len(crowd.taken) == AT_ONCE + waiting_packets.LAST


def test_at_the_end_a_packet_may_take_all_others_out_of_turn() -> None:
    """There was nothing left to take then, and the program ended as by a fault."""
    crowd = Crowd()

    def take(packet: bytes) -> None:
        crowd.taken.append(packet.decode())
        for number in range(AT_ONCE, AT_ONCE + 3):
            crowd.waiting.take_named(f"new {number}")

    crowd.waiting = WaitingPackets(take, crowd.steps.append)
    for number in range(AT_ONCE + 3):
        crowd.say("new", number)
    crowd.waiting.finish()
    assert crowd.taken == [f"new {number}" for number in range(AT_ONCE + 1)]


def test_what_one_packet_takes_out_of_turn_counts_in_its_step() -> None:
    """A message that names 256 packets had all of them taken in one step, and three more."""
    crowd = Crowd()

    def take(packet: bytes) -> None:
        crowd.taken.append(packet.decode())
        if crowd.waiting.take_named(f"flood {MOST}") is not None:
            for number in range(1, AT_ONCE - 1):
                crowd.waiting.take_named(f"flood {MOST - number}")

    crowd.fill()
    crowd.step()  # in which many came
    crowd.waiting._receive = take
    crowd.taken.clear()
    crowd.step()
    assert len(crowd.taken) == 1


def test_of_many_keys_the_one_that_floods_makes_room() -> None:
    """Sixty-five keys with a packet each kept what one sender had, and a newcomer lost the only one."""
    crowd = Crowd()
    for number in range(AT_ONCE + MOST - 148):
        crowd.say("flood", number)
    for number in range(148):
        crowd.say(f"key {number}")
    said = crowd.say("newcomer")
    assert crowd.waiting.take_passed_over() == {"flood": 1}
    crowd.settle()
    assert said in crowd.taken


@pytest.mark.parametrize("cut", [0, 1, 2, 20, 60])
def test_the_head_of_a_packet_is_read_as_the_codec_reads_it(cut: int) -> None:
    packet = SdsCodec().encode(Message("sender" * 5, "m" * 64, "lobby", 5, content=b"text"))
    assert head_of(packet) == PacketHead("sender" * 5, "m" * 64)
    assert head_of(packet[:cut]) == NO_HEAD
    assert head_of(b"\x0a\x02\xff\xff\x12\x01m") == NO_HEAD
