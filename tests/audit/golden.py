"""The output of an audit of 60 drawn groups, kept in a file: `python -m tests.audit.golden` writes it anew.

Text and exit code are kept as they are; of the JSON object there is one line for each table, and its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from sdschat.audit.engine import judge as by_views
from sdschat.audit.node_evidence import BronzeRows, conform
from sdschat.audit.verdict import DEFAULT, Audit
from sdschat.cli.audit import exit_code
from sdschat.cli.audit_report import as_object, closer_lines, lines
from tests.audit.worlds import drawn, read_once

SEEDS: Final = range(60)
FILE: Final = Path(__file__).with_name("golden.txt")
FEW: Final = 3  # rows of each list before the others are counted


def answer(taken: BronzeRows) -> Audit:
    """Return the verdict on these rows, by the embedded engine."""
    return by_views(conform(read_once(taken)), DEFAULT)


def group(seed: int, judge: Callable[[BronzeRows], Audit]) -> Iterator[str]:
    """Yield the lines of the file for one group."""
    found = judge(drawn(seed))
    yield f"== group {seed}: exit code {exit_code(found, [])}"
    for name, rows in as_object(found, []).items():
        count = len(rows) if isinstance(rows, list) else rows
        yield f"json {name}: {count}, {digest(rows)}"
    yield from lines(found, None)
    yield "-- few"
    yield from lines(found, FEW)
    sources = {(row.run_id, row.channel, row.node): f"{row.node}.db" for row in found.nodes}
    yield from closer_lines(found, sources, FEW)


def digest(rows: Any) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def written(judge: Callable[[BronzeRows], Audit]) -> str:
    return "\n".join(line for seed in SEEDS for line in group(seed, judge)) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(answer), encoding="utf-8")
