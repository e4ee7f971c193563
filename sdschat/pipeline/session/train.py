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

    from sdschat.audit.schemas import Message, Node

_NODES: Final = ("ann", "bob")
_AT: Final = 1_750_000_000_000
_IDS: Final = ("first", "second", "third")  # bob does not have the last one


def work(session: SparkSession, folder: Path) -> None:
    """Make a lake, whose verdict is that a message is missing."""
    from sdschat.audit.schemas import FIELD, Message, Node, ddl
    from sdschat.lake import judge
    from sdschat.lake.figures import measure
    from sdschat.lake.report import report_data
    from sdschat.pipeline.ingest import ingest
    from sdschat.pipeline.lake import Lake

    exports = [_export(folder, node) for node in _NODES]
    lake = Lake(session, str(folder / "lake"))
    ingest(lake, exports, FIELD, _AT)
    lake.append(Message, session.createDataFrame([_held(node, at) for node, at in _copies()], ddl(Message)))
    lake.append(Node, session.createDataFrame([_said(node) for node in _NODES], ddl(Node)))
    judge.refine(lake)
    judge.consolidate(lake)
    judge.audit(lake)
    report_data(lake, lake.root, measure(lake, keep=True), _AT)


def _copies() -> list[tuple[str, int]]:
    return [(node, at) for node in _NODES for at in range(len(_IDS)) if (node, at) != (_NODES[1], len(_IDS) - 1)]


def _export(folder: Path, node: str) -> Path:
    """Write the journal of a node in the format of `sdschat log --journal`."""
    from sdschat.store.journal import JournalRow, json_lines

    told = [
        JournalRow(
            event,
            "lobby",
            _AT + at,
            at,
            _IDS[at],
            _NODES[0],
            _AT + at,
            deps=(),
            cause=cause,
            node=node,
            boot=f"boot of {node}",
            seq=seq,
        )
        for seq, (at, event, cause) in enumerate(
            (at, *(("sent", "message") if node == _NODES[0] else ("delivered", "live")))
            for owner, at in _copies()
            if owner == node
        )
    ]
    path = folder / f"{node}.jsonl"
    path.write_text("".join(f"{line}\n" for line in json_lines(told)), encoding="utf-8")
    return path


def _held(node: str, at: int) -> Message:
    from sdschat.audit.schemas import FIELD, Message

    own = node == _NODES[0]
    return Message(
        FIELD,
        node,
        "lobby",
        _IDS[at],
        _AT + at,
        _NODES[0],
        (),
        own,
        "live",
        _AT + at,
        _NODES[0],
        "a text",
        _AT + at,
        "acked" if own else None,
        "d",
        9,
        1,
        1,
        1,
        1,
        b"packet",
        None,
        False,
        1,
        _AT,
    )


def _said(node: str) -> Node:
    from sdschat.audit.schemas import FIELD, Node

    count = sum(owner == node for owner, _ in _copies())
    return Node(FIELD, node, "lobby", 1, _AT, node, 0, count, "", count, "", f"{node}.db")


def main(folder: str) -> None:
    with TemporaryDirectory() as scratch, spark(Where("local[2]", cache=Path(folder))) as session:
        work(session, Path(scratch))


if __name__ == "__main__":
    main(sys.argv[1])
