"""The TLA+ model published with 2/MVDS (vacp2p/formalities, MVDS/MVDS.tla), rule for rule, and its wrong index.

`ReceiveAck(n, s)` there is `state' = [state EXCEPT ![s][n] = "delivered"]`, though the acknowledged offer stands in
`state[n][s]`. So the node that received the message is marked as having delivered one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

PUBLISHED = "published"  # ![s][n]
FIXED = "fixed"  # ![n][s]

Grid = tuple[tuple[str, ...], ...]
Queue = tuple[tuple[str, int], ...]


class State(NamedTuple):
    """`state` and `network` of the model, and the real offers and arrivals, which the model does not record."""

    state: Grid
    network: tuple[tuple[Queue, ...], ...]
    offered: frozenset[tuple[int, int]]
    received: frozenset[tuple[int, int]]  # (sender, receiver) of messages that arrived


class Violation(NamedTuple):
    steps: tuple[str, ...]
    state: Grid


def initial(nodes: int) -> State:
    rows: Grid = tuple(("-",) * nodes for _ in range(nodes))
    empty: tuple[tuple[Queue, ...], ...] = tuple(((),) * nodes for _ in range(nodes))
    return State(rows, empty, frozenset(), frozenset())


def _set(grid: Grid, row: int, column: int, value: str) -> Grid:
    changed = (*grid[row][:column], value, *grid[row][column + 1 :])
    return (*grid[:row], changed, *grid[row + 1 :])


def _queue(state: State, row: int, column: int, queue: Queue) -> State:
    net = state.network
    changed = (*net[row][:column], queue, *net[row][column + 1 :])
    return state._replace(network=(*net[:row], changed, *net[row + 1 :]))


def _append(state: State, source: int, target: int, kind: str, mid: int) -> State:
    return _queue(state, source, target, (*state.network[source][target], (kind, mid)))


def offer(state: State, n: int, r: int) -> State:
    done = _append(state, n, r, "offer", n)
    return done._replace(state=_set(state.state, n, r, "offered"), offered=state.offered | {(n, r)})


def receive(state: State, n: int, s: int, model: str) -> tuple[str, State]:
    """Let node `n` take the first message of the queue from `s`: ReceiveOffer, -Request, -Message or -Ack."""
    (kind, _), *rest = state.network[s][n]
    taken = _queue(state, s, n, tuple(rest))
    if kind == "offer":
        return "ReceiveOffer", _append(taken, n, s, "request", s)
    if kind == "request":
        return "ReceiveRequest", _append(taken, n, s, "msg", n)
    if kind == "msg":
        return "ReceiveMessage", _append(taken, n, s, "ack", s)._replace(received=taken.received | {(s, n)})
    row, column = (s, n) if model == PUBLISHED else (n, s)
    return "ReceiveAck", taken._replace(state=_set(taken.state, row, column, "delivered"))


def following(state: State, model: str) -> Iterator[tuple[str, State]]:
    """The steps of `Next` from a state."""
    nodes = range(len(state.state))
    for n, s in ((n, s) for n in nodes for s in nodes if n != s):
        if state.state[n][s] == "-":
            yield f"Offer({n + 1}, {s + 1})", offer(state, n, s)
        if state.network[s][n]:
            kind, after = receive(state, n, s, model)
            yield f"{kind}({n + 1}, {s + 1})", after


def holds(state: State) -> bool:
    """True if every pair marked as delivered was offered, and its message did arrive."""
    nodes = range(len(state.state))
    delivered = {(n, s) for n in nodes for s in nodes if state.state[n][s] == "delivered"}
    return delivered <= state.offered & state.received


def violation(nodes: int, model: str) -> Violation | None:
    """The shortest path to a state in which a pair is marked as delivered that is not, or None."""
    start = initial(nodes)
    seen = {start}
    queue: deque[tuple[State, tuple[str, ...]]] = deque([(start, ())])
    while queue:
        state, steps = queue.popleft()
        if not holds(state):
            return Violation(steps, state.state)
        for step, after in following(state, model):
            if after not in seen:
                seen.add(after)
                queue.append((after, (*steps, step)))
    return None


def size(nodes: int, model: str) -> int:
    """Number of states of the model as published, without the fields that we added for the check."""
    seen = {initial(nodes)}
    queue = deque(seen)
    while queue:
        for _, after in following(queue.popleft(), model):
            plain = after._replace(offered=frozenset(), received=frozenset())
            if plain not in seen:
                seen.add(plain)
                queue.append(plain)
    return len(seen)
