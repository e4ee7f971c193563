"""Acknowledgement by ranges as a model, searched exhaustively: `python -m tests.sds.ack_model [MESSAGES]`.

A world is a script: who writes, joins later or goes for good, in this order. Everything else happens whenever it likes,
or to whomever it likes: sync messages with each section that the rules allow, resends, pushes, losses, restarts, and
in worlds of two also packets that are late. Mentions and filters, which settle most messages, are left out, so that
ranges alone have to do it. Of a walk through the log there is one range, since a log here is shorter than that. What a
range that differs causes is a push. A restart forgets the answer that is owed, which the engine does not.

In every state, whoever acknowledged a message must have it (`unsafe`). And from every state, sync messages, resends and
pushes alone must lead to one in which every message of whoever is there is acknowledged (`stuck`): a run that is fair
to these gets there, for a finite graph. From a stuck state the resends of such a message go on for ever.

The rules stand here once more, in few lines; `test_ack_model.py` leads engines along the paths of the model, and finds
the same held, acknowledged and owed after each step.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from itertools import combinations, product
from time import perf_counter
from typing import NamedTuple

from tests.sds.ack_scripts import NAMES, Script, every

DAY = 10  # dates of one place in a script; whose date it is makes it unlike all others


class Rules(NamedTuple):
    """Differences that two models can have."""

    equal_below: bool = True  # an equal fingerprint counts below the own horizon too
    questions: bool = True
    narrow: bool = True  # questions about each open message, and about open messages alone


NOW = Rules()
BEFORE = Rules(False, False, False)


class Print(NamedTuple):
    low: int
    high: int
    ids: int  # a set of messages, as bits


class State(NamedTuple):
    step: int
    holds: tuple[int, ...]  # what each node has
    acked: int
    asked: tuple[tuple[int, int] | None, ...]  # the answer that each owes
    late: tuple[Print | None, ...] = ()  # the last packet of each that is still on its way


class Action(NamedTuple):
    """One step: a sync message (walk, question or answer), resend, push, script, restart; to whom, and of what."""

    kind: str
    node: int = 0
    to: tuple[int, ...] = ()
    message: int = -1
    section: Print | None = None

    def words(self, world: World) -> str:
        heard = " and ".join(NAMES[node] for node in self.to) or "nobody"
        if self.kind == "script":
            return {"+": "{} joins", "-": "{} goes"}.get(world.script.steps[self.node][0], "{} writes").format(
                world.script.steps[self.node][-1]
            )
        if self.section is not None:
            ends = f"{self.section.low} to {self.section.high}"
            return f"{NAMES[self.node]} sends a {self.kind}, {ends}: {world.names(self.section.ids)}; {heard} hears it"
        what = f" {world.names(1 << self.message)}; {heard} hears it" if self.message >= 0 else ""
        return f"{NAMES[self.node]}: {self.kind}{what}"


class World:
    """A script, and what follows from it and the rules."""

    def __init__(self, script: Script, rules: Rules, delays: bool = False) -> None:
        self.script, self.rules, self.delays = script, rules, delays
        self.nodes = script.nodes
        self.horizons = [DAY * (script.ahead[0] - script.slack)] + [0] * (self.nodes - 1)
        self.authors: list[int] = []
        self.dates: list[int] = []
        self.written_at: list[int] = []  # after how many steps of the script
        self.here: list[frozenset[int]] = [frozenset({0})]
        for place, step in enumerate(script.steps, 1):
            node = NAMES.index(step[-1])
            here = self.here[-1]
            now = DAY * (place + script.ahead[node])
            if step[0] == "+":
                self.horizons[node] = now - DAY * script.slack
                here |= {node}
            elif step[0] == "-":
                here -= {node}
            else:
                self.authors.append(node)
                self.dates.append(now + node)
                self.written_at.append(place)
            self.here.append(here)

    def start(self) -> State:
        none = (None,) * self.nodes
        return State(0, (0,) * self.nodes, 0, none, none if self.delays else ())

    def names(self, ids: int) -> str:
        found = [f"{NAMES[self.authors[m]]}@{self.dates[m]}" for m in range(len(self.dates)) if ids >> m & 1]
        return " ".join(found) or "nothing"

    def within(self, ids: int, low: int, high: int) -> int:
        return sum(1 << m for m, date in enumerate(self.dates) if ids >> m & 1 and low <= date <= high)

    def open_of(self, state: State, node: int) -> list[int]:
        """Own messages that are not acknowledged, the oldest first."""
        mine = [m for m, author in enumerate(self.authors) if author == node and state.holds[node] >> m & 1]
        return sorted((m for m in mine if not state.acked >> m & 1), key=lambda m: self.dates[m])

    def settled(self, state: State) -> bool:
        here = self.here[state.step]
        return len(here) < 2 or not any(self.open_of(state, node) for node in here)

    def unsafe(self, state: State) -> bool:
        """Something is acknowledged that nobody but its author has."""
        return any(
            state.acked >> m & 1 and not any(state.holds[node] >> m & 1 for node in range(self.nodes) if node != author)
            for m, author in enumerate(self.authors)
        )

    # What a node may send.

    def prints(self, state: State, node: int) -> Iterator[tuple[str, Print]]:
        held = state.holds[node]
        dates = [date for m, date in enumerate(self.dates) if held >> m & 1]
        if not dates:
            return
        top = max(*dates, self.horizons[node] - 1)  # where the filter begins, if nothing is dated later
        ends = {("walk", self.horizons[node], top)} if top >= self.horizons[node] else set()
        if self.rules.questions:
            ends |= {("question", *each) for each in self.questions(state, node, top)}
            asked = state.asked[node]
            ends |= {("answer", *asked)} if asked is not None else set()
        for kind, low, high in sorted(ends):
            yield kind, Print(low, high, self.within(held, low, high))

    def questions(self, state: State, node: int, top: int) -> Iterator[tuple[int, int]]:
        found = self.open_of(state, node)
        for m in found if self.rules.narrow else found[:1]:
            yield self.dates[m], top
            if self.rules.narrow:
                yield self.dates[m], self.end_of_open(state.holds[node], self.dates[m], found)

    def end_of_open(self, held: int, low: int, still_open: list[int]) -> int:
        """Return the end of the open messages that follow one another from `low` on."""
        high = low
        for date, m in sorted((self.dates[m], m) for m in range(len(self.dates)) if held >> m & 1):
            if date >= low and m not in still_open:
                break
            high = max(high, date)
        return high

    # What becomes of it.

    def heard(self, state: State, node: int, sender: int, section: Print) -> State:
        """`steps/range_review._review_print` and `steps/ranges.note_question`."""
        low, high, theirs = section
        horizon = self.horizons[node]
        ours = self.within(state.holds[node], low, high)
        asked = list(state.asked)
        if ours != theirs:
            if horizon <= low:
                asked[node] = None
            return state._replace(asked=tuple(asked))
        if not self.rules.equal_below and horizon > low:
            return state
        own = sum(1 << m for m, author in enumerate(self.authors) if author == node and ours >> m & 1)
        if self.rules.questions:
            is_question = any(
                ours >> m & 1 and self.dates[m] == low and self.authors[m] == sender for m in range(len(self.dates))
            )
            if is_question:
                asked[node] = min(asked[node] or (low, high), (low, high))
            elif asked[node] == (low, high):
                asked[node] = None
        return state._replace(acked=state.acked | own, asked=tuple(asked))

    def moves(self, state: State) -> Iterator[tuple[Action, State, bool]]:
        """Yield each possible action, the state after it, and True if a fair run does not leave it out for ever."""
        if state.step < len(self.script.steps):
            yield self._script(state)
        here = self.here[state.step]
        for node in sorted(here):
            others = sorted(here - {node})
            groups = [group for size in range(1, len(others) + 1) for group in combinations(others, size)]
            for kind, section in self.prints(state, node):
                for group in groups:
                    yield from self._sync(state, Action(kind, node, group, -1, section))
            for m in self.open_of(state, node):
                for group in groups:
                    yield Action("resend", node, group, m), self._given(state, group, m), True
            for m, other in product(range(len(self.dates)), others):
                if self._pushes(state, node, other, m):
                    yield Action("push", node, (other,), m), self._given(state, (other,), m), True
            if state.asked[node] is not None:
                asked = tuple(None if each == node else state.asked[each] for each in range(self.nodes))
                yield Action("restart", node), state._replace(asked=asked), False
        yield from self._arrivals(state)

    def _script(self, state: State) -> tuple[Action, State, bool]:
        after = state._replace(step=state.step + 1)
        if state.step + 1 in self.written_at:
            m = self.written_at.index(state.step + 1)
            author = self.authors[m]
            holds = tuple(ids | (node == author) << m for node, ids in enumerate(state.holds))
            after = after._replace(holds=holds)
        return Action("script", state.step), after, False

    def _sync(self, state: State, action: Action) -> Iterator[tuple[Action, State, bool]]:
        node, section = action.node, action.section
        assert section is not None
        if action.kind == "answer":
            state = state._replace(asked=(*state.asked[:node], None, *state.asked[node + 1 :]))
        if self.delays:
            late = (*state.late[:node], section, *state.late[node + 1 :])
            yield action._replace(to=()), state._replace(late=late), True
            return
        for other in action.to:
            state = self.heard(state, other, node, section)
        yield action, state, True

    def _arrivals(self, state: State) -> Iterator[tuple[Action, State, bool]]:
        for node, section in enumerate(state.late):
            if section is None:
                continue
            gone = state._replace(late=(*state.late[:node], None, *state.late[node + 1 :]))
            yield Action("loss", node), gone, False
            to = tuple(sorted(self.here[state.step] - {node}))
            for other in to:
                gone = self.heard(gone, other, node, section)
            yield Action("arrival", node, to, -1, section), gone, True

    def _given(self, state: State, to: tuple[int, ...], m: int) -> State:
        return state._replace(holds=tuple(ids | (node in to) << m for node, ids in enumerate(state.holds)))

    def _pushes(self, state: State, node: int, other: int, m: int) -> bool:
        lacks = bool(state.holds[node] >> m & 1) and not state.holds[other] >> m & 1
        return lacks and self.dates[m] >= self.horizons[other]


class Result(NamedTuple):
    states: int
    unsafe: list[Action] | None  # the way to such a state
    stuck: list[Action] | None
    at: State | None


def search(world: World) -> Result:
    """Look at every state, breadth first."""
    first = world.start()
    came: dict[State, tuple[State, Action] | None] = {first: None}
    back: dict[State, list[State]] = {}
    queue = deque([first])
    while queue:
        state = queue.popleft()
        if world.unsafe(state):
            return Result(len(came), _path(came, state), None, state)
        for action, after, fair in world.moves(state):
            if after == state:
                continue
            if fair:
                back.setdefault(after, []).append(state)
            if after not in came:
                came[after] = (state, action)
                queue.append(after)
    fine = {state for state in came if world.settled(state)}
    queue = deque(fine)
    while queue:
        for state in back.get(queue.popleft(), ()):
            if state not in fine:
                fine.add(state)
                queue.append(state)
    stuck = [state for state in came if state not in fine]
    if not stuck:
        return Result(len(came), None, None, None)
    # The one that needs the fewest steps and has no further way to go: all that is written is held by everybody.
    worst = next((state for state in stuck if _held_by_all(world, state)), stuck[0])
    return Result(len(came), None, _path(came, worst), worst)


def _held_by_all(world: World, state: State) -> bool:
    here = world.here[state.step]
    return all(state.holds[node] >> m & 1 for node in here for author in here for m in world.open_of(state, author))


def _path(came: dict[State, tuple[State, Action] | None], state: State) -> list[Action]:
    path: list[Action] = []
    while (before := came[state]) is not None:
        state = before[0]
        path.append(before[1])
    return path[::-1]


class Found(NamedTuple):
    worlds: int
    states: int
    world: World | None
    result: Result | None  # the first that went wrong


def explore(every: Iterator[Script], rules: Rules, delays: bool = False) -> Found:
    worlds = states = 0
    for script in every:
        world = World(script, rules, delays)
        result = search(world)
        worlds, states = worlds + 1, states + result.states
        if result.unsafe is not None or result.stuck is not None:
            return Found(worlds, states, world, result)
    return Found(worlds, states, None, None)


def told(found: Found) -> str:
    """Return the findings in words."""
    if found.world is None or found.result is None:
        return f"{found.worlds} worlds, {found.states} states: none unsafe, none stuck"
    world, result = found.world, found.result
    horizons = ", ".join(f"{NAMES[node]} {world.horizons[node]}" for node in range(world.nodes))
    lines = [f"horizons: {horizons}", *(action.words(world) for action in result.unsafe or result.stuck or ())]
    if result.unsafe is not None:
        return "\n  ".join([*lines, "and a message is acknowledged that nobody else has"])
    assert result.at is not None
    still = sum(1 << m for node in world.here[result.at.step] for m in world.open_of(result.at, node))
    return "\n  ".join([*lines, f"and for ever after: resends of {world.names(still)}, which everybody has"])


def main() -> None:
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("rules as they were:\n ", told(explore(every(2, writes), BEFORE)))
    for name, worlds, delays in (
        ("two nodes", every(2, writes), False),
        ("two nodes, packets late", every(2, writes - 1), True),
        ("three nodes", every(3, writes - 1), False),
        ("three nodes, of which one goes", every(3, writes - 1, leaves=True), False),
    ):
        began = perf_counter()
        found = explore(worlds, NOW, delays)
        print(f"rules of now, {name}, {perf_counter() - began:.0f} s:\n ", told(found), flush=True)


if __name__ == "__main__":
    main()
