"""A member that always claims to hold something else, or to lack something: what others answer costs no more, however
much it says, and they go on among themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from sdschat.timber import limits, pages
from sdschat.timber.values import Message, StatePage, StateWanted, Sync
from tests.timber.group import SETTINGS, Group
from tests.timber.world import CODEC

TICKS: Final = 600  # of 100 ms: a minute
WHILE: Final = SETTINGS["retry"] // 8  # milliseconds in which nothing is answered twice
EVERY: Final = 100 * TICKS // WHILE
HOUR: Final = 60_000  # milliseconds, in place of an hour

# From what alice said last, and a number that is another one each time.
Lie = Callable[[Sync, int], Message]


def always_more(last: Sync, number: int) -> Message:
    return last._replace(clock=tuple((slot, seq + 1 + number) for slot, seq in last.clock))


def slots_that_nobody_has(last: Sync, number: int) -> Message:
    return last._replace(clock=(*last.clock, (4000, 1 + number)))


def always_less(last: Sync, number: int) -> Message:
    return last._replace(clock=tuple((slot, max(0, seq - 1)) for slot, seq in last.clock))


def nothing_at_all(last: Sync, number: int) -> Message:
    return last._replace(clock=())


def the_same(last: Sync, number: int) -> Message:
    return last


def another_history(last: Sync, number: int) -> Message:
    return last._replace(digest=number.to_bytes(32))


def other_hashes(last: Sync, number: int) -> Message:
    return last._replace(digest=number.to_bytes(32), interval=16, hashes=(number.to_bytes(32),) * 4)


def the_state_once_more(last: Sync, number: int) -> Message:
    return StateWanted(last.base.number, 0)


def by_turns(last: Sync, number: int) -> Message:
    return LIES[number % len(LIES)](last, number)


LIES: Final[tuple[Lie, ...]] = (
    always_more,
    slots_that_nobody_has,
    always_less,
    nothing_at_all,
    the_same,
    another_history,
    other_hashes,
    the_state_once_more,
)


class Liar:
    """Carol's key in other hands. She answers each packet at once."""

    def __init__(self, lie: Lie) -> None:
        self.group = Group("alice", "bob", "carol")
        self.group.say("alice", *(f"post {number}" for number in range(40)))
        self.group.settle()
        self.group["carol"].up = False
        self._lie, self._told = lie, 0
        self._heard = len(self.group["alice"].sent)
        self._last = next(one.message for one in reversed(self.group["alice"].sent) if isinstance(one.message, Sync))
        self.bytes: list[int] = []  # of what alice sends her

    def live(self, at_once: int) -> None:
        """Let a minute pass, in which she tells so many lies every 100 ms, and one for each answer besides."""
        for _ in range(TICKS):
            self.group.settle(100)
            for _ in range(at_once):
                self._tell()
            for _ in range(50):
                for _ in range(self._hear()):
                    self._tell()

    def _tell(self) -> None:
        self.group.deliver("alice", self._lie(self._last, self._told), "carol")
        self._told += 1

    def _hear(self) -> int:
        sent, carol = self.group["alice"].sent, self.group["carol"].id
        answers = [packet.message for packet in sent[self._heard :] if packet.peer == carol]
        self._heard = len(sent)
        for answer in answers:
            self._last = answer if isinstance(answer, Sync) else self._last
            self.bytes.append(len(CODEC.encode(answer)))
        return len(answers)


@pytest.mark.parametrize("lie", [*LIES, by_turns], ids=lambda lie: lie.__name__)
def test_row_94_no_lie_of_a_peer_is_answered_without_end(lie: Lie) -> None:
    quiet, loud = Liar(lie), Liar(lie)
    quiet.live(0)
    loud.live(20)
    for liar in (quiet, loud):
        assert len(liar.bytes) <= 3 * EVERY
        liar.group.say("alice", "afterwards")
        liar.group.settle()
        assert liar.group["bob"].texts()[-1] == "afterwards"


def test_a_state_of_many_pages_is_not_given_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_BYTES", 64)
    monkeypatch.setattr(pages, "_HOUR", HOUR)
    group = Group("alice", "bob", "carol")
    group.say("alice", *(f"post {number} of a long history" for number in range(40)))
    group.settle(HOUR)

    def given(start: int) -> list[StatePage]:
        messages = (packet.message for packet in group["alice"].sent[start:] if packet.peer == group["carol"].id)
        return [message for message in messages if isinstance(message, StatePage)]

    start = len(group["alice"].sent)
    group.deliver("alice", StateWanted(group.now.wall, 0), "carol")
    group.settle(100)
    (first,) = given(start)
    assert first.pages > pages.STATES_AN_HOUR * 4
    for again in range(pages.STATES_AN_HOUR * 4):
        for page in range(again == 0, first.pages):
            group.deliver("alice", StateWanted(first.mark.number if page else group.now.wall, page), "carol")
        group.settle(WHILE)
    assert len(given(start)) == pages.STATES_AN_HOUR * first.pages
    group.settle(HOUR)
    group.deliver("alice", StateWanted(group.now.wall, 0), "carol")
    group.settle(100)
    assert len(given(start)) == pages.STATES_AN_HOUR * first.pages + 1
