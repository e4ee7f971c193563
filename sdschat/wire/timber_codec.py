"""Events, operations, packets and states of Timber, to bytes and back.

Decoding is total and strict: bytes with any fault are refused as a whole, before anything changes. The bytes of events
and operations must be the canonical ones, because ids and signatures cover them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage

from sdschat.timber import limits
from sdschat.timber.values import (
    Accept,
    AuthorRow,
    Ballot,
    CheckpointMark,
    Clock,
    EventBody,
    Kind,
    Message,
    Operation,
    OperationBody,
    Post,
    PostId,
    Proposal,
    Reason,
    Refusal,
    SignedEvent,
    SlotRow,
    State,
    Statements,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    SyncFinished,
    Value,
    VoteRow,
)
from sdschat.wire import timber_pb2 as pb

_KINDS: Final = frozenset(Kind)
_WHYS: Final = ("", "left", "removed")
_P = TypeVar("_P", bound=ProtobufMessage)


class _Bad(ValueError):
    """A value that cannot be taken; carries the reason."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class TimberCodec:
    """The `Codec` of `sdschat.timber.values`, and packets."""

    def encode_event(self, body: EventBody) -> bytes:
        made = pb.TimberEvent(kind=body.kind, author=body.author, number=body.number, time=body.time, text=body.text)
        if body.target is not None:
            made.targeted, made.target_author, made.target_number = True, *body.target
        made.key, made.life = body.key, body.life
        return made.SerializeToString(deterministic=True)

    def encode_operation(self, body: OperationBody) -> bytes:
        made = pb.TimberOperation(slot=body.slot, seq=body.seq, parent=body.parent, checksum=body.checksum)
        made.turn, made.closed = body.turn, body.closed
        if body.delta:
            _fill_clock(made.delta, body.delta)
        if body.event is not None:
            made.event, made.event_signature = body.event.raw, body.event.signature
        said = body.statements
        if said.prepare is not None:
            _fill_ballot(made.prepare, said.prepare)
        if said.promise is not None:
            _fill_ballot(made.promise, said.promise)
        if said.propose is not None:
            _fill_ballot(made.propose, said.propose.ballot)
            _fill_value(made.proposed, said.propose.value)
            made.forced = said.propose.forced
        if said.accept is not None:
            _fill_ballot(made.accept, said.accept.ballot)
            _fill_value(made.accepted, said.accept.value)
            made.need = said.accept.need
        return made.SerializeToString(deterministic=True)

    def decode_event(self, raw: bytes, signature: bytes) -> SignedEvent | Refusal:
        return _total(lambda: self._event(raw, signature))

    def decode_operation(self, raw: bytes, signature: bytes) -> Operation | Refusal:
        return _total(lambda: self.operation(raw, signature))

    def _event(self, raw: bytes, signature: bytes) -> SignedEvent:
        parsed = _parse(pb.TimberEvent(), raw)
        if parsed.kind not in _KINDS:
            raise _Bad(Reason.MALFORMED, "kind")
        _within(parsed.author, limits.MAX_SLOTS - 1, "author")
        _within(parsed.number, limits.MAX_NUMBER, "number", 1)
        _within(parsed.time, limits.MAX_NUMBER, "time")
        _within(parsed.life, limits.MAX_SLOTS, "life")
        if len(parsed.text.encode()) > limits.MAX_TEXT_BYTES:
            raise _Bad(Reason.TOO_LARGE, "text")
        keyed = parsed.kind in (Kind.GENESIS, Kind.INVITE)
        _length(parsed.key, limits.KEY_BYTES if keyed else 0, "key")
        _length(signature, limits.SIGNATURE_BYTES, "signature")
        targeted = parsed.kind in (Kind.EDIT, Kind.DELETE)
        if parsed.targeted != targeted or (not targeted and (parsed.target_author or parsed.target_number)):
            raise _Bad(Reason.MALFORMED, "target")
        target = None
        if targeted:
            _within(parsed.target_author, limits.MAX_SLOTS - 1, "target")
            target = PostId(parsed.target_author, _within(parsed.target_number, limits.MAX_NUMBER, "target", 1))
        kind = Kind(parsed.kind)
        body = EventBody(kind, parsed.author, parsed.number, parsed.time, parsed.text, target, parsed.key, parsed.life)
        return SignedEvent(body, raw, signature)

    def operation(self, raw: bytes, signature: bytes) -> Operation:
        if len(raw) > limits.MAX_OPERATION_BYTES:
            raise _Bad(Reason.TOO_LARGE, "operation")
        parsed = _parse(pb.TimberOperation(), raw)
        _within(parsed.slot, limits.MAX_SLOTS - 1, "slot")
        _within(parsed.seq, limits.MAX_NUMBER, "seq", 1)
        first = parsed.slot == 0 and parsed.seq == 1
        _length(parsed.parent, 0 if first else limits.HASH_BYTES, "parent")
        _length(parsed.checksum, limits.HASH_BYTES, "checksum")
        _length(signature, limits.SIGNATURE_BYTES, "signature")
        event = self._event(parsed.event, parsed.event_signature) if parsed.event else None
        if event is None and parsed.event_signature:
            raise _Bad(Reason.MALFORMED, "signature of no event")
        if (event is not None and event.body.kind is Kind.GENESIS) != first:
            raise _Bad(Reason.MALFORMED, "genesis")
        body = OperationBody(
            parsed.slot,
            parsed.seq,
            parsed.parent,
            _clock(parsed.delta),
            parsed.checksum,
            parsed.turn,
            parsed.closed,
            event,
            _statements(parsed),
        )
        return Operation(body, raw, signature)

    # Packets.

    def encode(self, message: Message) -> bytes:
        made = pb.TimberPacket()
        match message:
            case Sync(base, clock, digest, operations, interval, hashes):
                _fill_mark(made.sync.base, base)
                _fill_clock(made.sync.clock, clock)
                made.sync.digest, made.sync.interval = digest, interval
                made.sync.hashes.extend(hashes)
                for one in operations:
                    made.sync.operations.add(raw=one.raw, signature=one.signature)
            case SyncFinished(digest):
                made.finished.digest = digest
            case Submit(events):
                made.submit.SetInParent()
                for event in events:
                    made.submit.events.add(raw=event.raw, signature=event.signature)
            case StateWanted(number, page):
                made.wanted.SetInParent()
                made.wanted.number, made.wanted.page = number, page
            case StatePage(mark, page, pages, body):
                _fill_mark(made.page.mark, mark)
                made.page.page, made.page.pages, made.page.body = page, pages, body
        return made.SerializeToString(deterministic=True)

    def decode(self, packet: bytes) -> Message | Refusal:
        if len(packet) > limits.MAX_PACKET_BYTES:
            return Refusal(Reason.TOO_LARGE, f"{len(packet)} bytes")
        return _total(lambda: self._message(packet))

    def _message(self, packet: bytes) -> Message:
        parsed = _parse(pb.TimberPacket(), packet)
        match parsed.WhichOneof("what"):
            case "sync":
                return self._sync(parsed.sync)
            case "finished":
                return SyncFinished(_length(parsed.finished.digest, limits.HASH_BYTES, "digest"))
            case "submit":
                _count(parsed.submit.events, limits.MAX_EVENTS, "events")
                return Submit(tuple(self._event(one.raw, one.signature) for one in parsed.submit.events))
            case "wanted":
                _within(parsed.wanted.number, limits.MAX_NUMBER, "number")
                return StateWanted(parsed.wanted.number, _within(parsed.wanted.page, limits.MAX_PAGES, "page"))
            case "page":
                page = parsed.page
                _within(page.pages, limits.MAX_PAGES, "pages", 1)
                _within(page.page, page.pages - 1, "page")
                return StatePage(_mark(page.mark), page.page, page.pages, page.body)
            case _:
                raise _Bad(Reason.MALFORMED, "a packet with nothing in it")

    def _sync(self, parsed: pb.TimberSync) -> Sync:
        _count(parsed.operations, limits.MAX_OPERATIONS, "operations")
        _count(parsed.hashes, limits.MAX_HASHES, "hashes")
        for one in parsed.hashes:
            _length(one, limits.HASH_BYTES, "hash")
        if bool(parsed.interval) != bool(parsed.hashes) or parsed.interval & (parsed.interval - 1):
            raise _Bad(Reason.MALFORMED, "interval")
        return Sync(
            _mark(parsed.base),
            _clock(parsed.clock),
            _length(parsed.digest, limits.HASH_BYTES, "digest"),
            tuple(self.operation(one.raw, one.signature) for one in parsed.operations),
            parsed.interval,
            tuple(parsed.hashes),
        )

    # States.

    def encode_state(self, state: State) -> bytes:
        made = pb.TimberState(newest=state.newest, turn=state.turn, electors=state.electors)
        _fill_mark(made.mark, state.mark)
        for row in state.slots:
            slot = made.slots.add(number=row.number, key=row.key, seq=row.seq, newest=row.newest)
            slot.turn, slot.closed = row.turn, row.closed
            _fill_clock(slot.clock, row.clock)
            slot.last, slot.why = row.last or 0, row.why
        for author in state.authors:
            lows, highs = [low for low, _ in author.done], [high for _, high in author.done]
            made.authors.add(slot=author.slot, low=lows, high=highs)
        for post in state.posts:
            made.posts.add(
                author=post.name.author,
                number=post.name.number,
                place=post.place,
                time=post.time,
                text=post.text,
                edit=post.edit,
            )
        for vote in state.votes:
            _fill_vote(made.votes.add(), vote)
        _fill_clock(made.order, state.order)
        for one in state.operations:
            made.operations.add(raw=one.raw, signature=one.signature)
        return made.SerializeToString(deterministic=True)

    def decode_state(self, raw: bytes) -> State | Refusal:
        if len(raw) > limits.STATE_BYTES:
            return Refusal(Reason.TOO_LARGE, f"{len(raw)} bytes")
        return _total(lambda: _state(self, _parse(pb.TimberState(), raw)))


