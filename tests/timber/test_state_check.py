"""States that a lying member gives: they are refused, and neither end nor hang the program of who asked for one."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sdschat.store.store import Store
from sdschat.store.timber import save_timber
from sdschat.timber.events import StateAdopted
from sdschat.timber.rows import Put
from sdschat.timber.state_check import check_state
from sdschat.timber.states import state_at_compaction
from sdschat.timber.values import (
    Accept,
    AuthorRow,
    Ballot,
    CheckpointMark,
    EventBody,
    Kind,
    Now,
    PostId,
    Reason,
    State,
    Statements,
    StatePage,
    Sync,
    Value,
    VoteRow,
)
from tests.store.samples import CODEC as SDS_CODEC
from tests.timber.group import Group, Node
from tests.timber.world import CODEC, key_of, signed_event, signed_operation

AT = Now(1_700_000_000_000, 0)


@cache
def given() -> tuple[Group, State]:
    """Return a group of which one was put out, and a state of it with operations in front."""
    group = Group("ann", "bob", "cas", "dan", rounds=6)
    group.say("ann", "one", "two")
    group.say("bob", "three")
    group.settle(9000)
    group["cas"].up = False
    for number in range(14):
        group.say("bob", f"{number} of bob")
        group.say("ann", f"{number} of ann")
    core, state = group["bob"].engine._core, None
    while state is None or not state.order:
        group.say("ann", "in front")
        core.compact()
        state = state_at_compaction(core.replica)
    oldest_first = sorted(core.replica.in_front(), key=lambda node: node.arrival)
    state = state._replace(operations=tuple(node.operation for node in oldest_first))
    assert [row.why for row in state.slots] == ["", "", "removed", ""]
    return group, state


def newcomer(state: State, mark: CheckpointMark | None = None) -> Node:
    """Return a node that was given a state, in a page that says to be of its checkpoint, or of another one."""
    group, _ = given()
    node = Node("new", 9, rounds=6)
    node.engine.join(group.data_set, [group["bob"].id], AT)
    node.engine.receive(group["bob"].id, Sync(state.mark, ((0, 1),), bytes(32), ()), AT)  # so that it is asked
    page = StatePage(mark or state.mark, 0, 1, CODEC.encode_state(state))
    node.engine.receive(group["bob"].id, page, AT)
    ready = node.engine.take()
    node.store.apply(ready.writes)
    node.reports += ready.events
    return node


def test_a_state_as_it_is_is_taken() -> None:
    _, state = given()
    check_state(state)
    assert newcomer(state).heard(StateAdopted)


WRONG: dict[str, Callable[[State], State]] = {
    "an operation stands twice in the order": lambda s: s._replace(order=(*s.order, s.order[0])),
    "an elector that there is not": lambda s: s._replace(electors=(*s.electors, 99)),
    "no electors": lambda s: s._replace(electors=()),
    "a vote by nobody": lambda s: s._replace(votes=(VoteRow(99, promise=Ballot(1, 0)),)),
    "a vote about nobody": lambda s: s._replace(
        votes=(VoteRow(0, accept=Accept(Ballot(1, 0), Value(((99, 1),), (0,)), 1)),)
    ),
    "a post twice": lambda s: s._replace(posts=(*s.posts, s.posts[0])),
    "a post of nobody": lambda s: s._replace(posts=(s.posts[0]._replace(name=s.posts[0].name._replace(author=99)),)),
    "a post of no event": lambda s: s._replace(authors=()),
    "a post from nowhere": lambda s: s._replace(posts=(s.posts[0]._replace(place=2**40),)),
    "events out of order": lambda s: s._replace(authors=(AuthorRow(0, ((5, 9), (1, 3))),), posts=()),
    "an author twice": lambda s: s._replace(authors=(*s.authors, s.authors[0])),
    "a clock of nobody": lambda s: s._replace(slots=(*s.slots[:-1], s.slots[-1]._replace(clock=((99, 1),)))),
    "a clock that knows what is not there": lambda s: s._replace(
        slots=(*s.slots[:-1], s.slots[-1]._replace(clock=((0, 2**40),)))
    ),
    "a member from the future": lambda s: s._replace(slots=(*s.slots[:-1], s.slots[-1]._replace(turn=2**30))),
    "no members": lambda s: s._replace(slots=tuple(row._replace(why="left", last=row.seq) for row in s.slots)),
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_state_that_does_not_fit_together_is_refused(problem: str) -> None:
    _, state = given()
    node = newcomer(WRONG[problem](state))
    assert not node.heard(StateAdopted)
    assert node.engine.refusals == {Reason.OTHER_STATE: 1}


def changed(rng: random.Random, value: Any) -> Any:
    """Return a value with one part of it changed."""
    if isinstance(value, tuple) and value:
        parts, at, chance = list(value), rng.randrange(len(value)), rng.random()
        fixed = hasattr(value, "_fields")
        if fixed or chance < 0.6:
            parts[at] = changed(rng, parts[at])
        elif chance < 0.75:
            del parts[at]
        elif chance < 0.9:
            parts.insert(at, parts[at])
        else:
            rng.shuffle(parts)
        return type(value)(*parts) if fixed else tuple(parts)
    if isinstance(value, bytes):
        return rng.choice([b"", bytes(32), value[::-1]])
    if isinstance(value, str):
        return rng.choice(["", "left", "removed"])
    return rng.choice([0, 1, 2, 3, 7, 99, 4095, 2**31, 2**63]) if isinstance(value, int) else value


def changed_in_front(rng: random.Random, state: State) -> State:
    """Return a state with one of bob's operations in front of it changed, and signed by him again."""
    group, _ = given()
    bob = group["bob"].key
    operations = list(state.operations)
    at = rng.choice([at for at, one in enumerate(operations) if one.body.slot == 1])
    body = changed(rng, operations[at].body)
    if body.event is not None:
        body = body._replace(event=signed_event(group.data_set, bob, body.event.body))
    operations[at] = signed_operation(group.data_set, bob, body)
    return state._replace(operations=tuple(operations))


