"""Events, operations, packets and states of Timber, to bytes and back.

Decoding is total and strict: bytes with any fault are refused as a whole, before anything changes. The bytes of events
and operations must be the canonical ones, because ids and signatures cover them.
"""

from __future__ import annotations

from typing import Final

from sdschat.timber import limits
from sdschat.timber.values import (
    AuthorRow,
    EventBody,
    Kind,
    Message,
    Operation,
    OperationBody,
    Post,
    PostId,
    Reason,
    Refusal,
    SignedEvent,
    State,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    SyncFinished,
)
from sdschat.wire import timber_pb2 as pb
from sdschat.wire.timber_fields import (
    BadField,
    at_most,
    fill_clock,
    fill_mark,
    fill_statements,
    fill_vote,
    of_length,
    parsed_as,
    to_clock,
    to_mark,
    to_slot,
    to_statements,
    to_vote,
    total,
    within,
)

_KINDS: Final = frozenset(Kind)


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
            fill_clock(made.delta, body.delta)
        if body.event is not None:
            made.event, made.event_signature = body.event.raw, body.event.signature
        fill_statements(made, body.statements)
        return made.SerializeToString(deterministic=True)

    def decode_event(self, raw: bytes, signature: bytes) -> SignedEvent | Refusal:
        return total(lambda: self._event(raw, signature))

    def decode_operation(self, raw: bytes, signature: bytes) -> Operation | Refusal:
        return total(lambda: self.operation(raw, signature))

    def _event(self, raw: bytes, signature: bytes) -> SignedEvent:
        parsed = parsed_as(pb.TimberEvent(), raw)
        if parsed.kind not in _KINDS:
            raise BadField(Reason.MALFORMED, "kind")
        within(parsed.author, limits.MAX_SLOTS - 1, "author")
        within(parsed.number, limits.MAX_NUMBER, "number", 1)
        within(parsed.time, limits.MAX_NUMBER, "time")
        within(parsed.life, limits.MAX_SLOTS, "life")
        if len(parsed.text.encode()) > limits.MAX_TEXT_BYTES:
            raise BadField(Reason.TOO_LARGE, "text")
        keyed = parsed.kind in (Kind.GENESIS, Kind.INVITE)
        of_length(parsed.key, limits.KEY_BYTES if keyed else 0, "key")
        of_length(signature, limits.SIGNATURE_BYTES, "signature")
        changes = parsed.kind in (Kind.EDIT, Kind.DELETE)
        if changes != parsed.targeted and not (parsed.targeted and parsed.kind == Kind.SAY):
            raise BadField(Reason.MALFORMED, "target")
        if not parsed.targeted and (parsed.target_author or parsed.target_number):
            raise BadField(Reason.MALFORMED, "target")
        target = None
        if parsed.targeted:
            within(parsed.target_author, limits.MAX_SLOTS - 1, "target")
            target = PostId(parsed.target_author, within(parsed.target_number, limits.MAX_NUMBER, "target", 1))
        kind = Kind(parsed.kind)
        body = EventBody(kind, parsed.author, parsed.number, parsed.time, parsed.text, target, parsed.key, parsed.life)
        return SignedEvent(body, raw, signature)

    def operation(self, raw: bytes, signature: bytes) -> Operation:
        if len(raw) > limits.MAX_OPERATION_BYTES:
            raise BadField(Reason.TOO_LARGE, "operation")
        parsed = parsed_as(pb.TimberOperation(), raw)
        within(parsed.slot, limits.MAX_SLOTS - 1, "slot")
        within(parsed.seq, limits.MAX_NUMBER, "seq", 1)
        first = parsed.slot == 0 and parsed.seq == 1
        of_length(parsed.parent, 0 if first else limits.HASH_BYTES, "parent")
        of_length(parsed.checksum, limits.HASH_BYTES, "checksum")
        of_length(signature, limits.SIGNATURE_BYTES, "signature")
        event = self._event(parsed.event, parsed.event_signature) if parsed.event else None
        if event is None and parsed.event_signature:
            raise BadField(Reason.MALFORMED, "signature of no event")
        if (event is not None and event.body.kind is Kind.GENESIS) != first:
            raise BadField(Reason.MALFORMED, "genesis")
        body = OperationBody(
            parsed.slot,
            parsed.seq,
            parsed.parent,
            to_clock(parsed.delta),
            parsed.checksum,
            parsed.turn,
            parsed.closed,
            event,
            to_statements(parsed),
        )
        return Operation(body, raw, signature)

    # Packets.

    def encode(self, message: Message) -> bytes:
        made = pb.TimberPacket()
        match message:
            case Sync(base, clock, digest, operations, interval, hashes):
                fill_mark(made.sync.base, base)
                fill_clock(made.sync.clock, clock)
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
                fill_mark(made.page.mark, mark)
                made.page.page, made.page.pages, made.page.body = page, pages, body
        return made.SerializeToString(deterministic=True)

    def decode(self, packet: bytes) -> Message | Refusal:
        if len(packet) > limits.MAX_PACKET_BYTES:
            return Refusal(Reason.TOO_LARGE, f"{len(packet)} bytes")
        return total(lambda: self._message(packet))

    def _message(self, packet: bytes) -> Message:
        parsed = parsed_as(pb.TimberPacket(), packet)
        match parsed.WhichOneof("what"):
            case "sync":
                return self._sync(parsed.sync)
            case "finished":
                return SyncFinished(of_length(parsed.finished.digest, limits.HASH_BYTES, "digest"))
            case "submit":
                at_most(parsed.submit.events, limits.MAX_EVENTS, "events")
                return Submit(tuple(self._event(one.raw, one.signature) for one in parsed.submit.events))
            case "wanted":
                within(parsed.wanted.number, limits.MAX_NUMBER, "number")
                return StateWanted(parsed.wanted.number, within(parsed.wanted.page, limits.MAX_PAGES, "page"))
            case "page":
                page = parsed.page
                within(page.pages, limits.MAX_PAGES, "pages", 1)
                within(page.page, page.pages - 1, "page")
                return StatePage(to_mark(page.mark), page.page, page.pages, page.body)
            case _:
                raise BadField(Reason.MALFORMED, "a packet with nothing in it")

    def _sync(self, parsed: pb.TimberSync) -> Sync:
        at_most(parsed.operations, limits.MAX_OPERATIONS, "operations")
        at_most(parsed.hashes, limits.MAX_HASHES, "hashes")
        for one in parsed.hashes:
            of_length(one, limits.HASH_BYTES, "hash")
        if bool(parsed.interval) != bool(parsed.hashes) or parsed.interval & (parsed.interval - 1):
            raise BadField(Reason.MALFORMED, "interval")
        return Sync(
            to_mark(parsed.base),
            to_clock(parsed.clock),
            of_length(parsed.digest, limits.HASH_BYTES, "digest"),
            tuple(self.operation(one.raw, one.signature) for one in parsed.operations),
            parsed.interval,
            tuple(parsed.hashes),
        )

    # States.

    def encode_state(self, state: State) -> bytes:
        made = pb.TimberState(newest=state.newest, turn=state.turn, electors=state.electors)
        fill_mark(made.mark, state.mark)
        for row in state.slots:
            slot = made.slots.add(number=row.number, key=row.key, seq=row.seq, newest=row.newest)
            slot.turn, slot.closed = row.turn, row.closed
            fill_clock(slot.clock, row.clock)
            slot.last, slot.why = row.last or 0, row.why
        for author in state.authors:
            lows, highs = [low for low, _ in author.done], [high for _, high in author.done]
            made.authors.add(slot=author.slot, low=lows, high=highs)
        for post in state.posts:
            said = made.posts.add(author=post.name.author, number=post.name.number, place=post.place, time=post.time)
            said.text, said.edit = post.text, post.edit
            if post.answers is not None:
                said.answers_author, said.answers_number = post.answers
        for vote in state.votes:
            fill_vote(made.votes.add(), vote)
        fill_clock(made.order, state.order)
        for one in state.operations:
            made.operations.add(raw=one.raw, signature=one.signature)
        return made.SerializeToString(deterministic=True)

    def decode_state(self, raw: bytes) -> State | Refusal:
        if len(raw) > limits.STATE_BYTES:
            return Refusal(Reason.TOO_LARGE, f"{len(raw)} bytes")
        return total(lambda: _state(self, parsed_as(pb.TimberState(), raw)))


