"""A training run: all work of the pipeline on very few rows, so that its classes get into the class archive."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from sdschat.pipeline.session.start import spark
from sdschat.pipeline.session.where import Where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NODES: Final = ("ann", "bob")
_AT: Final = 1_750_000_000_000
_IDS: Final = ("first", "second", "third")  # bob does not have the last one


def work(session: SparkSession, folder: Path) -> None:
    """Make a lake, whose verdict is that a message is missing."""
    from sdschat.audit.schemas import FIELD
    from sdschat.lake import judge
    from sdschat.lake.figures import measure, report_data
    from sdschat.lake.ingest import ingest
    from sdschat.pipeline.lake import Lake

    exports = [_export(folder, node) for node in _NODES]
    lake = Lake(session, str(folder / "lake"))
    ingest(lake.tables, exports, FIELD, _AT)
    judge.refine(lake)
    judge.consolidate(lake)
    judge.audit(lake)
    report_data(lake, lake.tables.root, measure(lake, keep=True), _AT)


def _export(folder: Path, node: str) -> Path:
    """Write the journal of a node in the format of `sdschat log --journal`."""
    from sdschat.store.journal import JournalRow, json_lines

    held, sent = (_IDS, [("sent", "message")]) if node == _NODES[0] else (_IDS[:-1], [])
    told = [(at, event, cause) for at in range(len(held)) for event, cause in [*sent, ("delivered", "live")]]
    rows = [
        JournalRow(
            *(event, "lobby", _AT + at, at, _IDS[at], _NODES[0], _AT + at),
            deps=(),
            cause=cause,
            node=node,
            boot=f"boot of {node}",
            seq=seq,
        )
        for seq, (at, event, cause) in enumerate(told)
    ]
    path = folder / f"{node}.jsonl"
    path.write_text("".join(f"{line}\n" for line in json_lines(rows)), encoding="utf-8")
    return path


def main(folder: str) -> None:
    with TemporaryDirectory() as scratch, spark(Where("local[2]", cache=Path(folder))) as session:
        work(session, Path(scratch))


if __name__ == "__main__":
    main(sys.argv[1])
