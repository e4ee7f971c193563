"""Tools for planting defects: one place of the real engine changed, for as long as a context lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Defect = Callable[[], AbstractContextManager[None]]
DEFECTS: dict[str, Defect] = {}


def defect(function: Callable[[], Iterator[None]]) -> Defect:
    made = contextmanager(function)
    DEFECTS[function.__name__] = made
    return made


@contextmanager
def instead(old: Any, new: Any) -> Iterator[None]:
    """`new` wherever an engine module knows `old` by its name."""
    name = old.__name__
    places = [
        module
        for path, module in sorted(sys.modules.items())
        if path.startswith("sdschat.sds") and vars(module).get(name) is old
    ]
    assert places, f"nobody uses {name}"
    for module in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module in places:
            setattr(module, name, old)


@contextmanager
def method(owner: type, name: str, new: Any) -> Iterator[None]:
    old = vars(owner)[name]
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)