def _state(codec: TimberCodec, parsed: pb.TimberState) -> State:
    within(parsed.turn, limits.MAX_TURN, "turn")
    slots = tuple(to_slot(number, one) for number, one in enumerate(parsed.slots))
    if not slots or len(slots) > limits.MAX_SLOTS:
        raise BadField(Reason.MALFORMED, "slots")
    authors = []
    for one in parsed.authors:
        done = tuple(zip(one.low, one.high, strict=True))
        if one.slot >= len(slots) or any(not 0 < low <= high <= limits.MAX_NUMBER for low, high in done):
            raise BadField(Reason.MALFORMED, "author")
        authors.append(AuthorRow(one.slot, done))
    return State(
        to_mark(parsed.mark),
        of_length(parsed.newest, limits.HASH_BYTES, "newest"),
        parsed.turn,
        tuple(parsed.electors),
        slots,
        tuple(authors),
        tuple(map(_post, parsed.posts)),
        tuple(to_vote(one) for one in parsed.votes),
        tuple(zip(parsed.order.slots, parsed.order.seqs, strict=True)),
        tuple(codec.operation(one.raw, one.signature) for one in parsed.operations),
    )


def _post(parsed: pb.TimberPost) -> Post:
    numbers = (parsed.number, parsed.place, parsed.time, parsed.edit, parsed.answers_number)
    within(max(numbers), limits.MAX_NUMBER, "post")
    if len(parsed.text.encode()) > limits.MAX_TEXT_BYTES:
        raise BadField(Reason.TOO_LARGE, "text")
    answers = PostId(parsed.answers_author, parsed.answers_number) if parsed.answers_number else None
    name = PostId(parsed.author, parsed.number)
    return Post(name, parsed.place, parsed.time, parsed.text, parsed.edit, answers)
