"""Settings of the nodes of the soak: the same faults for all, and settings drawn for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

FAULTS: Final = ("fault.loss=0.1", "fault.duplicate=0.05", "fault.reorder=0.05", "fault.delay=100ms")
# The first value is drawn as often as all others together.
DIFFERING: Final[Mapping[str, Sequence[object]]] = {
    "history.on_join": ("all", "24h", "none"),
    "bloom.capacity": (256, 16, 64, 1024),
    "bloom.layout": ("auto", "compact"),
    "repair.enabled": ("true", "false"),
}
# One such node makes all others use waku's filters, so that every packet is 18 KB long. Missing messages then come
# slowly, because the engine bounds the bytes a minute that it sends on behalf of others.
WAKU: Final[Mapping[str, Sequence[object]]] = {**DIFFERING, "bloom.layout": ("auto", "compact", "waku")}


def draw(random: Random, differing: Mapping[str, Sequence[object]] = DIFFERING) -> list[str]:
    return [
        f"{name}={values[0] if random.random() < 0.5 else random.choice(values[1:])}"
        for name, values in differing.items()
    ]