_Result = TypeVar("_Result")


def _total(decode: Callable[[], _Result]) -> _Result | Refusal:
    try:
        return decode()
    except _Bad as error:
        return Refusal(error.reason, str(error))
    except (DecodeError, ValueError, RecursionError):
        return Refusal(Reason.UNREADABLE)


def _parse(empty: _P, raw: bytes) -> _P:
    empty.ParseFromString(raw)
    empty.DiscardUnknownFields()
    if empty.SerializeToString(deterministic=True) != raw:
        raise _Bad(Reason.UNREADABLE, "not the canonical bytes")
    return empty


def _within(value: int, most: int, name: str, least: int = 0) -> int:
    if not least <= value <= most:
        raise _Bad(Reason.MALFORMED, f"{name} {value}")
    return value


def _length(value: bytes, length: int, name: str) -> bytes:
    if len(value) != length:
        raise _Bad(Reason.MALFORMED, f"{name} of {len(value)} bytes")
    return value


def _count(values: Iterable[object], most: int, name: str) -> None:
    if (count := sum(1 for _ in values)) > most:
        raise _Bad(Reason.TOO_MANY, f"{count} {name}")


def _clock(parsed: pb.TimberClock) -> Clock:
    if len(parsed.slots) != len(parsed.seqs) or len(parsed.slots) > limits.MAX_SLOTS:
        raise _Bad(Reason.TOO_MANY, "clock")
    found = tuple(zip(parsed.slots, parsed.seqs, strict=True))
    before = -1
    for slot, seq in found:
        if slot <= before or slot >= limits.MAX_SLOTS or not 0 < seq <= limits.MAX_NUMBER:
            raise _Bad(Reason.MALFORMED, "clock")
        before = slot
    return found


