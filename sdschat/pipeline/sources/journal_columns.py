"""The journal of a database as batches: the same rows as `databases.journal_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import pyarrow
import pyarrow.compute

from sdschat.audit.schemas import Journal
from sdschat.audit.sources.columnar import Columnar, Columns
from sdschat.audit.sources.databases import Reading, journal_rows
from sdschat.audit.sources.taken_apart import IdLists
from sdschat.audit.sources.telling import SEQ_MASK, UNREADABLE
from sdschat.pipeline.sources.batch import Batch, batch_of, in_batches
from sdschat.store.journal import VERSION
from sdschat.store.journal_writer import JOURNAL_COLUMNS
from sdschat.store.schema import PLACE_BITS

_NAMES: Final = JOURNAL_COLUMNS.split(", ")
_AS_THEY_ARE: Final = tuple(name for name in _NAMES if name not in ("place", "channel", "deps", "sum"))


def journal_batches(reading: Reading, evidence: Columnar, node: str, lists: IdLists) -> Iterator[Batch]:
    done = 0
    for found in evidence.journal_columns():
        batch = None if found is None else _batch(reading, evidence, node, found, lists)
        if batch is None:
            yield from in_batches(islice(journal_rows(reading, evidence, node), done, None))
            return
        done += batch.size
        yield batch


def _batch(reading: Reading, evidence: Columnar, node: str, found: Columns, lists: IdLists) -> Batch | None:
    with suppress(*UNREADABLE):
        return _columns(reading, evidence, node, found, lists)
    return None


def _columns(reading: Reading, evidence: Columnar, node: str, found: Columns, lists: IdLists) -> Batch:
    values = dict(zip(_NAMES, found, strict=True))
    places = pyarrow.array(values["place"], pyarrow.int64())
    boots, channels = evidence.boots(), evidence.channels()
    numbers = [place >> PLACE_BITS for place in values["place"]]
    whose = _each(numbers, lambda number: boots.get(number, ("", ""))[0] or node)
    boot = _each(numbers, lambda number: boots.get(number, ("", ""))[1])
    return batch_of(
        Journal,
        len(places),
        run_id=reading.run_id,
        v=VERSION,
        node=whose,
        boot=boot,
        seq=pyarrow.compute.bit_wise_and(places, SEQ_MASK),
        channel=_each(values["channel"], lambda number: channels.get(number, "")),
        deps=tuple(map(lists.__getitem__, values["deps"])),
        **{name: values[name] for name in _AS_THEY_ARE},
    )


def _each(numbers: Sequence[Any], name: Any) -> Any:
    """Return the name of each number. There are few different numbers, so each name is looked up once."""
    names = {number: name(number) for number in set(numbers)}
    return next(iter(names.values())) if len(names) == 1 else [names[number] for number in numbers]
