"""Several readings of one database in a lake: what a node has is what the latest of them says."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from sdschat.audit.schemas import Message, Node
from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from tests.audit.worlds import message, node, taken
from tests.lake.bronze import bronze
from tests.needs import needs_module

needs_module("duckdb")
needs_module("pyarrow")

_HELD = """
SELECT p.node, v.message_id, c.lamport, c.received_ms, c.own, c.damage
FROM copy AS c JOIN member_of AS p USING (member) JOIN version AS v ON v.version = c.version
"""
_READINGS = 4


@pytest.mark.parametrize("seed", range(8))
def test_a_copy_is_what_the_latest_reading_says(tmp_path: Path, seed: int) -> None:
    """A reading may say what the first one said, or that the message is gone."""
    drawn = Random(seed)
    rows: list[Message | Node] = []
    latest: dict[tuple[str, str], Message] = {}
    for reading in range(1, _READINGS + 1):
        for name in ("ann", "bob"):
            rows.append(node(name, as_of=reading, read_ms=reading))
            for number in range(30):
                if drawn.random() < 0.5:
                    continue
                row = message(name, f"m{number}", 1_000 + number, as_of=reading, read_ms=reading)
                if drawn.random() < 0.3:
                    changed: dict[str, Any] = {
                        "damage": "altered",
                        "received_ms": 7,
                        "lamport": 9,
                        "own": not row.own,
                        "gone": True,
                    }
                    row = row._replace(**{key: changed[key] for key in drawn.sample(sorted(changed), 1)})
                rows.append(row)
                latest[name, row.message_id] = row
    held = [row for row in latest.values() if not row.gone]
    wanted = [(row.node, row.message_id, row.lamport, row.received_ms, int(row.own), row.damage) for row in held]
    with open_duck(bronze(tmp_path, taken(*rows))) as lake:
        judge.refine(lake)
        assert sorted(lake.rows(_HELD), key=repr) == sorted(wanted, key=repr)