def changed_twice(rng: random.Random, state: State) -> State:
    found: State = changed(rng, changed(rng, state))
    return found


@pytest.mark.parametrize("change", [changed_twice, changed_in_front])
def test_whatever_is_in_a_state_the_program_goes_on(
    change: Callable[[random.Random, State], State], tmp_path: Path
) -> None:
    group, state = given()
    taken = 0
    store = Store.open(tmp_path / "chat.db", SDS_CODEC)
    for seed in range(300):
        rng = random.Random(seed)
        try:
            node = newcomer(change(rng, state))
        except (ValueError, TypeError, OverflowError, AttributeError):
            continue  # nothing that could be sent
        if not node.heard(StateAdopted):
            continue
        taken += 1
        with store.transaction() as transaction:
            save_timber(transaction, "garden", [Put(*key, row) for key, row in node.store.rows.items()])
        for again in (node.engine, node.boot(AT)):
            for turn, following in enumerate(group["bob"].engine.operations()):
                now = Now(AT.wall, turn * 1000)
                sync = Sync(CheckpointMark(0, b""), (), bytes(32), (following.operation,))
                again.receive(group["bob"].id, sync, now)
                again.advance(now)
            again.take()
            again.posts()
            again.members()
            again.waiting_for()
    assert 30 < taken < 200
    store.close()


@pytest.mark.parametrize("number", [2**53, 2**63, 2**64 - 1])
@pytest.mark.parametrize("field", ["time", "edit"])
def test_a_number_that_no_database_holds_is_refused(field: str, number: int) -> None:
    """It ended the program of whoever asked for the state."""
    _, state = given()
    false: dict[str, Any] = {field: number}
    node = newcomer(state._replace(posts=tuple(post._replace(**false) for post in state.posts)))
    assert not node.heard(StateAdopted)
    assert node.engine.refusals == {Reason.MALFORMED: 1}


def with_own_numbers(state: State, events: int, operations: int) -> State:
    """Return the state with the last slot as that of the newcomer, who is said to have made so much."""
    *rows, last = state.slots
    authors = (*(one for one in state.authors if one.slot != last.number), AuthorRow(last.number, ((1, events),)))
    return state._replace(slots=(*rows, last._replace(key=key_of(9), seq=operations)), authors=authors)


@pytest.mark.parametrize(
    ("events", "operations", "reason"),
    [
        (2**64 - 1, 25, Reason.MALFORMED),
        (2**53 - 1, 25, Reason.OTHER_STATE),
        (2**52, 25, Reason.OTHER_STATE),
        (3, 2**53 - 1, Reason.OTHER_STATE),
    ],
)
def test_a_state_that_leaves_us_no_numbers_is_refused(events: int, operations: int, reason: Reason) -> None:
    """It ended the program of who had said something before, at each start again; or nobody took what was said."""
    _, state = given()
    node = newcomer(with_own_numbers(state, events, operations))
    assert not node.heard(StateAdopted)
    assert node.engine.refusals == {reason: 1}


def test_a_state_may_have_any_number_of_another_author() -> None:
    """Else an author that numbers an event so would keep all newcomers out."""
    _, state = given()
    authors = (*(one for one in state.authors if one.slot != 1), AuthorRow(1, ((1, 15), (2**53 - 1, 2**53 - 1))))
    assert newcomer(state._replace(authors=authors)).heard(StateAdopted)
    ours = newcomer(with_own_numbers(state, 3, 25)).engine
    name = ours.say("the fourth", AT)
    assert name == PostId(3, 4)


def test_a_state_of_an_older_checkpoint_than_its_pages_say_is_refused() -> None:
    _, state = given()
    later = CheckpointMark(state.mark.number + 1, state.mark.hash)
    node = newcomer(state, later)
    assert not node.heard(StateAdopted)
    assert node.engine.refusals == {Reason.OTHER_STATE: 1}


@pytest.mark.parametrize("kind", [Kind.SAY, Kind.EDIT, Kind.DELETE])
@pytest.mark.parametrize("author", [0, 99])
def test_an_event_in_front_that_its_author_did_not_sign_is_refused_with_the_state(author: int, kind: Kind) -> None:
    """One of an author that there is not ended the program of whoever asked for the state, at each start. One in the
    name of another member was shown."""
    group, state = given()
    bob, target = group["bob"], None if kind is Kind.SAY else PostId(0, 2)
    forged = signed_event(group.data_set, bob.key, EventBody(kind, author, 900, 5, "", target))
    body = bob.engine._core.replica.draft(forged, Statements())
    operation = signed_operation(group.data_set, bob.key, body)
    order = (*state.order, (body.slot, body.seq))
    node = newcomer(state._replace(operations=(*state.operations, operation), order=order))
    assert not node.heard(StateAdopted)
    assert node.engine.refusals == {Reason.OTHER_STATE: 1}
