"""Questions to Store nodes and their answers to bytes and back.

Decoding is total and strict: a packet with a value out of bounds is refused as a whole, with a reason.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError, Message

from sdschat.sds.limits import KIB, MAX_HINT_BYTES, MAX_ID_BYTES, MAX_LAMPORT, MAX_SENDER_BYTES, MAX_UNKNOWN_BYTES
from sdschat.sds.values import Reason, Refusal
from sdschat.wire import store_pb2 as pb
from sdschat.wire.names import has_control, longer_than

MAX_WANTED: Final = 256  # messages in one question
MAX_ITEMS: Final = 1024  # messages in one answer
MAX_QUERY_BYTES: Final = 64 * KIB
MAX_ANSWER_BYTES: Final = 1024 * KIB
QUERY_ID_BYTES: Final = 8
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_MAX_REFUSED_BYTES: Final = 32


class Sealed(NamedTuple):
    """Bytes with their signature and its key. Nothing here is verified."""

    author_key: bytes
    signature: bytes
    body: bytes


class StoreKey(NamedTuple):
    """A position in a log."""

    lamport: int
    message_id: str


class WantedMessage(NamedTuple):
    """One message, by its id, by the hint that a Store gave for it, or by both. One of them may be empty."""

    message_id: str
    hint: bytes = b""


class Range(NamedTuple):
    """A page of the log between two Lamport timestamps, both included."""

    low: int
    high: int
    after: StoreKey | None = None
    newest_first: bool = False
    limit: int = MAX_ITEMS


class StoreQuery(NamedTuple):
    query_id: bytes
    store: str
    sent_time: int
    wanted: tuple[WantedMessage, ...] = ()
    range: Range | None = None
    confirm: bool = False


class Item(NamedTuple):
    """One message of an answer. A page leaves out the id, which the packet has; a confirmation, the packet."""

    message_id: str
    packet: bytes = b""
    hint: bytes = b""


class StoreAnswer(NamedTuple):
    query_id: bytes
    items: tuple[Item, ...] = ()
    unknown: tuple[str, ...] = ()
    more: bool = False
    floor: int = 0
    refused: str = ""
    last: StoreKey | None = None


def encode_sealed(sealed: Sealed) -> bytes:
    return pb.Sealed(author_key=sealed.author_key, signature=sealed.signature, body=sealed.body).SerializeToString()


def decode_sealed(packet: bytes, limit: int = MAX_ANSWER_BYTES) -> Sealed | Refusal:
    if len(packet) > limit:
        return Refusal(Reason.TOO_LARGE, f"{len(packet)} bytes; {limit} are allowed")
    parsed = pb.Sealed()
    if (refusal := _parse(parsed, packet)) is not None:
        return refusal
    if len(parsed.author_key) != _KEY_BYTES or len(parsed.signature) != _SIGNATURE_BYTES:
        return Refusal(Reason.FIELD_MISSING, "there is no whole key and signature")
    return Sealed(parsed.author_key, parsed.signature, parsed.body)


def encode_query(query: StoreQuery) -> bytes:
    made = pb.Query(
        query_id=query.query_id,
        store=query.store,
        sent_time=query.sent_time,
        confirm=query.confirm,
        wanted=[pb.Wanted(message_id=one.message_id, hint=one.hint) for one in query.wanted],
    )
    if query.range is not None:
        low, high, after, newest_first, limit = query.range
        made.range.CopyFrom(pb.Range(low=low, high=high, after=_pb_key(after), newest_first=newest_first, limit=limit))
    return made.SerializeToString()


def decode_query(body: bytes) -> StoreQuery | Refusal:
    if len(body) > MAX_QUERY_BYTES:
        return Refusal(Reason.TOO_LARGE, f"{len(body)} bytes; {MAX_QUERY_BYTES} are allowed")
    parsed = pb.Query()
    if (refusal := _parse(parsed, body)) is not None:
        return refusal
    if len(parsed.query_id) != QUERY_ID_BYTES:
        return Refusal(Reason.FIELD_MISSING, "the question has no id")
    if bool(parsed.wanted) == parsed.HasField("range"):
        return Refusal(Reason.FIELD_MISSING, "it asks for messages or for a range, one of the two")
    if len(parsed.wanted) > MAX_WANTED:
        return Refusal(Reason.TOO_MANY_ENTRIES, f"{len(parsed.wanted)} messages")
    if (refusal := _bad_name("store", parsed.store, MAX_SENDER_BYTES)) is not None:
        return refusal
    for one in parsed.wanted:
        if not one.message_id and not one.hint:
            return Refusal(Reason.FIELD_MISSING, "neither an id nor a hint")
        if (refusal := _bad_name("message_id", one.message_id, MAX_ID_BYTES)) is not None:
            return refusal
        if len(one.hint) > MAX_HINT_BYTES:
            return Refusal(Reason.FIELD_TOO_LONG, "hint")
    wanted = tuple(WantedMessage(one.message_id, one.hint) for one in parsed.wanted)
    asked = _range(parsed.range) if parsed.HasField("range") else None
    if isinstance(asked, Refusal):
        return asked
    return StoreQuery(parsed.query_id, parsed.store, parsed.sent_time, wanted, asked, parsed.confirm)


def _range(parsed: pb.Range) -> Range | Refusal:
    if max(parsed.low, parsed.high) > MAX_LAMPORT:
        return Refusal(Reason.CLOCK_TOO_LARGE, "of the range")
    if parsed.low > parsed.high:
        return Refusal(Reason.FIELD_MISSING, "the range ends before it begins")
    after = _key(parsed.after) if parsed.HasField("after") else None
    if isinstance(after, Refusal):
        return after
    limit = min(parsed.limit, MAX_ITEMS) or MAX_ITEMS
    return Range(parsed.low, parsed.high, after, parsed.newest_first, limit)


def _pb_key(key: StoreKey | None) -> pb.Key | None:
    return None if key is None else pb.Key(lamport=key.lamport, message_id=key.message_id)


def _key(parsed: pb.Key) -> StoreKey | Refusal:
    if parsed.lamport > MAX_LAMPORT:
        return Refusal(Reason.CLOCK_TOO_LARGE, "of a place in the log")
    return _bad_name("message_id", parsed.message_id, MAX_ID_BYTES) or StoreKey(parsed.lamport, parsed.message_id)


def encode_answer(answer: StoreAnswer) -> bytes:
    items = [pb.Item(message_id=one.message_id, packet=one.packet, hint=one.hint) for one in answer.items]
    return pb.Answer(
        query_id=answer.query_id,
        items=items,
        unknown=answer.unknown,
        more=answer.more,
        floor=answer.floor,
        refused=answer.refused,
        last=_pb_key(answer.last),
    ).SerializeToString()


def decode_answer(body: bytes) -> StoreAnswer | Refusal:
    if len(body) > MAX_ANSWER_BYTES:
        return Refusal(Reason.TOO_LARGE, f"{len(body)} bytes; {MAX_ANSWER_BYTES} are allowed")
    parsed = pb.Answer()
    if (refusal := _parse(parsed, body)) is not None:
        return refusal
    if len(parsed.query_id) != QUERY_ID_BYTES:
        return Refusal(Reason.FIELD_MISSING, "the answer names no question")
    if len(parsed.items) > MAX_ITEMS or len(parsed.unknown) > MAX_WANTED:
        return Refusal(Reason.TOO_MANY_ENTRIES, f"{len(parsed.items)} messages, {len(parsed.unknown)} unknown")
    if parsed.floor > MAX_LAMPORT:
        return Refusal(Reason.CLOCK_TOO_LARGE, "floor")
    if (refusal := _bad_name("refused", parsed.refused, _MAX_REFUSED_BYTES)) is not None:
        return refusal
    if not all(parsed.unknown) or not all(one.message_id or one.packet for one in parsed.items):
        return Refusal(Reason.FIELD_MISSING, "message_id")
    for name in (*(one.message_id for one in parsed.items), *parsed.unknown):
        if (refusal := _bad_name("message_id", name, MAX_ID_BYTES)) is not None:
            return refusal
    if any(len(one.hint) > MAX_HINT_BYTES for one in parsed.items):
        return Refusal(Reason.FIELD_TOO_LONG, "hint")
    last = _key(parsed.last) if parsed.HasField("last") else None
    if isinstance(last, Refusal):
        return last
    items = tuple(Item(one.message_id, one.packet, one.hint) for one in parsed.items)
    return StoreAnswer(parsed.query_id, items, tuple(parsed.unknown), parsed.more, parsed.floor, parsed.refused, last)


def _parse(into: Message, packet: bytes) -> Refusal | None:
    """Parse `packet` into `into`, dropping unknown fields. Return a refusal if it cannot be read, or drops too much."""
    try:
        into.ParseFromString(packet)
    except (DecodeError, ValueError, RecursionError):
        return Refusal(Reason.UNREADABLE)
    into.DiscardUnknownFields()
    unknown = len(packet) - into.ByteSize()
    return Refusal(Reason.UNKNOWN_FIELDS, f"{unknown} bytes") if unknown > MAX_UNKNOWN_BYTES else None


def _bad_name(name: str, text: str, limit: int) -> Refusal | None:
    if longer_than(text, limit):
        return Refusal(Reason.FIELD_TOO_LONG, f"{name} has more than {limit} bytes")
    if has_control(text):
        return Refusal(Reason.UNREADABLE, f"{name} holds a control character")
    return None
