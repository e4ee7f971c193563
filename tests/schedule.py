"""The order of the tests, and the process of each, where there are several: `pytest -n 3`.

Tests of one file stay together, as they share what is made for them. Two kinds do not follow that rule. One process
runs all tests on Spark, because each process would start a Java of its own. Each attack is handed out alone. What takes
longest begins first, or one process would still work on it when the others have nothing left.
"""

from __future__ import annotations

from collections import Counter

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/pipeline/",)
APART = ("tests/attacks/test_attacks.py",)
FIRST = (
    *TOGETHER,
    "tests/sim/test_seeds.py",
    "tests/attacks/",
    "tests/sim_history/",
    "tests/sim/",
    "tests/cli/test_private.py",
    "tests/tui/theatre/",
)


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class Schedule(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out tests by folder, by file or one by one, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = _file_of(nodeid)
        if file in APART:
            return nodeid
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests that take longest at the beginning. Of the others, files with many tests come first."""
    sizes = Counter(_file_of(item.nodeid) for item in items)

    def place(item: pytest.Item) -> tuple[int, int]:
        file = _file_of(item.nodeid)
        named = next((at for at, start in enumerate(FIRST) if file.startswith(start)), len(FIRST))
        return named, -sizes[file]

    items.sort(key=place)
