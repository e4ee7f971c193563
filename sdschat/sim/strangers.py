"""Packets that no honest participant would send: of strangers, by the kind that a `flood` names, and malformed ones.

A malformed packet breaks one rule, by the reason for which a decoder refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sdschat.sds import limits
from sdschat.sds.bloom import compact, waku
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Codec, HistoryEntry, Message
from sdschat.sim.node import CHANNEL
from sdschat.sim.scenario import START, Action

if TYPE_CHECKING:
    from sdschat.sim.world import World


_SHAPE: Final = compact.shape_for(256, 0.0001)
CROWD: Final = 4  # strangers of the kinds that come as several
FILTERS: Final = ("full filter", "full waku filter", "shapeless filter", "full range")
CROWDS: Final = ("crowd of orphans", "crowd of the future", "parents of the future", "rings", "asks", "lacks")
_RING: Final = 3  # messages that name each other in turn


def written(world: World, action: Action, count: int) -> Message:
    """Return one message with content."""
    now = START + world.time
    kind = action.point
    what = f"{world.scenario.seed} {action.at} {kind} {count}"
    history: tuple[HistoryEntry, ...] = ()
    sender_id, lamport, channel, content = "z", now + count, CHANNEL, what.encode()
    if kind.startswith("crowd"):
        sender_id = f"z{count % CROWD}"
        content += b"." * (count % 2 * 1_500)
    if kind.endswith("orphans"):
        history = tuple(HistoryEntry(f"nowhere {what} {parent}", None, "z") for parent in range(3))
    elif kind == "parents of the future":  # each child comes before its parent, which is dated too far ahead
        if count % 2 == 0:
            parent = f"{world.scenario.seed} {action.at} {kind} {count + 1}"
            history = (HistoryEntry(f"flood {parent}", None, "z"),)
        else:
            lamport = now + world.scenario.config.max_skew + 10_000
    elif kind == "rings":
        before = count - 1 if count % _RING else count + _RING - 1
        history = (HistoryEntry(f"flood {world.scenario.seed} {action.at} {kind} {before}", None, "z"),)
    elif kind.endswith("future"):
        lamport = now + world.scenario.config.max_skew + 10_000 + count
    elif kind == "parent":
        newest = max(world.oracle.origins, key=lambda key: (world.oracle.origins[key].lamport, key), default=what)
        history = (HistoryEntry(newest, None, None),)
        lamport = now - 1000
    elif kind == "clock":
        lamport = (0, MAX_LAMPORT, 2**64 - 1)[count % 3]
    elif kind == "channel":
        channel = "elsewhere"
    return Message(sender_id, f"flood {what}", channel, lamport, history, None, (), content)


def said(world: World, action: Action, count: int) -> Message | None:
    """Return one sync message; None for a kind that is a message with content."""
    now, kind, number = START + world.time, action.point, 0
    packed = b""
    requests: tuple[HistoryEntry, ...] = ()
    if kind == "asks":
        most, ids = world.scenario.config.max_requests, list(world.oracle.origins)
        number = count % CROWD
        requests = tuple(HistoryEntry(ids[-1 - (count * most + at) % len(ids)]) for at in range(most) if ids)
    elif kind == "lacks":
        number = count % CROWD
        packed = compact.encode_window(0, _SHAPE, _SHAPE.bits >> 3, START - world.scenario.config.max_skew)
    elif kind == "full filter":
        packed = compact.encode_window((1 << _SHAPE.bits) - 1, _SHAPE, _SHAPE.bits, START)
    elif kind == "full waku filter":
        packed = b"\xff" * waku.BYTES
    elif kind == "shapeless filter":
        packed = b"no filter of any kind"
    elif kind == "full range":
        ids = [f"{count} {at}" for at in range(8)]
        one = compact.encode_range(ids, START, now, 0.5, count)
        body = len(compact.body_of(ids, *compact.shape_for(8, 0.5)[:2], count))
        packed = compact.encode_window(0, _SHAPE, _SHAPE.bits >> 3, now) + one[:-body] + b"\xff" * body
    else:
        return None
    return Message(f"z{number}", f"sync {kind} {action.at} {count}", CHANNEL, now + count, (), packed or None, requests)


_LENGTH: Final = 2  # wire type of protobuf: bytes with their length in front


def malformed(reason: str, codec: Codec, max_bytes: int, number: int) -> bytes:
    """Return a packet that is refused for this reason; each number is another packet."""
    return _MAKERS[reason](codec, max_bytes, f"malformed {number}")


def _message(name: str, **changes: object) -> Message:
    fields: dict[str, object] = {
        "sender_id": "z",
        "message_id": name,
        "channel_id": CHANNEL,
        "lamport_timestamp": 1,
        "content": name.encode(),
    }
    return Message(**(fields | changes))  # type: ignore[arg-type]


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def _unreadable(codec: Codec, most: int, name: str) -> bytes:
    return b"\xff" * 5 + name.encode()


def _too_large(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, content=bytes(most)))


def _foreign_dialect(codec: Codec, most: int, name: str) -> bytes:
    """Return a packet with the field numbers of nim-sds: message_id 1, lamport_timestamp 2, channel_id 4."""
    return _field(1, name.encode()) + b"\x10\x05" + _field(4, CHANNEL.encode())


def _field_missing(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, sender_id=""))


def _field_too_long(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, sender_id="z" * (limits.MAX_SENDER_BYTES + 1)))


def _too_many_entries(codec: Codec, most: int, name: str) -> bytes:
    entries = tuple(HistoryEntry(f"{name} {at}") for at in range(limits.MAX_CAUSAL_HISTORY + 1))
    return codec.encode(_message(name, causal_history=entries))


def _duplicate_field(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name)) + _field(2, b"another id")


def _unknown_fields(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name)) + _field(99, bytes(limits.MAX_UNKNOWN_BYTES + 1))


def _no_kind(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, lamport_timestamp=None, content=None))


def _self_reference(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, causal_history=(HistoryEntry(name),)))


_MAKERS: Final[dict[str, Callable[[Codec, int, str], bytes]]] = {
    "unreadable": _unreadable,
    "too_large": _too_large,
    "foreign_dialect": _foreign_dialect,
    "field_missing": _field_missing,
    "field_too_long": _field_too_long,
    "too_many_entries": _too_many_entries,
    "duplicate_field": _duplicate_field,
    "unknown_fields": _unknown_fields,
    "no_kind": _no_kind,
    "self_reference": _self_reference,
    "id_conflict": _unreadable,  # made of a message that its receiver has (`actions.py`)
}
MALFORMED: Final = tuple(_MAKERS)
