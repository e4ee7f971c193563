"""The tests that killed mutations of a file before: most likely they kill the next one too, so they are run first."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MOST: Final = 6  # tests of one file


class Killers:
    """A line for each: the file, a tab, the test. The last ones count most. Wrong lines cost time and nothing else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, None]] = {}
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                mutated, _, test = line.partition("\t")
                self._note(mutated, test)

    def of(self, mutated: str) -> list[str]:
        """Return the tests to run first, the last one that killed before the others."""
        return [*self._known.get(mutated, ())][: -MOST - 1 : -1]

    def add(self, mutated: str, test: str) -> None:
        if "::" in test and test not in self._known.get(mutated, {}):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{mutated}\t{test}\n")
        self._note(mutated, test)

    def _note(self, mutated: str, test: str) -> None:
        if "::" in test:
            known = self._known.setdefault(mutated, {})
            known.pop(test, None)
            known[test] = None
