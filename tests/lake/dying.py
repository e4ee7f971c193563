"""Tables whose writer is killed at one of its commits."""

from __future__ import annotations

from typing import Any

from sdschat.lake.tables import Tables


class Killed(Exception):
    pass


class Dying(Tables):
    """The tables of a writer that makes so many more commits."""

    def __init__(self, root: str, lives: int) -> None:
        super().__init__(root)
        self._lives = lives

    def append(self, table: type, rows: Any) -> None:
        if self._lives == 0:
            raise Killed
        self._lives -= 1
        super().append(table, rows)
