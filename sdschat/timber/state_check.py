"""Check of a state that a peer gives: what would end the program, or hang it, is refused before anything changes.

Whether a state is true is another question, and nobody can tell: see `sdschat/timber/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sdschat.timber import limits
from sdschat.timber.committee import Slot
from sdschat.timber.values import (
    Kind,
    Operation,
    SlotRow,
    State,
    Value,
    Verify,
    VoteRow,
    event_bytes,
    operation_bytes,
)


def check_state(state: State) -> None:
    """Raise ValueError if the parts of a state do not fit together."""
    count = len(state.slots)
    _require(state.mark.number > 0 and 0 < count <= limits.MAX_SLOTS, "has no operation behind it")
    _require(max(_named_slots(state), default=0) < count, "names a slot that there is not")
    names = [post.name for post in state.posts]
    authors = [author.slot for author in state.authors]
    for listed in (names, authors, state.order, state.electors):
        _require(len(set(listed)) == len(listed), "says something twice")
    _require(bool(state.electors), "has no electors")
    _require(all(0 < post.place <= state.mark.number for post in state.posts), "has a post from nowhere")
    for author in state.authors:
        apart = all(high + 1 < low for (_, high), (low, _) in pairwise(author.done))
        _require(apart and all(0 < low <= high for low, high in author.done), "has events out of order")
    done = {author.slot: author.done for author in state.authors}
    for post in state.posts:
        known = done.get(post.name.author, ())
        _require(any(low <= post.name.number <= high for low, high in known), "has a post of no event")
    for row in state.slots:
        _check_slot(row, state)
    _require(any(row.last is None for row in state.slots), "has no members")
    for operation in state.operations:
        event = operation.body.event
        _require(event is None or event.body.kind is not Kind.GENESIS, "begins again")


def check_own_numbers(state: State, key: bytes) -> None:
    """Raise ValueError if a state leaves no numbers for events and operations with our key. Nobody else signs any, so
    that it lies."""
    ours = {row.number for row in state.slots if row.key == key}
    numbers = [row.seq for row in state.slots if row.number in ours]
    numbers += [high for author in state.authors if author.slot in ours for _, high in author.done]
    _require(max(numbers, default=0) <= limits.MAX_NUMBER // 2, "has numbers of ours that we never reached")


def is_signed(operation: Operation, key: bytes, slots: Sequence[Slot], data_set: bytes, verify: Verify) -> bool:
    """True if an operation is signed by its writer, who has this key, and its event by a member that there is."""
    event = operation.body.event
    if not verify(key, operation_bytes(data_set, operation.raw), operation.signature):
        return False
    if event is None:
        return True
    author = event.body.author
    return author < len(slots) and verify(slots[author].key, event_bytes(data_set, event.raw), event.signature)


def _check_slot(row: SlotRow, state: State) -> None:
    within = all(seq <= state.slots[slot].seq for slot, seq in row.clock)
    _require(within, "has a clock that names what is not there")
    _require(row.turn <= state.turn and row.closed <= len(state.slots), "has a member from the future")
    _require((row.last is None) == (not row.why), "has a membership that ended for no reason")


def _named_slots(state: State) -> Iterator[int]:
    for row in state.slots:
        yield from (slot for slot, _ in row.clock)
    yield from state.electors
    yield from (author.slot for author in state.authors)
    yield from (post.name.author for post in state.posts)
    yield from (slot for slot, _ in state.order)
    for vote in state.votes:
        yield from _of_vote(vote)


def _of_vote(vote: VoteRow) -> Iterable[int]:
    values: list[Value] = []
    yield vote.slot
    if vote.before is not None:
        values.append(vote.before[1])
    if vote.propose is not None:
        values.append(vote.propose.value)
    if vote.accept is not None:
        values.append(vote.accept.value)
    for value in values:
        yield from (slot for slot, _ in value.removed)
        yield from value.electors


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(f"the state {problem}")
