"""Mutations without an observable effect, declared with a reason, so that they are not counted.

A line of the file is `path: the line → the line with the mutation ## reason`; other lines without an arrow are notes. A
mutation is known by the text of its line, so that it stays known when the line moves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.mutation.draw import Mutation

FILE: Final = Path(__file__).with_name("equivalent.txt")
_ARROW: Final = " → "
_REASON: Final = "  ## "


def key(mutation: Mutation) -> str:
    return f"{mutation.path}: {mutation.before}{_ARROW}{mutation.after}"


def load(path: Path) -> dict[str, str]:
    """Keys and reasons. Raises ValueError for a line without a reason."""
    found: dict[str, str] = {}
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if _ARROW not in line:
            continue
        name, _, reason = line.partition(_REASON)
        if not reason.strip():
            raise ValueError(
                f"{path.name}, line {at}: no reason. Write it behind the mutation, after `{_REASON.strip()}`"
            )
        found[name.strip()] = reason.strip()
    return found
