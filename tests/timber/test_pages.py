"""Pages of a state: taken only where they were asked for, of whom they were asked, each once."""

from __future__ import annotations

import pytest

from sdschat.timber import limits
from sdschat.timber.events import StateAdopted
from sdschat.timber.states import state_at_compaction
from sdschat.timber.values import CheckpointMark, Reason, State, StatePage, StateWanted
from tests.timber.group import Group, Node
from tests.timber.test_refused import reasons
from tests.timber.world import CODEC

FAR = CheckpointMark(10**6, bytes(32))


def alone() -> Group:
    """Return a group of which alice has not heard for a while, so that she may have been removed."""
    group = Group("alice", "bob", "carol")
    group.time += 3_600_000
    return group


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
    group = alone()
    start = len(group["alice"].sent)
    for number in range(5):
        group.deliver("alice", StatePage(FAR._replace(number=FAR.number + number), 0, 3, b"page"), "bob")
    assert wanted(group, "alice", start) == [StateWanted(FAR.number, 1)]
    assert group["alice"].engine.refusals[Reason.OTHER_STATE] == 4


def test_a_page_that_nobody_asked_for_is_refused() -> None:
    group = alone()
    group.deliver("alice", StatePage(FAR, 0, 3, b"page"), "bob")
    assert reasons(group, "alice", StatePage(FAR, 1, 3, b"page"), "carol") == {Reason.OTHER_STATE}
    start = len(group["alice"].sent)
    assert reasons(group, "alice", StatePage(FAR, 0, 3, b"page"), "bob") == set(), "it came twice"
    assert reasons(group, "alice", StatePage(FAR, 2, 3, b"page"), "bob") == set(), "it is not the next one"
    assert wanted(group, "alice", start) == []
    group.deliver("alice", StatePage(FAR, 1, 3, b"page"), "bob")
    assert wanted(group, "alice", start) == [StateWanted(FAR.number, 2)]


def test_a_page_costs_the_same_however_many_came_before() -> None:
    group = alone()

    def cost(number: int) -> int:
        CountedBody.asked = 0
        group["alice"].engine.receive(group["bob"].id, StatePage(FAR, number, 1000, CountedBody(b"page")), group.now)
        return CountedBody.asked

    costs = [cost(number) for number in range(500)]
    assert costs[10] == costs[499]


def test_a_state_has_no_more_pages_than_its_bytes_fill() -> None:
    assert limits.MAX_PAGES * limits.PAGE_BYTES == limits.STATE_BYTES


def removing(group: Group, giver: str, victim: str) -> State:
    """Return a state of a member that lies: another one was removed, and said something else."""
    core = group[giver].engine._core
    core.compact()
    state = state_at_compaction(core.replica)
    assert state is not None
    slot = group[victim].engine.me
    assert slot is not None
    rows = tuple(row._replace(last=row.seq, why="removed") if row.number == slot else row for row in state.slots)
    posts = tuple(post._replace(text="something else") for post in state.posts)
    electors = tuple(one for one in state.electors if one != slot)
    mark = CheckpointMark(state.mark.number + 100, bytes(32))
    return state._replace(slots=rows, posts=posts, electors=electors, mark=mark, order=())


@pytest.mark.parametrize("names", [("ann", "bob", "liar"), ("ann", "bob", "cas", "dan", "liar"), ("ann", "liar")])
def test_a_member_in_good_standing_takes_no_state_by_which_it_was_removed(names: tuple[str, ...]) -> None:
    """A liar that gives one had its way: the member showed other posts, and stood outside for good."""
    group = Group(*names, rounds=8)
    group.say("ann", "hello")
    group.settle()
    raw = CODEC.encode_state(removing(group, "liar", "ann"))
    page = StatePage(CheckpointMark(10**6, bytes(32)), 0, 1, raw)
    group.deliver("ann", page, "liar")
    assert not group["ann"].heard(StateAdopted)
    assert group["ann"].engine.me is not None
    assert group["ann"].texts() == ["hello"]


def test_whoever_is_removed_with_others_takes_a_state_all_the_same() -> None:
    """The two say to each other that they stand."""
    names = ("ann", "bob", "cas", "dan", "eve")
    group = Group(*names)
    group.sides = {"dan": 1, "eve": 1}
    for number in range(20):
        for name in ("ann", "bob", "cas"):
            group.say(name, f"{number} of {name}")
    group.say("dan", "from the other side")
    assert {view.slot for view in group["ann"].engine.members()} == {0, 1, 2}
    group.sides = {}
    group.settle(60_000)
    for name in ("dan", "eve"):
        assert group[name].heard(StateAdopted)
        assert group[name].engine.me is None


def test_whoever_helped_to_remove_another_and_was_removed_next_takes_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of four said to each other that they stand: the one that was removed first, and the one that had accepted
    that, and heard nothing any more."""
    group = Group("ann", "bob", "cas", "dan")
    cas, carry = group["cas"].engine, group.carry

    def carry_until_accepted(node: Node) -> None:
        carry(node)
        if cas.me in cas._core.replica.turn.accepted:
            monkeypatch.setattr(cas, "receive", lambda *_: None)

    with monkeypatch.context() as patch:
        patch.setattr(group, "carry", carry_until_accepted)
        group.sides = {"dan": 1}
        for number in range(60):
            for name in ("ann", "bob", "cas"):
                if cas.me not in cas._core.replica.turn.accepted:
                    group.say(name, f"{number} of {name}")
    assert cas.me in cas._core.replica.turn.accepted
    group.sides = {"dan": 1, "cas": 1}
    for number in range(30):
        for name in ("ann", "bob"):
            group.say(name, f"{number} of {name} alone")
    assert {view.slot for view in group["ann"].engine.members()} == {0, 1}
    assert {view.slot for view in cas.members()} == {0, 1, 2, 3}
    monkeypatch.undo()
    group.sides = {}
    group.settle(60_000)
    for name in ("cas", "dan"):
        assert group[name].heard(StateAdopted)
        assert group[name].engine.me is None


def test_whoever_left_takes_a_state_by_which_it_did() -> None:
    """The other one of two went on, and its word that bob had left was lost on its way to him."""
    group = Group("ann", "bob")
    group["bob"].engine.leave(group.now)
    group.carry(group["bob"])
    wire, group.wire = group.wire, []
    for _, packet in wire:
        group["ann"].engine.receive(group["bob"].id, packet.message, group.now)
    group["ann"].store.apply(group["ann"].engine.take().writes)
    assert len(group["ann"].engine.members()) == 1
    assert len(group["bob"].engine.members()) == 2
    group.say("ann", "after bob left")
    group.settle(30_000)
    assert group["bob"].texts() == ["after bob left"]
