"""Pages of a state: taken only where they were asked for, of whom they were asked, each once."""

from __future__ import annotations

from sdschat.timber import limits
from sdschat.timber.values import CheckpointMark, Reason, StatePage, StateWanted
from tests.timber.group import Group
from tests.timber.test_refused import reasons

FAR = CheckpointMark(10**6, bytes(32))


class CountedBody(bytes):
    """Counts how often its length is asked for."""

    asked = 0

    def __len__(self) -> int:
        CountedBody.asked += 1
        return super().__len__()


def wanted(group: Group, name: str, start: int) -> list[StateWanted]:
    messages = [packet.message for packet in group[name].sent[start:]]
    return [message for message in messages if isinstance(message, StateWanted)]


def test_each_question_is_answered_by_one_first_page() -> None:
    """A peer that begins again and again was asked for each page that followed."""
    group = Group("alice", "bob", "carol")
    start = len(group["alice"].sent)
    for number in range(5):
        group.deliver("alice", StatePage(FAR._replace(number=FAR.number + number), 0, 3, b"page"), "bob")
    assert wanted(group, "alice", start) == [StateWanted(FAR.number, 1)]
    assert group["alice"].engine.refusals[Reason.OTHER_STATE] == 4


def test_a_page_that_nobody_asked_for_is_refused() -> None:
    group = Group("alice", "bob", "carol")
    group.deliver("alice", StatePage(FAR, 0, 3, b"page"), "bob")
    assert reasons(group, "alice", StatePage(FAR, 1, 3, b"page"), "carol") == {Reason.OTHER_STATE}
    start = len(group["alice"].sent)
    assert reasons(group, "alice", StatePage(FAR, 0, 3, b"page"), "bob") == set(), "it came twice"
    assert reasons(group, "alice", StatePage(FAR, 2, 3, b"page"), "bob") == set(), "it is not the next one"
    assert wanted(group, "alice", start) == []
    group.deliver("alice", StatePage(FAR, 1, 3, b"page"), "bob")
    assert wanted(group, "alice", start) == [StateWanted(FAR.number, 2)]


def test_a_page_costs_the_same_however_many_came_before() -> None:
    group = Group("alice", "bob", "carol")

    def cost(number: int) -> int:
        CountedBody.asked = 0
        group["alice"].engine.receive(group["bob"].id, StatePage(FAR, number, 1000, CountedBody(b"page")), group.now)
        return CountedBody.asked

    costs = [cost(number) for number in range(500)]
    assert costs[10] == costs[499]


def test_a_state_has_no_more_pages_than_its_bytes_fill() -> None:
    assert limits.MAX_PAGES * limits.PAGE_BYTES == limits.STATE_BYTES