def _fill_clock(field: pb.TimberClock, clock: Clock) -> None:
    field.SetInParent()
    field.slots.extend(slot for slot, _ in clock)
    field.seqs.extend(seq for _, seq in clock)


def _mark(parsed: pb.TimberMark) -> CheckpointMark:
    _within(parsed.number, limits.MAX_NUMBER, "checkpoint")
    return CheckpointMark(parsed.number, _length(parsed.hash, limits.HASH_BYTES if parsed.number else 0, "hash"))


def _fill_mark(field: pb.TimberMark, mark: CheckpointMark) -> None:
    field.SetInParent()
    field.number, field.hash = mark


def _fill_ballot(field: pb.TimberBallot, ballot: Ballot) -> None:
    field.SetInParent()
    field.number, field.slot = ballot


def _ballot(parsed: pb.TimberBallot) -> Ballot:
    _within(parsed.slot, limits.MAX_SLOTS - 1, "ballot")
    return Ballot(_within(parsed.number, 2**32 - 2, "ballot", 1), parsed.slot)


def _fill_value(field: pb.TimberValue, value: Value) -> None:
    _fill_clock(field.removed, value.removed)
    field.electors.extend(value.electors)


def _value(parsed: pb.TimberValue) -> Value:
    # A member that wrote nothing is removed with 0, which no other clock holds.
    slots, seqs = tuple(parsed.removed.slots), tuple(parsed.removed.seqs)
    electors = tuple(parsed.electors)
    for one in (slots, electors):
        if (
            list(one) != sorted(set(one))
            or len(one) > limits.MAX_SLOTS
            or any(slot >= limits.MAX_SLOTS for slot in one)
        ):
            raise _Bad(Reason.MALFORMED, "value")
    if len(slots) != len(seqs) or any(seq > limits.MAX_NUMBER for seq in seqs):
        raise _Bad(Reason.MALFORMED, "value")
    return Value(tuple(zip(slots, seqs, strict=True)), electors)


