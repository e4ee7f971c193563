"""Packet sizes in bytes: from the production codec and filters, not estimated."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import RangePrint
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.values import HistoryEntry, Message
from sdschat.sim.scenario import START
from sdschat.wire.sds_codec import SdsCodec

_CODEC = SdsCodec()
_CAPACITY, _ERROR = 256, 0.0001


def _id(at: int) -> str:
    return sha256(b"%d" % at).hexdigest()


@lru_cache(maxsize=4096)
def packet_bytes(
    name: str, content: int, held: int, named: int, requested: int, layout: str = "compact", section: str = ""
) -> int:
    """Return the size of a packet. `section`: "print", or "range" with its number of ids, like "range 5"."""
    own = OwnFilter(layout, _CAPACITY, _ERROR, START)
    for at in range(held):
        own.add(_id(at), START)
    packed = own.to_bytes() + _section(section)
    entries = [HistoryEntry(_id(at), None, name) for at in range(named + requested)]
    message_id = _id(-1) if content else "sync-" + _id(-1)[:32]
    message = Message(
        name,
        message_id,
        "lobby",
        START,
        tuple(entries[:named]),
        packed,
        tuple(entries[named:]),
        b"." * content if content else None,
    )
    return len(_CODEC.encode(message))


def _section(section: str) -> bytes:
    if section == "print":
        return compact.encode_print(RangePrint(START, START, 1, 1))
    if section:
        ids = [_id(at) for at in range(int(section.split()[1]))]
        return compact.encode_range(ids, START, START, _ERROR, 1)
    return b""
