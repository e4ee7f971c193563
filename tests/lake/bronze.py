"""A lake in a folder, with rows given by a test, and without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sdschat.audit.schemas import Declared, Journal, Message, Node, columns
from sdschat.audit.taken import Taken
from sdschat.lake.places import PLACES, check_version


def bronze(folder: Path, taken: Taken) -> Path:
    """Make a lake with only these rows."""
    import pyarrow
    from pyarrow import parquet

    from sdschat.pipeline.sources.batch import ARROW

    check_version(folder)
    every: dict[type, Sequence[object]] = {
        Journal: taken.journal,
        Message: taken.messages,
        Node: taken.nodes,
        Declared: taken.declared,
    }
    for table, held in every.items():
        if not held:
            continue
        schema = pyarrow.schema([(name, ARROW[kind]) for name, (kind, _) in columns(table).items()])
        values = {name: [getattr(row, name) for row in held] for name in columns(table)}
        place = folder / PLACES[table]
        place.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.table(values, schema=schema), place / f"part-{len(list(place.iterdir()))}.parquet")
    return folder