def _statements(parsed: pb.TimberOperation) -> Statements:
    propose = accept = None
    if parsed.HasField("propose") != parsed.HasField("proposed") or parsed.HasField("accept") != parsed.HasField(
        "accepted"
    ):
        raise _Bad(Reason.MALFORMED, "statements")
    if parsed.HasField("propose"):
        propose = Proposal(_ballot(parsed.propose), _value(parsed.proposed), parsed.forced)
    if parsed.HasField("accept"):
        need = _within(parsed.need, limits.MAX_SLOTS, "need", 1)
        accept = Accept(_ballot(parsed.accept), _value(parsed.accepted), need)
    prepare = _ballot(parsed.prepare) if parsed.HasField("prepare") else None
    promise = _ballot(parsed.promise) if parsed.HasField("promise") else None
    for ballot in (prepare, propose.ballot if propose else None):
        if ballot is not None and ballot.slot != parsed.slot:
            raise _Bad(Reason.MALFORMED, "the ballot of another")
    return Statements(prepare, promise, propose, accept)


def _fill_vote(field: pb.TimberVote, vote: VoteRow) -> None:
    field.slot = vote.slot
    if vote.prepare is not None:
        _fill_ballot(field.prepare, vote.prepare)
    if vote.promise is not None:
        _fill_ballot(field.promise, vote.promise)
    if vote.before is not None:
        _fill_ballot(field.before, vote.before[0])
        _fill_value(field.value_before, vote.before[1])
    if vote.propose is not None:
        _fill_ballot(field.propose, vote.propose.ballot)
        _fill_value(field.proposed, vote.propose.value)
        field.forced = vote.propose.forced
    if vote.accept is not None:
        _fill_ballot(field.accept, vote.accept.ballot)
        _fill_value(field.accepted, vote.accept.value)
        field.need = vote.accept.need


def _vote(parsed: pb.TimberVote) -> VoteRow:
    return VoteRow(
        parsed.slot,
        _ballot(parsed.prepare) if parsed.HasField("prepare") else None,
        _ballot(parsed.promise) if parsed.HasField("promise") else None,
        (_ballot(parsed.before), _value(parsed.value_before)) if parsed.HasField("before") else None,
        Proposal(_ballot(parsed.propose), _value(parsed.proposed), parsed.forced)
        if parsed.HasField("propose")
        else None,
        Accept(_ballot(parsed.accept), _value(parsed.accepted), parsed.need) if parsed.HasField("accept") else None,
    )


def _state(codec: TimberCodec, parsed: pb.TimberState) -> State:
    slots = tuple(_slot(number, one) for number, one in enumerate(parsed.slots))
    if not slots or len(slots) > limits.MAX_SLOTS:
        raise _Bad(Reason.MALFORMED, "slots")
    authors = []
    for one in parsed.authors:
        done = tuple(zip(one.low, one.high, strict=True))
        if one.slot >= len(slots) or any(not 0 < low <= high for low, high in done):
            raise _Bad(Reason.MALFORMED, "author")
        authors.append(AuthorRow(one.slot, done))
    posts = tuple(Post(PostId(one.author, one.number), one.place, one.time, one.text, one.edit) for one in parsed.posts)
    return State(
        _mark(parsed.mark),
        _length(parsed.newest, limits.HASH_BYTES, "newest"),
        parsed.turn,
        tuple(parsed.electors),
        slots,
        tuple(authors),
        posts,
        tuple(_vote(one) for one in parsed.votes),
        tuple(zip(parsed.order.slots, parsed.order.seqs, strict=True)),
        tuple(codec.operation(one.raw, one.signature) for one in parsed.operations),
    )


def _slot(number: int, parsed: pb.TimberSlot) -> SlotRow:
    if parsed.number != number or parsed.why not in _WHYS:
        raise _Bad(Reason.MALFORMED, "slot")
    _length(parsed.key, limits.KEY_BYTES, "key")
    newest = _length(parsed.newest, limits.HASH_BYTES if parsed.seq else 0, "newest")
    last = parsed.last if parsed.why else None
    clock = _clock(parsed.clock)
    return SlotRow(number, parsed.key, parsed.seq, newest, clock, parsed.turn, parsed.closed, last, parsed.why)
