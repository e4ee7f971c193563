"""The outcome of each mutation, a line each, so that a run can go on where it stopped."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.mutation.draw import Mutation
from tests.mutation.trial import Outcome


class Record:
    """The outcomes of one run. Raises OSError if the file cannot be read or written."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.outcomes: dict[str, Outcome] = {}
        if resume and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.outcomes[row["name"]] = Outcome(row["result"], row["by"], row["seconds"])
        else:
            path.write_text("")

    def add(self, mutation: Mutation, source: bytes, outcome: Outcome) -> None:
        row = {"name": name_of(mutation, source), "at": f"{mutation.path}:{mutation.line}", **outcome._asdict()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.outcomes[row["name"]] = outcome


def name_of(mutation: Mutation, source: bytes) -> str:
    """A name for this mutation of this text: an outcome holds as long as the file is the same."""
    return hashlib.sha256(mutation.path.encode() + b"\0" + mutation.of(source)).hexdigest()[:32]
