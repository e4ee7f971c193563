"""All bounds of Timber, by name. Overflow hurts the peer that causes it, never the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

KIB = 1024
MIB = 1024 * KIB

# Packets (checked by the decoder before anything changes).
HASH_BYTES = 32
KEY_BYTES = 32
SIGNATURE_BYTES = 64
MAX_TEXT_BYTES = 64 * KIB
MAX_OPERATION_BYTES = 96 * KIB
MAX_PACKET_BYTES = 1 * MIB
MAX_SLOTS = 4096  # entries of a clock
MAX_OPERATIONS = 2048  # of one packet
MAX_EVENTS = 512  # of one packet
MAX_HASHES = 8192
MAX_NUMBER = 2**53 - 1  # sequence numbers and times: what every language can count to
MAX_TURN = 2**31  # of a state: there are as many more until a packet has no room for the number

# Packets that are made. A transport takes larger ones than these alone, with the rest of a packet.
SEND_AT_ONCE = 512  # operations or events
SEND_BYTES = 160 * KIB
PAGE_BYTES = 128 * KIB

# State.
WAITING_PER_PEER = 4096  # operations that wait for others
WAITING_BYTES_PER_PEER = 4 * MIB
INBOX_PER_AUTHOR = 1024  # events of others that are to be written here
STATE_BYTES = 256 * MIB  # of a state that is being taken over: beyond, a program has no memory for its posts
MAX_PAGES = STATE_BYTES // PAGE_BYTES  # of a state
MISSING_REMEMBERED = 1024  # operations that others named and that are not held
TOUCHED_REMEMBERED = 4096  # events with news of their delivery; more are told as all
REFUSALS_A_MINUTE = 20  # reports of refusals; further ones are counted
MAX_INVITATIONS = 64  # in front of the checkpoint; further ones wait with their author


class _Encoded(Protocol):
    @property
    def raw(self) -> bytes: ...


_One = TypeVar("_One", bound=_Encoded)


def in_packets(items: Iterable[_One]) -> Iterator[tuple[_One, ...]]:
    """Yield operations or events, in their order, as many at a time as one packet takes."""
    some: list[_One] = []
    size = 0
    for one in items:
        size += len(one.raw)
        if some and (len(some) == SEND_AT_ONCE or size > SEND_BYTES):
            yield tuple(some)
            some, size = [], len(one.raw)
        some.append(one)
    if some:
        yield tuple(some)
