"""The logs in a database, and how they stand, as batches; the same rows as `databases.log_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import islice
from operator import xor
from typing import Any, Final, NamedTuple

import pyarrow

from sdschat.pipeline.schemas import Declared, Message, Node
from sdschat.pipeline.sources.batch import Batch, batch_of, in_batches
from sdschat.pipeline.sources.columnar import Columnar, Logged
from sdschat.pipeline.sources.databases import UNREADABLE, Reading, message_row
from sdschat.pipeline.sources.packets import opened
from sdschat.sds.values import Refusal
from sdschat.store.columns import dump_ids
from sdschat.store.evidence import Found
from sdschat.store.journal import fingerprint_step, fingerprint_text

_REMEMBERED: Final = 200_000
_FROM_PACKETS: Final = (
    "deps", "digest", "bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes",
)  # fmt: skip


class Known(NamedTuple):
    """Everything in the lake that follows from a packet alone."""

    message_id: str
    lamport: int
    sender: str
    dependencies: str  # JSON
    deps: tuple[str, ...]
    text: str | None
    digest: str
    bytes: int
    content_bytes: int
    filter_bytes: int
    history_bytes: int
    request_bytes: int
    fingerprint: int


class Packets:
    """Most nodes hold the same packets, so each is taken apart once. No packet is forgotten for another one: whoever
    reads more of them than there is room for, from one database after the other, would never find one again."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    @property
    def full(self) -> bool:
        return len(self._known) >= _REMEMBERED

    def known(self, packets: Sequence[bytes]) -> list[Known] | None:
        """Of each; nothing where one of them is no packet."""
        found = list(map(self._known.get, packets))
        for at, raw in enumerate(packets) if None in found else ():
            if found[at] is None:
                found[at] = known = _known(raw)
                if known is None:
                    return None
                if not self.full:
                    self._known[raw] = known
        return [known for known in found if known is not None]


def _known(raw: bytes) -> Known | None:
    packet = opened(raw)
    message = packet.message
    if isinstance(message, Refusal) or message.lamport_timestamp is None:
        return None
    deps = tuple(entry.message_id for entry in message.causal_history)
    place = (message.message_id, message.lamport_timestamp)
    fingerprint = fingerprint_step(0, place[1], place[0])
    sizes = (len(raw), *packet.parts)
    return Known(*place, message.sender_id, dump_ids(deps), deps, packet.text, packet.digest, *sizes, fingerprint)


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
    """One log, and what was seen of it on the way."""

    def __init__(self, reading: Reading, evidence: Columnar, node: str, channel: str, number: int, as_of: int) -> None:
        self._reading = reading
        self._evidence = evidence
        self._number = number
        self._common: dict[str, Any] = {
            "run_id": reading.run_id, "node": node, "channel": channel, "as_of": as_of, "read_ms": reading.read_ms,
        }  # fmt: skip
        self._nick: str | None = None
        self._count = 0
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
        taken_apart = packets.known(log.raw)
        if taken_apart is None:
            return None
        known = dict(zip(Known._fields, zip(*taken_apart, strict=True), strict=True))
        if not _agree(log, known):
            return None
        batch = batch_of(
            Message, len(log.ids), **self._common, message_id=log.ids, lamport=log.lamports, sender=log.senders,
            own=pyarrow.array(log.own, pyarrow.int8()).cast(pyarrow.bool_()), via=log.via, received_ms=log.received,
            nick=log.nicks, text=log.texts, sent_ms=log.sent, state=log.states, raw=log.raw, gone=False,
            **{name: known[name] for name in _FROM_PACKETS},
        )  # fmt: skip
        self._count += len(log.ids)
        self._fingerprint = reduce(xor, known["fingerprint"], self._fingerprint)
        if any(log.own):
            mine = [nick for own, nick in zip(log.own, log.nicks, strict=True) if own and nick]
            self._nick = mine[-1] if mine else self._nick
        return batch

    def _row(self, found: Found) -> Message:
        if found.own and found.nick:
            self._nick = found.nick
        common = self._common
        return message_row(self._reading, common["node"], common["channel"], found, common["as_of"])

    def standing(self) -> Batch:
        horizon, claimed, fingerprint = self._evidence.claims(self._number)
        counted = (self._count, fingerprint_text(self._fingerprint))
        if self._odd:
            there = next(each for each in self._evidence.standings() if each.number == self._number)
            counted = (there.counted, there.counted_fingerprint)
        return batch_of(
            Node, 1, **self._common, nick=[self._nick], horizon=horizon, claimed=claimed,
            claimed_fingerprint=fingerprint_text(fingerprint), counted=counted[0], counted_fingerprint=counted[1],
            source=str(self._reading.path),
        )  # fmt: skip


def _agree(log: Logged, known: dict[str, Any]) -> bool:
    """Whether the rows say what their packets say."""
    ours = (log.ids, log.lamports, log.senders, log.dependencies)
    if ours != (known["message_id"], known["lamport"], known["sender"], known["dependencies"]):
        return False
    if log.texts.count(None) == len(log.texts):
        return True
    both = zip(log.texts, known["text"], strict=True)
    return all(ours is None or theirs is None or ours == theirs for ours, theirs in both)
