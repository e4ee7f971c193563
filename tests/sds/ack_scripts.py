"""The worlds of `ack_model`: who writes, joins later or goes for good, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

NAMES = "abc"


class Script(NamedTuple):
    """Steps are "+b" (b joins), "-b" (b goes) and "b" (b writes); a is there from the beginning."""

    steps: tuple[str, ...]
    slack: int = 0  # places by which a horizon lies before the joining
    ahead: tuple[int, ...] = (0, 0, 0)  # places by which clocks are ahead

    @property
    def nodes(self) -> int:
        return 1 + max((NAMES.index(step[-1]) for step in self.steps), default=0)


def scripts(nodes: int, writes: int, leaves: bool = False) -> Iterator[Script]:
    """All in which everybody joins, and at most so many messages are written."""
    for length in range(1, writes + 1):
        for steps in product(*[_steps(nodes, leaves)] * (length + nodes - 1 + leaves)):
            if _makes_sense(steps, nodes, length, leaves):
                yield Script(steps)


def _steps(nodes: int, leaves: bool) -> list[str]:
    joins = [f"+{name}" for name in NAMES[1:nodes]]
    return [*joins, *NAMES[:nodes], *([f"-{name}" for name in NAMES[1:nodes]] if leaves else [])]


def _makes_sense(steps: tuple[str, ...], nodes: int, writes: int, leaves: bool) -> bool:
    here = {"a"}
    joined = 0
    for step in steps:
        if step[0] == "+":
            if NAMES.index(step[-1]) != joined + 1:
                return False
            joined += 1
            here.add(step[-1])
        elif step[-1] not in here:
            return False
        elif step[0] == "-":
            here.remove(step[-1])
    return joined == nodes - 1 and sum(len(step) == 1 for step in steps) == writes and leaves == (len(here) < nodes)


def variants(script: Script) -> Iterator[Script]:
    """The same with horizons before the joining, and with clocks that differ."""
    clocks = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 1)]
    for slack, ahead in product((0, 1, 9), clocks if script.nodes > 2 else clocks[:4]):
        yield Script(script.steps, slack, ahead)


def every(nodes: int, writes: int, leaves: bool = False) -> Iterator[Script]:
    """All of these in all variants."""
    return (each for script in scripts(nodes, writes, leaves) for each in variants(script))
