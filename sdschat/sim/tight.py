"""Engine limits made small for a while, so that a handful of messages fills a buffer or leaves a window."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


def holders(name: str, package: str = "sdschat.sds") -> list[ModuleType]:
    """Every loaded module that took this constant into its own names."""
    return [module for path, module in sorted(sys.modules.items()) if path.startswith(package) and name in vars(module)]


@contextmanager
def limits(values: tuple[tuple[str, int], ...]) -> Iterator[None]:
    before = [(module, name, getattr(module, name)) for name, _ in values for module in holders(name)]
    try:
        for name, value in values:
            for module in holders(name):
                setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
