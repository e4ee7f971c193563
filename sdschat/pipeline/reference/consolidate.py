"""Silver to the canonical log of each channel."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sdschat.pipeline.schemas import Copy, Log


class Version(NamedTuple):
    """What nodes must agree on about a message. Versions compare as they are preferred, all else being equal."""

    lamport: int
    sender: str
    deps: tuple[str, ...]
    digest: str


def version_of(copy: Copy) -> Version:
    return Version(copy.lamport, copy.sender, copy.deps, copy.digest)


def agreed(copies: Iterable[Copy]) -> Version:
    """The version of a message that counts: of sound copies with a known content, that of the most nodes."""
    counts = Counter((copy.damage is not None, copy.digest == "", version_of(copy)) for copy in copies)
    return min(counts, key=lambda each: (each[0], each[1], -counts[each], each[2]))[2]


def consolidate(copies: Iterable[Copy]) -> list[Log]:
    """Every message once, by (Lamport, bytes of the id)."""
    by_message: dict[tuple[str, str, str], list[Copy]] = defaultdict(list)
    for copy in copies:
        by_message[copy.run_id, copy.channel, copy.message_id].append(copy)
    agreed_on = {key: agreed(each) for key, each in by_message.items()}
    log: list[Log] = []
    before: tuple[str, str] | None = None
    position = running = 0
    for key in sorted(agreed_on, key=lambda key: (key[0], key[1], agreed_on[key].lamport, key[2])):
        run_id, channel, message_id = key
        if before != (run_id, channel):
            before, position, running = (run_id, channel), 0, 0
        version, found = agreed_on[key], by_message[key]
        position += 1
        running ^= place_hash(version.lamport, message_id)
        received = [copy.received_ms for copy in found]
        log.append(
            Log(
                run_id, channel, position, version.lamport, message_id, version.sender, version.deps, version.digest,
                f"{running:032x}", len(found), min(received), max(received),
            )
        )  # fmt: skip
    return log


def place_hash(lamport: int, message_id: str) -> int:
    """The first 128 bits of SHA-256 over `lamport:id`."""
    return int(hashlib.sha256(f"{lamport}:{message_id}".encode()).hexdigest()[:32], 16)
