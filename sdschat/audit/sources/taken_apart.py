"""Caches of the common content of several databases: packets and lists of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Final, NamedTuple

from sdschat.audit.sources.columnar import Logged
from sdschat.audit.sources.databases import NO_SIZES, Sizes, are_ids
from sdschat.audit.sources.packets import CODEC, digest_of
from sdschat.sds.values import Message
from sdschat.store.columns import body_sum, dump_ids, load_ids
from sdschat.store.journal import fingerprint_step
from sdschat.wire.chat_codec import decode_envelope

_LISTS: Final = 100_000


class Version(NamedTuple):
    """The content of a message on which nodes must agree. If all else is equal, a smaller version is preferred."""

    lamport: int
    sender: str
    deps: tuple[str, ...]
    digest: str  # of the content; empty if nobody has the content


class Known(NamedTuple):
    """All values that follow from a packet alone."""

    message_id: str
    lamport: int
    sender: str
    dependencies: str  # JSON
    version: Version
    text: str | None
    sum: int | None  # the expected checksum of the packet
    fingerprint: int
    sizes: Sizes


class Packets:
    """A cache of decoded packets. Most nodes hold the same packets, so each is decoded once.

    A full cache keeps its packets: with replacement, a reader of one database after the other would never find a packet
    again, if a database has more packets than the cache.
    """

    def __init__(self, most: int | None = None, sizes: Callable[[bytes], Sizes] = lambda raw: NO_SIZES) -> None:
        self._known: dict[bytes | None, Known] = {}
        self._most = most
        self._sizes = sizes

    @property
    def full(self) -> bool:
        return self._most is not None and len(self._known) >= self._most

    def known(self, log: Logged) -> list[Known] | None:
        """Return the values of each row. None if a row differs from its packet, or its packet cannot be read."""
        found = list(map(self._known.get, log.raw))
        if None in found:
            for at in compress(range(len(found)), [each is None for each in found]):
                found[at] = self._look(log, at)
        every = [known for known in found if known is not None]
        return every if len(every) == len(found) and _agree(log, every) else None

    def _look(self, log: Logged, at: int) -> Known | None:
        raw = log.raw[at]
        if raw is None:
            return _without_packet(log, at)
        known = self._known.get(raw) or self._opened(raw)  # one batch may hold the packet twice
        if known is not None and not self.full:
            self._known[raw] = known
        return known

    def _opened(self, raw: bytes) -> Known | None:
        message = CODEC.decode(raw)
        if not isinstance(message, Message) or message.lamport_timestamp is None:
            return None
        content = message.content or b""
        envelope = decode_envelope(content)
        deps = tuple([entry.message_id for entry in message.causal_history])
        name, lamport, sender = message.message_id, message.lamport_timestamp, message.sender_id
        return Known(
            name,
            lamport,
            sender,
            dump_ids(deps),
            Version(lamport, sender, deps, digest_of(content)),
            None if envelope is None else envelope.text,
            body_sum(name, raw),
            fingerprint_step(0, lamport, name),
            self._sizes(raw),
        )


def _without_packet(log: Logged, at: int) -> Known | None:
    """Return the values of a row alone: a Store removes old packets."""
    name, lamport, sender, listed = log.ids[at], log.lamports[at], log.senders[at], log.dependencies[at]
    deps = load_ids(listed)
    if not are_ids(deps):
        return None
    version = Version(lamport, sender, deps, "")
    return Known(name, lamport, sender, listed, version, None, None, fingerprint_step(0, lamport, name), NO_SIZES)


def _agree(log: Logged, known: Sequence[Known]) -> bool:
    ids, lamports, senders, dependencies, _, texts, sums, *_ = zip(*known, strict=True)
    if (log.ids, log.lamports, log.senders, log.dependencies, log.sums) != (ids, lamports, senders, dependencies, sums):
        return False
    if log.texts.count(None) == len(log.texts):
        return True
    both = zip(log.texts, texts, strict=True)
    return all(ours is None or theirs is None or ours == theirs for ours, theirs in both)


class IdLists(dict[str | None, tuple[str, ...] | None]):
    """A cache of id lists as stored in a database. Raises ValueError, or JSON's errors, for any other text."""

    def __init__(self) -> None:
        super().__init__({None: None})

    def __missing__(self, listed: str) -> tuple[str, ...]:
        found = load_ids(listed)
        if not are_ids(found):
            raise ValueError("no list of ids")
        if len(self) < _LISTS:
            self[listed] = found
        return found
