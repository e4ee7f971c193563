"""The rules of 2/MVDS as a model, searched exhaustively: `python -m tests.mvds.model`.

Every interleaving of sending (interactive and batch), transmission and retransmission, delivery, duplication, loss and
restart is searched, breadth first. The network is a set of packets: delivery leaves a packet there, so that it can be
delivered again and out of order, and loss removes it. The search checks

* in every state: an acknowledged message is held, and a refused message is not requested while the reason lasts
  (`unsafe`), and
* from every state: deliveries and retransmissions alone lead to a state in which every message given to a peer is held
  by it and acknowledged, and no request is open (`stuck` counts the states from which they do not). A run that is fair
  to these steps gets there, because the graph is finite and each of its states has such a path.

A state is one integer, a rule a table from the bits that it reads to the bits that it sets, so that a million states
take half a minute.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations, product
from time import perf_counter
from typing import NamedTuple

NONE, OFFER, REQUEST, MESSAGE = range(4)  # a record in the state of a peer
KINDS = ("offer", "request", "message", "ack")  # a packet
Cell = tuple[str, int, int, int]  # what, node, peer (or -1), message
View = dict[Cell, int]
Rule = Callable[[View], View | None]


class Talk(NamedTuple):
    """One message: the nodes that have it at first, and the pairs (from, to) in which a node may give it once it has
    it."""

    holders: tuple[int, ...]
    gives: tuple[tuple[int, int], ...]


class Rules(NamedTuple):
    """Variants of the rules, correct and wrong ones."""

    restarts: bool = True  # a node can lose its queue of acknowledgements
    ack_before_save: bool = False  # wrong: for a test of the test
    ack_held_offers: bool = True  # False: the Go implementation's rule (V-07)
    retransmit: bool = True
    refuses: bool = False  # nodes without the message at first have no room for it for a while
    ack_refused: bool = False  # wrong
    ask_for_refused: bool = False  # wrong: an offer of a refused message leads to a request


REPAIRED = Rules()
REFUSING = Rules(refuses=True)
THERE, BACK = Talk((0,), ((0, 1),)), Talk((1,), ((1, 0),))


class Action(NamedTuple):
    name: str
    fair: bool
    mask: int
    table: dict[int, tuple[int, int]]  # bits read -> bits to keep, bits to set


class Result(NamedTuple):
    states: int
    steps: int
    complete: bool
    unsafe: str | None  # the state in words
    stuck: int
    seconds: float


class Layout:
    """The bits of a state: a shift and a width for each cell."""

    def __init__(self, nodes: int, messages: tuple[Talk, ...], rules: Rules) -> None:
        self.nodes, self.messages = nodes, messages
        self._place: dict[Cell, tuple[int, int]] = {}
        used = 0
        for m in range(len(messages)):
            cells = [(("holds", n, -1, m), 1) for n in range(nodes)]
            for n, p in self.linked(m):
                cells += [(("record", n, p, m), 2), (("given", n, p, m), 1), (("queued", n, p, m), 1)]
                cells += [((kind, n, p, m), 1) for kind in KINDS]
                cells += [(("declined", n, p, m), 1)] if rules.refuses else []
            cells += [(("full", n, -1, m), 1) for n in range(nodes) if rules.refuses]
            for cell, width in cells:
                self._place[cell] = (used, (1 << width) - 1)
                used += width

    def linked(self, m: int) -> list[tuple[int, int]]:
        """The pairs between which a message can go, both ways round."""
        gives = self.messages[m].gives
        return [(n, p) for n, p in permutations(range(self.nodes), 2) if (n, p) in gives or (p, n) in gives]

    def get(self, state: int, cell: Cell) -> int:
        shift, mask = self._place[cell]
        return state >> shift & mask

    def pack(self, view: View) -> int:
        return sum(value << self._place[cell][0] for cell, value in view.items())

    def mask(self, cells: tuple[Cell, ...]) -> int:
        return sum(self._place[cell][1] << self._place[cell][0] for cell in cells)

    def values(self, cell: Cell) -> range:
        return range(self._place[cell][1] + 1)

    def compile(self, name: str, reads: tuple[Cell, ...], rule: Rule, *, fair: bool) -> Action:
        """Make the table of a rule by trying it on every value of the cells that it reads."""
        table: dict[int, tuple[int, int]] = {}
        for values in product(*(self.values(cell) for cell in reads)):
            view = dict(zip(reads, values, strict=True))
            after = rule(dict(view))
            if after is not None and any(view.get(cell) != value for cell, value in after.items()):
                table[self.pack(view)] = (~self.mask(tuple(after)), self.pack(after))
        return Action(name, fair, self.mask(reads), table)

    def start(self) -> int:
        view: View = {}
        for m, talk in enumerate(self.messages):
            for n in range(self.nodes):
                here, full = ("holds", n, -1, m), ("full", n, -1, m)
                view |= {here: 1} if n in talk.holders else {full: 1} if full in self._place else {}
        return self.pack(view)


def build(layout: Layout, rules: Rules) -> list[Action]:
    made: list[Action] = []
    every = [(n, p, m) for m in range(len(layout.messages)) for n, p in layout.linked(m)]
    for n, p, m in every:
        made += _sending(layout, rules, n, p, m, gives=(n, p) in layout.messages[m].gives)
        made += _receiving(layout, rules, n, p, m)
        made += _having_room(layout, n, p, m) if rules.refuses else ()
        for kind in KINDS:
            packet = (kind, n, p, m)
            made.append(layout.compile(f"Lose {packet}", (packet,), lambda v, c=packet: {c: 0}, fair=False))  # type: ignore[misc]
    return [action for action in made if action.table]


def _sending(layout: Layout, rules: Rules, n: int, p: int, m: int, *, gives: bool) -> Iterator[Action]:
    """Actions of node `n` for message `m` and peer `p` without a packet."""
    record, given, queued = ("record", n, p, m), ("given", n, p, m), ("queued", n, p, m)
    held = ("holds", n, -1, m)
    if gives:
        for kind in (OFFER, MESSAGE):  # interactive and batch mode

            def give(view: View, kind: int = kind) -> View | None:
                return {record: kind, given: 1} if view[held] and not view[given] else None

            yield layout.compile(f"Send {n} {p} {m} {kind}", (held, given, record), give, fair=False)
    for kind in (OFFER, REQUEST, MESSAGE):
        packet = (KINDS[kind - 1], n, p, m)

        def transmit(view: View, kind: int = kind, packet: Cell = packet) -> View | None:
            return {packet: 1} if view[record] == kind else None

        yield layout.compile(f"Transmit {packet}", (record,), transmit, fair=rules.retransmit)
    ack = ("ack", n, p, m)
    yield layout.compile(f"Ack {ack}", (queued,), lambda v: {queued: 0, ack: 1} if v[queued] else None, fair=True)
    if rules.restarts:
        yield layout.compile(f"Restart {n} {p}", (queued,), lambda v: {queued: 0}, fair=False)


def _receiving(layout: Layout, rules: Rules, s: int, n: int, m: int) -> Iterator[Action]:
    """Actions of node `n` on packets from `s` about message `m`."""
    record, held, queued = ("record", n, s, m), ("holds", n, -1, m), ("queued", n, s, m)
    others = [p for one, p in layout.linked(m) if one == n and p != s]
    declined, full = ("declined", n, s, m), ("full", n, -1, m)
    room = (declined, full) if rules.refuses else ()

    def on_offer(view: View) -> View | None:
        if not view["offer", s, n, m]:
            return None
        if view[held]:
            return {record: NONE, queued: 1} if rules.ack_held_offers else None
        if view.get(declined) and not rules.ask_for_refused:
            return None
        return {record: REQUEST, **({queued: 1} if rules.ack_before_save else {})}

    def on_request(view: View) -> View | None:
        return {record: MESSAGE} if view["request", s, n, m] and view[held] else None

    def on_message(view: View) -> View | None:
        if not view["message", s, n, m]:
            return None
        if view.get(full) and not view[held]:
            kept = MESSAGE if view[record] == MESSAGE else NONE
            return {record: kept, declined: 1, **({queued: 1} if rules.ack_refused else {})}
        after: View = {held: 1, record: NONE, queued: 1}
        for p in others:
            if view["record", n, p, m] == REQUEST:
                after |= {("record", n, p, m): NONE, ("queued", n, p, m): 1}
        return after

    def on_ack(view: View) -> View | None:
        return {record: NONE} if view["ack", s, n, m] and view[record] in (OFFER, MESSAGE) else None

    about = tuple(("record", n, p, m) for p in others)
    extra = tuple(("queued", n, p, m) for p in others)
    yield layout.compile("ReceiveOffer", (("offer", s, n, m), held, record, queued, *room), on_offer, fair=True)
    yield layout.compile("ReceiveRequest", (("request", s, n, m), held, record), on_request, fair=True)
    reads = (("message", s, n, m), held, record, queued, *room, *about, *extra)
    yield layout.compile("ReceiveMessage", reads, on_message, fair=True)
    yield layout.compile("ReceiveAck", (("ack", s, n, m), record), on_ack, fair=True)


def _having_room(layout: Layout, n: int, s: int, m: int) -> Iterator[Action]:
    """Actions by which node `n` gets room for message `m`, and requests it from `s` if it refused it before."""
    record, held = ("record", n, s, m), ("holds", n, -1, m)
    declined, full = ("declined", n, s, m), ("full", n, -1, m)

    def ask_again(view: View) -> View | None:
        if not view[declined] or view[full]:
            return None
        return {declined: 0, record: REQUEST if view[record] == NONE and not view[held] else view[record]}

    yield layout.compile("Room", (full,), lambda v: {full: 0} if v[full] else None, fair=True)
    yield layout.compile("AskAgain", (declined, full, record, held), ask_again, fair=True)


class Search:
    """Breadth-first search of all states, or of the first `limit` of them."""

    def __init__(self, nodes: int, rules: Rules, *, messages: tuple[Talk, ...] = (THERE,), limit: int = 0) -> None:
        self.layout = Layout(nodes, messages, rules)
        self.rules = rules
        self.actions = build(self.layout, rules)
        self.limit = limit
        self._directed = [(pair, m) for m in range(len(messages)) for pair in self.layout.linked(m)]

    def unsafe(self, state: int) -> str | None:
        """The violation of safety in a state, or None: a message acknowledged (on its way, queued or received) and not
        held, or requested and refused."""
        get = self.layout.get
        for (n, p), m in self._directed:
            claims = get(state, ("queued", n, p, m)) or get(state, ("ack", n, p, m))
            believed = get(state, ("given", p, n, m)) and get(state, ("record", p, n, m)) in (NONE, REQUEST)
            if (claims or believed) and not get(state, ("holds", n, -1, m)):
                return f"{n} does not hold {m}, and {p} is told so or believes it: {state:x}"
            refused = self.rules.refuses and get(state, ("declined", n, p, m)) and get(state, ("full", n, -1, m))
            if refused and get(state, ("record", n, p, m)) == REQUEST:
                return f"{n} asks {p} for {m}, which it refuses: {state:x}"
        return None

    def done(self, state: int) -> bool:
        """True if every message given to a peer is held and acknowledged, and no request is open."""
        get = self.layout.get
        return all(
            get(state, ("record", n, p, m)) == NONE
            and (not get(state, ("given", n, p, m)) or get(state, ("holds", p, -1, m)))
            for (n, p), m in self._directed
        )

    def run(self) -> Result:
        begun = perf_counter()
        index = {self.layout.start(): 0}
        states = array("Q", index)
        edges, ends = array("I"), array("I")
        steps = at = 0
        fault: str | None = None
        while at < len(states) and fault is None and not (self.limit and at >= self.limit):
            state = states[at]
            fault = self.unsafe(state)
            for action in self.actions:
                change = action.table.get(state & action.mask)
                if change is None:
                    continue
                steps += 1
                after = state & change[0] | change[1]
                number = index.setdefault(after, len(states))
                if number == len(states):
                    states.append(after)
                if action.fair:
                    edges.append(number)
            ends.append(len(edges))
            at += 1
        complete = at == len(states)
        stuck = self._stuck(states, edges, ends) if complete else 0
        return Result(at, steps, complete, fault, stuck, perf_counter() - begun)

    def _stuck(self, states: array[int], edges: array[int], ends: array[int]) -> int:
        """Number of states without a path of fair steps to a finished state, found by marking backwards until nothing
        changes."""
        good = bytearray(self.done(state) for state in states)
        changed = True
        while changed:
            changed = False
            for at in range(len(states) - 1, -1, -1):
                begin = ends[at - 1] if at else 0
                if not good[at] and any(good[number] for number in edges[begin : ends[at]]):
                    good[at] = changed = True
        return good.count(0)


BOTH = Talk((0, 1), ((0, 2), (1, 2)))
REFUSED = (
    ("2 nodes, refused for a while", 2, (THERE,)),
    ("2 nodes, both ways, refused for a while", 2, (THERE, BACK)),
    ("3 nodes, of two, refused for a while", 3, (BOTH,)),
    ("3 nodes in a row, refused for a while", 3, (Talk((0,), ((0, 1), (1, 2))),)),
)
FULL = (
    ("2 nodes, two messages there, one back", 2, (THERE, THERE, BACK)),
    ("2 nodes that both have it, and another", 2, (Talk((0, 1), ((0, 1), (1, 0))), BACK)),
    ("3 nodes, one to both, one back", 3, (Talk((0,), ((0, 1), (0, 2))), BACK)),
    ("3 nodes in a row", 3, (Talk((0,), ((0, 1), (1, 2))),)),
    ("3 nodes, two have it for the third", 3, (BOTH,)),
    ("3 nodes, passed on by one", 3, (Talk((0,), ((0, 1), (0, 2), (1, 2))),)),
    ("3 nodes, passed on and back", 3, (Talk((0,), ((0, 1), (1, 2), (2, 1))),)),
    ("3 nodes, two have it for all", 3, (Talk((0, 1), ((0, 1), (1, 0), (0, 2), (1, 2))),)),
)


def main() -> int:
    bad = 0
    total = Counter[str]()
    cases = [(REPAIRED, *case) for case in FULL] + [(REFUSING, *case) for case in REFUSED]
    for rules, name, nodes, messages in cases:
        result = Search(nodes, rules, messages=messages).run()
        fine = result.unsafe is None and not result.stuck and result.complete
        bad += not fine
        total.update(states=result.states, steps=result.steps)
        print(
            f"{name:40} {result.states:>10,} states {result.steps:>12,} steps {result.seconds:6.1f} s  "
            f"{'ok' if fine else 'FAILED'}",
            flush=True,
        )
    print(f"{'all':40} {total['states']:>10,} states {total['steps']:>12,} steps")
    return bad


if __name__ == "__main__":
    sys.exit(main())
