"""The logs of a database and their state as batches: the same rows as `databases.read_database`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from itertools import islice
from operator import xor
from typing import Any, Final

import pyarrow

from sdschat.audit.schemas import Declared, Message, Node
from sdschat.audit.sources.columnar import Columnar, Logged, last_nick, mark_of
from sdschat.audit.sources.databases import REMEMBERED, Reading, message_row
from sdschat.audit.sources.taken_apart import Packets
from sdschat.audit.sources.telling import UNREADABLE
from sdschat.lake.sources.batch import Batch, batch_of, in_batches
from sdschat.store.audit_reader import LogRowFound
from sdschat.store.journal import fingerprint_text
from sdschat.wire.protobuf_scan import parts

_SIZES: Final = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")


def measured_packets() -> Packets:
    return Packets(REMEMBERED, lambda raw: (len(raw), *parts(raw)))


def log_batches(reading: Reading, evidence: Columnar, node: str, packets: Packets) -> Iterator[Batch]:
    as_of = evidence.as_of()
    for number, channel in evidence.channels().items():
        log = _Channel(reading, evidence, node, channel, number, as_of)
        yield from log.messages(packets)
        yield log.standing()


def declared_batches(reading: Reading, evidence: Columnar, node: str) -> Iterator[Batch]:
    as_of = evidence.as_of()
    for number, channel in evidence.channels().items():
        told = (
            Declared(reading.run_id, node, channel, each.message_id, each.kind, each.at, as_of, reading.read_ms)
            for each in evidence.declared(number)
        )
        yield from in_batches(told)


class _Channel:
    """One log, with the counts made while it was read."""

    def __init__(self, reading: Reading, evidence: Columnar, node: str, channel: str, number: int, as_of: int) -> None:
        self._reading = reading
        self._evidence = evidence
        self._number = number
        self._common: dict[str, Any] = {
            "run_id": reading.run_id,
            "node": node,
            "channel": channel,
            "as_of": as_of,
            "read_ms": reading.read_ms,
        }
        self._nick: str | None = None
        self._count = self._mark = 0
        self._fingerprint = 0
        self._odd = False

    def messages(self, packets: Packets) -> Iterator[Batch]:
        for found in self._evidence.log_columns(self._number):
            batch = None if found is None else self._batch(found, packets)
            if batch is None:
                self._odd = True
                yield from in_batches(map(self._row, islice(self._evidence.messages(self._number), self._count, None)))
                return
            yield batch

    def _batch(self, log: Logged, packets: Packets) -> Batch | None:
        with suppress(*UNREADABLE):
            return self._columns(log, packets)
        return None

    def _columns(self, log: Logged, packets: Packets) -> Batch | None:
        known = packets.known(log)
        if known is None:
            return None
        _, _, deps, digests = zip(*[each.version for each in known], strict=True)
        sizes = zip(*[each.sizes for each in known], strict=True)
        batch = batch_of(
            Message,
            len(log.ids),
            **self._common,
            message_id=log.ids,
            lamport=log.lamports,
            sender=log.senders,
            deps=deps,
            digest=digests,
            own=pyarrow.array(log.own, pyarrow.int8()).cast(pyarrow.bool_()),
            via=log.via,
            received_ms=log.received,
            nick=log.nicks,
            text=log.texts,
            sent_ms=log.sent,
            state=log.states,
            raw=log.raw,
            gone=False,
            **dict(zip(_SIZES, sizes, strict=True)),
        )
        self._count += len(log.ids)
        self._mark += mark_of(log)
        self._fingerprint = reduce(xor, [each.fingerprint for each in known], self._fingerprint)
        self._nick = last_nick(log) or self._nick
        return batch

    def _row(self, found: LogRowFound) -> Message:
        if found.own and found.nick:
            self._nick = found.nick
        common = self._common
        return message_row(self._reading, common["node"], common["channel"], found, common["as_of"])

    def standing(self) -> Batch:
        horizon, claimed, fingerprint = self._evidence.claims(self._number)
        counted = (self._count, fingerprint_text(self._fingerprint))
        if self._odd or self._evidence.counted(self._number) != self._mark:
            there = next(each for each in self._evidence.standings() if each.number == self._number)
            counted = (there.counted, there.counted_fingerprint)
        return batch_of(
            Node,
            1,
            **self._common,
            nick=[self._nick],
            horizon=horizon,
            claimed=claimed,
            claimed_fingerprint=fingerprint_text(fingerprint),
            counted=counted[0],
            counted_fingerprint=counted[1],
            source=str(self._reading.path),
        )
