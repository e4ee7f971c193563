"""Visitors: who sits in which place, and the profile folder of each."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.identity.content import problems_with

KEPT: Final = 100  # folders of visitors who are not here; those of the longest absent go
_TOKEN_BYTES: Final = 16


class Visitor(NamedTuple):
    """One open page of a visitor."""

    name: str
    folder: Path  # for its profile: a key and a history of its own


def new_token() -> str:
    """Return the secret by which a browser comes back to its profile."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


class Visitors:
    """At most `places` visitors at a time."""

    def __init__(self, folder: Path, places: int) -> None:
        self._folder = folder
        self._places = places
        self._here: set[str] = set()

    @property
    def is_full(self) -> bool:
        return len(self._here) >= self._places

    @contextmanager
    def seat(self, token: str, name: str) -> Iterator[Visitor | None]:
        """Give the visitor a place until the block ends; None if all are taken. A second page of one browser is a
        participant of its own."""
        if self.is_full:
            yield None
            return
        owner = blake2b(token.encode(), digest_size=8).hexdigest()
        number = next(number for number in range(1, self._places + 1) if f"{owner}-{number}" not in self._here)
        place = f"{owner}-{number}"
        self._here.add(place)
        try:
            folder = self._folder / place
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.touch()
            self._forget()
            wanted = f"guest-{owner[:4]}" if not name or problems_with("", name) else name
            yield Visitor(wanted if number == 1 else f"{wanted}-{number}", folder)
        finally:
            self._here.discard(place)

    def _forget(self) -> None:
        away = [each for each in self._folder.iterdir() if each.name not in self._here]
        for folder in sorted(away, key=lambda each: each.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
