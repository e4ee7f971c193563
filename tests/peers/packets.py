"""A synthetic conversation as packets, and files of packets for programs in other languages."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec

WAKU_FILTER_BYTES: Final = 18_752  # 150000 bits in 64-bit words
_START: Final = 1_760_000_000_000
_SENDERS: Final = 8


def conversation(count: int, filter_bytes: int = WAKU_FILTER_BYTES, channel: str = "bench") -> Iterator[Message]:
    """Return messages of 32 bytes, each with the two before it as its causal history, and with an empty filter."""
    senders = [hashlib.sha256(b"%d" % number).hexdigest()[:32] for number in range(_SENDERS)]
    bloom_filter = bytes(filter_bytes)
    history: tuple[HistoryEntry, ...] = ()
    for number in range(count):
        content = f"message {number} of {count}".ljust(32, ".").encode()
        message_id = hashlib.sha256(content).hexdigest()
        sender_id = senders[number % _SENDERS]
        yield Message(sender_id, message_id, channel, _START + number, history, bloom_filter, (), content)
        history = (*history[-1:], HistoryEntry(message_id, None, sender_id))


def encoded(messages: Iterable[Message]) -> Iterator[bytes]:
    codec = SdsCodec()
    return map(codec.encode, messages)


def write_packets(path: Path, packets: Iterable[bytes]) -> None:
    """Write each packet after its length in four bytes, most significant first."""
    with path.open("wb") as file:
        for packet in packets:
            file.write(struct.pack(">I", len(packet)) + packet)
