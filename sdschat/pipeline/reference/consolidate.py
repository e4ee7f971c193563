"""From silver to the canonical log of each channel."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sdschat.pipeline.reference.conform import Channel
from sdschat.pipeline.reference.witness import Held, holdings
from sdschat.pipeline.schemas import Copy, Log
from sdschat.pipeline.sources.taken_apart import Version


def consolidate(copies: Iterable[Copy]) -> list[Log]:
    """Return the canonical logs: every message once, in the order of (Lamport, bytes of the id)."""
    held: dict[Channel, list[Held]] = defaultdict(list)
    for member, each in holdings(copies).items():
        held[member[:2]].append(each)
    return canonical(held)


def canonical(held: Mapping[Channel, Sequence[Held]]) -> list[Log]:
    return [row for channel in sorted(held) for row in _channel(channel, held[channel])]


def _channel(channel: Channel, held: Sequence[Held]) -> Iterator[Log]:
    versions = agreed_on(held)
    copies: Counter[str] = Counter()
    for each in held:
        copies.update(each.versions.keys())
    first, last = _span(held)
    running = 0
    in_order = sorted(versions, key=lambda name: (versions[name].lamport, name))
    for position, name in enumerate(in_order, 1):
        version = versions[name]
        running ^= place_hash(version.lamport, name)
        yield Log(
            *channel,
            position,
            version.lamport,
            name,
            version.sender,
            version.deps,
            version.digest,
            f"{running:032x}",
            copies[name],
            first[name],
            last[name],
        )


def agreed_on(held: Sequence[Held]) -> dict[str, Version]:
    """Return the version of each message that counts. Nearly always there is only one."""
    found: dict[str, Version] = {}
    several: set[str] = set()
    for each in held:
        for name, version in each.versions.items():
            known = found.setdefault(name, version)
            if known is not version and known != version:
                several.add(name)
    for name in several:
        found[name] = _preferred(name, held)
    return found


def _preferred(name: str, held: Sequence[Held]) -> Version:
    """Return the version that most nodes have, among sound copies with a known content."""
    counts: Counter[tuple[bool, bool, Version]] = Counter()
    for each in held:
        version = each.versions.get(name)
        if version is not None:
            counts[name in each.damage, version.digest == "", version] += 1
    return min(counts, key=lambda each: (each[0], each[1], -counts[each], each[2]))[2]


def _span(held: Iterable[Held]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the times at which the first and the last node received each message."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for each in held:
        for name, at in each.received.items():
            if at < first.setdefault(name, at):
                first[name] = at
            if at > last.setdefault(name, at):
                last[name] = at
    return first, last


def place_hash(lamport: int, message_id: str) -> int:
    """Return the first 128 bits of SHA-256 over `lamport:id`."""
    return int(hashlib.sha256(f"{lamport}:{message_id}".encode()).hexdigest()[:32], 16)
