"""The extensions of sdschat to the payloads of 2/MVDS, to values and back.

Decoding is total: any bytes give values or a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, islice
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.catchup import values
from sdschat.catchup.values import (
    AnswerFrame,
    Ask,
    Declined,
    Frame,
    HistoryPage,
    IdOnly,
    LogKey,
    Nudge,
    Question,
    QuestionKind,
    RangePart,
    RangeReply,
    RefusedFrame,
    Stretch,
    Want,
)
from sdschat.mvds.limits import MAX_PACKET_BYTES
from sdschat.mvds.values import Payload, Refusal
from sdschat.wire import catchup_pb2 as pb
from sdschat.wire.mvds_codec import MvdsCodec
from sdschat.wire.names import has_control, longer_than

DIRECT: Final = 0  # the lane of direct messages: plain MVDS
PAGES: Final = 1  # the lane of history pages
MAX_FRAME_BYTES: Final = 512 * 1024
MAX_PAGE_PACKETS: Final = 1024
_MAX_WHY_BYTES: Final = 64
_ID_BYTES: Final = 32  # of a SHA-256
_KINDS: Final = frozenset(QuestionKind)


class _Bad(ValueError):
    """A frame or page that cannot be taken; the text says why."""


def encode_frame(frame: Frame) -> bytes:
    made = pb.Frame(session=frame.session, number=frame.number)
    match frame.what:
        case Ask() as ask:
            made.ask.CopyFrom(_encode_ask(ask))
        case AnswerFrame(replies):
            made.answer.CopyFrom(pb.Answer(replies=[_encode_reply(reply) for reply in replies]))
        case Want() as want:
            made.want.CopyFrom(_encode_want(want))
        case Declined(why):
            made.declined.why = why
            made.declined.SetInParent()
        case Nudge(lacking):
            made.nudge.lacking = lacking
            made.nudge.SetInParent()
    return pb.Extension(frame=made).SerializeToString()


def lane_mark(lane: int) -> bytes:
    """Return bytes to append to a payload: concatenated protobuf messages are one message with the fields of both."""
    return pb.Extension(lane=lane).SerializeToString()


def decode_extension(packet: bytes) -> Frame | int | RefusedFrame:
    """Return the frame in a payload, or, if it has none, the lane of its records."""
    parsed = pb.Extension()
    try:
        parsed.ParseFromString(packet)
        if not parsed.HasField("frame"):
            return parsed.lane
        if len(packet) > MAX_FRAME_BYTES:
            return RefusedFrame(f"a frame of {len(packet)} bytes")
        return _frame(parsed.frame)
    except _Bad as error:
        return RefusedFrame(str(error))
    except (DecodeError, ValueError, RecursionError):
        return RefusedFrame("unreadable")


def encode_page(page: HistoryPage) -> bytes:
    made = pb.Page(session=page.session, want=page.want, number=page.number, packets=page.packets, last=page.last)
    senders: dict[str, int] = {}
    before = 0
    for (lamport, _), sender_id in page.ids:
        made.id_lamports.append(lamport - before)
        made.id_sender_at.append(senders.setdefault(sender_id, len(senders)))
        before = lamport
    made.ids = b"".join(bytes.fromhex(key.message_id) for key, _ in page.ids)
    made.id_senders.extend(senders)
    return made.SerializeToString()


def decode_page(body: bytes) -> HistoryPage | RefusedFrame:
    parsed = pb.Page()
    try:
        parsed.ParseFromString(body)
        if len(parsed.packets) > MAX_PAGE_PACKETS:
            raise _Bad(f"{len(parsed.packets)} packets")
        ids = _ids(parsed)
    except _Bad as error:
        return RefusedFrame(str(error))
    except (DecodeError, ValueError, RecursionError):
        return RefusedFrame("unreadable")
    return HistoryPage(parsed.session, parsed.want, parsed.number, tuple(parsed.packets), parsed.last, ids)


def _ids(parsed: pb.Page) -> tuple[IdOnly, ...]:
    count, senders = len(parsed.id_lamports), list(parsed.id_senders)
    if count > MAX_PAGE_PACKETS or len(parsed.ids) != count * _ID_BYTES or len(parsed.id_sender_at) != count:
        raise _Bad(f"{count} ids with {len(parsed.ids)} bytes")
    bad = (not one or longer_than(one, values.MAX_ID_BYTES) or has_control(one) for one in senders)
    if len(senders) > count or any(bad):
        raise _Bad("senders of ids that are none")
    if any(at >= len(senders) for at in parsed.id_sender_at):
        raise _Bad("an id without a sender")
    found: list[IdOnly] = []
    for at, lamport in enumerate(accumulate(parsed.id_lamports)):
        if not 0 <= lamport <= values.MAX_LAMPORT:
            raise _Bad("a time out of bounds")
        key = LogKey(lamport, parsed.ids[at * _ID_BYTES : (at + 1) * _ID_BYTES].hex())
        found.append(IdOnly(key, senders[parsed.id_sender_at[at]]))
    return tuple(found)


def _frame(parsed: pb.Frame) -> Frame:
    what: Ask | AnswerFrame | Want | Declined | Nudge
    match parsed.WhichOneof("what"):
        case "ask":
            what = _ask(parsed.session, parsed.ask)
        case "answer":
            if len(parsed.answer.replies) > values.QUESTIONS:
                raise _Bad(f"{len(parsed.answer.replies)} replies")
            what = AnswerFrame(tuple(_reply(reply) for reply in parsed.answer.replies))
        case "want":
            what = _want(parsed.want)
        case "declined":
            if longer_than(parsed.declined.why, _MAX_WHY_BYTES):
                raise _Bad("a long reason")
            what = Declined(parsed.declined.why)
        case "nudge":
            what = Nudge(parsed.nudge.lacking)
        case _:
            raise _Bad("a frame with nothing in it")
    return Frame(parsed.session, parsed.number, what)


def _encode_ask(ask: Ask) -> pb.Ask:
    questions = ask.questions
    made = pb.Ask(kinds=[one.kind for one in questions], numbers=[one.number for one in questions])
    made.messages = ask.messages
    made.bounds.CopyFrom(_encode_bounds([bound for one in questions for bound in (one.low, one.high)]))
    if len(questions) == 1:  # only the first question of a comparison, alone in its frame, has one
        made.fingerprint = questions[0].fingerprint
    return made


def _ask(session: int, parsed: pb.Ask) -> Ask:
    count = len(parsed.kinds)
    if not 1 <= count <= values.QUESTIONS or len(parsed.numbers) != count:
        raise _Bad(f"{count} questions")
    if not _KINDS.issuperset(parsed.kinds):
        raise _Bad("a question of an unknown kind")
    if parsed.fingerprint and (count != 1 or len(parsed.fingerprint) != values.FINGERPRINT_BYTES):
        raise _Bad("a fingerprint of another length")
    bounds = _bounds(parsed.bounds, 2 * count)
    lows, highs = bounds[::2], bounds[1::2]
    if any(low >= high for low, high in zip(lows, highs, strict=True)):
        raise _Bad("a stretch that ends before it begins")
    columns = zip(parsed.kinds, lows, highs, parsed.numbers, strict=True)
    questions = [
        Question(QuestionKind(kind), low, high, number, parsed.fingerprint) for kind, low, high, number in columns
    ]
    return Ask(session, tuple(questions), parsed.messages)


def _encode_reply(reply: RangeReply) -> pb.Reply:
    made = pb.Reply(equal=reply.equal, listed=reply.listed, cells=_pack(reply.cells))
    if reply.parts:
        made.messages.extend(part.messages for part in reply.parts)
        made.fingerprints = b"".join(part.fingerprint for part in reply.parts)
        made.bounds.CopyFrom(_encode_bounds([part.high for part in reply.parts]))
    elif reply.keys:
        made.bounds.CopyFrom(_encode_bounds(reply.keys))
    return made


def _reply(parsed: pb.Reply) -> RangeReply:
    count, size = len(parsed.messages), values.FINGERPRINT_BYTES
    cells = tuple(_unpack(parsed.cells, values.CELLS_IN_ALL))
    if not count:
        keys = tuple(_bounds(parsed.bounds, len(parsed.bounds.lamports)))
        if len(keys) > values.KEYS:
            raise _Bad(f"{len(keys)} keys")
        return RangeReply((), cells, parsed.listed, keys, parsed.equal)
    if count > values.PARTS or len(parsed.fingerprints) != count * size:
        raise _Bad(f"{count} parts with {len(parsed.fingerprints)} bytes of fingerprints")
    ends = _bounds(parsed.bounds, count)
    prints = (parsed.fingerprints[at : at + size] for at in range(0, count * size, size))
    parts = tuple(RangePart(*columns) for columns in zip(ends, parsed.messages, prints, strict=True))
    return RangeReply(parts, cells, parsed.listed, (), parsed.equal)


def _encode_want(want: Want) -> pb.Want:
    made = pb.Want(newest_first=want.newest_first, limit=want.limit)
    made.bounds.CopyFrom(_encode_bounds([bound for one in want.stretches for bound in (one.low, one.high)]))
    made.numbers.extend(len(one.shorts) for one in want.stretches)
    made.shorts = _pack([short for one in want.stretches for short in one.shorts])
    made.sole.extend(at for at, one in enumerate(want.stretches) if one.sole)
    return made


def _want(parsed: pb.Want) -> Want:
    count = len(parsed.numbers)
    shorts = iter(_unpack(parsed.shorts, values.SHORTS))
    if count > values.STRETCHES or sum(parsed.numbers) * values.SHORT_BYTES != len(parsed.shorts):
        raise _Bad(f"{count} stretches with {len(parsed.shorts)} bytes of short ids")
    bounds = _bounds(parsed.bounds, 2 * count)
    sole = set(parsed.sole)
    columns = zip(range(count), bounds[::2], bounds[1::2], parsed.numbers, strict=True)
    found = tuple(Stretch(low, high, tuple(islice(shorts, number)), at in sole) for at, low, high, number in columns)
    if any(one.low >= one.high for one in found):
        raise _Bad("a stretch that ends before it begins")
    if len(parsed.sole) > count or any(one.sole and len(one.shorts) != 1 for one in found):
        raise _Bad("a difference of fingerprints that is not alone")
    return Want(found, parsed.limit, parsed.newest_first)


def _encode_bounds(bounds: Iterable[LogKey]) -> pb.Bounds:
    made = pb.Bounds()
    before = 0
    for at, (lamport, message_id) in enumerate(bounds):
        made.lamports.append(lamport - before)
        before = lamport
        if message_id:
            made.positions.append(at)
            made.ids.append(message_id)
    return made


def _bounds(parsed: pb.Bounds, count: int) -> list[LogKey]:
    if len(parsed.lamports) != count or len(parsed.positions) != len(parsed.ids) or len(parsed.ids) > count:
        raise _Bad(f"{len(parsed.lamports)} bounds where {count} are expected")
    found = [LogKey(lamport, "") for lamport in accumulate(parsed.lamports)]
    if any(not 0 <= bound.lamport <= values.MAX_LAMPORT for bound in found):
        raise _Bad("a time out of bounds")
    for at, message_id in zip(parsed.positions, parsed.ids, strict=True):
        if at >= count or longer_than(message_id, values.MAX_ID_BYTES + 1):
            raise _Bad("an id that belongs to nothing, or is too long")
        found[at] = LogKey(found[at].lamport, message_id)
    return found


def _pack(shorts: Sequence[int]) -> bytes:
    return b"".join(short.to_bytes(values.SHORT_BYTES, "big") for short in shorts)


def _unpack(packed: bytes, most: int) -> Iterable[int]:
    size = values.SHORT_BYTES
    if len(packed) % size or len(packed) > most * size:
        raise _Bad(f"{len(packed)} bytes of short ids")
    return (int.from_bytes(packed[at : at + size], "big") for at in range(0, len(packed), size))


_SIGNATURE_FIELD: Final = len(pb.Extension(signature=bytes(64)).SerializeToString())


def with_signature(payload: bytes, signature: bytes) -> bytes:
    """Append the signature: concatenated protobuf messages are one message with the fields of both."""
    return payload + pb.Extension(signature=signature).SerializeToString()


def split_signature(packet: bytes) -> tuple[bytes, bytes]:
    """Return a payload and its signature, which is empty if there is none. Total."""
    payload, end = packet[:-_SIGNATURE_FIELD], packet[-_SIGNATURE_FIELD:]
    return (payload, end[-64:]) if end == with_signature(b"", end[-64:]) else (packet, b"")


class Records(NamedTuple):
    """A payload with records, and their lane: direct messages or history pages."""

    lane: int
    payload: Payload | Refusal


class SyncCodec:
    """The packets on sync/<to>/<from>: frames of comparisons, records of pages, and records of direct messages."""

    def __init__(self, max_bytes: int = MAX_PACKET_BYTES) -> None:
        self._mvds = MvdsCodec(max_bytes=max_bytes)

    encode_frame = staticmethod(encode_frame)
    encode_page = staticmethod(encode_page)
    decode_page = staticmethod(decode_page)

    def encode_records(self, payload: Payload, lane: int = PAGES) -> bytes:
        return self._mvds.encode(payload) + (lane_mark(lane) if lane != DIRECT else b"")

    def decode(self, packet: bytes) -> Frame | Records | RefusedFrame:
        found = decode_extension(packet)
        return Records(found, self._mvds.decode(packet)) if isinstance(found, int) else found
