"""The settings of a node of the soak: faults for all, and what may differ from node to node, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

FAULTS: Final = ("fault.loss=0.1", "fault.duplicate=0.05", "fault.reorder=0.05", "fault.delay=100ms")
# The value that stands first is drawn as often as all others together.
DIFFERING: Final[Mapping[str, Sequence[object]]] = {
    "history.on_join": ("all", "24h", "none"),
    "bloom.capacity": (256, 16, 64, 1024),
    "bloom.layout": ("auto", "compact"),
    "repair.enabled": ("true", "false"),
}
# One such node makes all others use waku's filters, and every packet 18 KB long: what is missing comes slowly, because
# the engine bounds what it sends for others in bytes a minute.
WAKU: Final[Mapping[str, Sequence[object]]] = {**DIFFERING, "bloom.layout": ("auto", "compact", "waku")}


def draw(random: Random, differing: Mapping[str, Sequence[object]] = DIFFERING) -> list[str]:
    return [
        f"{name}={values[0] if random.random() < 0.5 else random.choice(values[1:])}"
        for name, values in differing.items()
    ]
