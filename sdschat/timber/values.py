"""Values of Timber without behaviour, which every layer above can import at little cost; and their hashes.

Hashes: ids of members, events, operations and posts, the bytes that are signed, the distance of ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

# A slot is a number for one membership of one member: the creator has 0, and each admission takes the next number.
# Somebody who left or was removed and is let in again has a new slot.
Clock = tuple[tuple[int, int], ...]  # (slot, seq), sorted by slot


class Kind(IntEnum):
    """Kind of an event."""

    GENESIS = 1  # names the data set; carries the creator's key
    SAY = 2
    EDIT = 3
    DELETE = 4
    INVITE = 5
    LEAVE = 6


class PostId(NamedTuple):
    """Name of an event, and of the post that it makes: the author's slot, and the author's number for it."""

    author: int
    number: int


class EventBody(NamedTuple):
    """The fields of an event that its author signs."""

    kind: Kind
    author: int  # slot
    number: int  # 1, 2, 3 … for each slot
    time: int = 0  # the author's clock, epoch milliseconds; for display alone
    text: str = ""
    target: PostId | None = None  # of an edit or a delete; the post that a post answers
    key: bytes = b""  # of an invitation, and of the genesis
    life: int = 0  # of an invitation: how many slots the key has had


class SignedEvent(NamedTuple):
    body: EventBody
    raw: bytes  # the canonical bytes of `body`
    signature: bytes

    @property
    def name(self) -> PostId:
        return PostId(self.body.author, self.body.number)


class Ballot(NamedTuple):
    number: int
    slot: int  # of the proposer


class Value(NamedTuple):
    """A decision: members to remove, each with its last operation that counts, and the electors of the next turn."""

    removed: Clock
    electors: tuple[int, ...]


class Proposal(NamedTuple):
    ballot: Ballot
    value: Value
    forced: bool  # it may have been decided in an earlier ballot


class Accept(NamedTuple):
    ballot: Ballot
    value: Value
    need: int  # accepts that decide, as its writer counts


class Statements(NamedTuple):
    """The part of an operation that concerns the ballots of its turn."""

    prepare: Ballot | None = None
    promise: Ballot | None = None
    propose: Proposal | None = None
    accept: Accept | None = None


class OperationBody(NamedTuple):
    """The fields of an operation that its writer signs."""

    slot: int  # of the writer
    seq: int  # 1, 2, 3 … for each slot, no gaps
    parent: bytes  # operation id; empty in the first of all
    delta: Clock  # part of the clock that changed since the writer's previous operation, the writer's own slot left out
    checksum: bytes  # hash of the ids of the previous operation and of those that `delta` names
    turn: int  # decisions that the writer knows
    closed: int  # memberships that the writer knows to have ended
    event: SignedEvent | None = None
    statements: Statements = Statements()


class Operation(NamedTuple):
    body: OperationBody
    raw: bytes  # the canonical bytes of `body`
    signature: bytes


class Post(NamedTuple):
    """A post that is alive. Posts stand in the order of `place`."""

    name: PostId
    place: int  # number of the operation that brought it, counted from the first of all
    time: int
    text: str
    edit: int = 0  # number of the author's event that changed it last; 0: never changed
    answers: PostId | None = None  # may be gone


Spans = tuple[tuple[int, int], ...]  # first and last numbers, in order, not touching


class SlotRow(NamedTuple):
    """A slot as the operations behind the compaction leave it."""

    number: int
    key: bytes
    seq: int
    newest: bytes  # id of its operation `seq`
    clock: Clock
    turn: int
    closed: int
    last: int | None  # where it is closed: the last operation that counts
    why: str  # "left", "removed" or ""


class AuthorRow(NamedTuple):
    """The numbers of an author's events that had their effect."""

    slot: int
    done: Spans


class VoteRow(NamedTuple):
    """One statement on the ballots of the present turn."""

    slot: int
    prepare: Ballot | None = None
    promise: Ballot | None = None
    before: tuple[Ballot, Value] | None = None  # accepted before `promise`
    propose: Proposal | None = None
    accept: Accept | None = None


class CheckpointMark(NamedTuple):
    """A checkpoint: operations behind it, and the hash chain over their ids."""

    number: int
    hash: bytes


class State(NamedTuple):
    """The state at a compaction, from which a replica can start."""

    mark: CheckpointMark
    newest: bytes  # id of the last operation behind it
    turn: int
    electors: tuple[int, ...]
    slots: tuple[SlotRow, ...]
    authors: tuple[AuthorRow, ...]
    posts: tuple[Post, ...]
    votes: tuple[VoteRow, ...]
    order: Clock  # operations in front of it in linear order, by slot and seq: some hang below what is gone
    operations: tuple[Operation, ...] = ()  # in front of it, oldest first


class Sync(NamedTuple):
    """Starts or continues a synchronization: what the sender holds, and operations that the receiver lacks."""

    base: CheckpointMark  # the sender's state: operations up to it cannot be sent
    clock: Clock
    digest: bytes  # hash of the newest operation ids
    operations: tuple[Operation, ...] = ()
    interval: int = 0  # a power of two where `hashes` is there
    hashes: tuple[bytes, ...] = ()  # of the linear history behind `base`, where equal clocks had different digests


class SyncFinished(NamedTuple):
    """Both hold the same."""

    digest: bytes


class Submit(NamedTuple):
    """Events for the receiver to write, or to forward to those nearer to them."""

    events: tuple[SignedEvent, ...]


class StateWanted(NamedTuple):
    """A request for a page of the sender's state."""

    number: int  # of the checkpoint of earlier pages; for the first page larger than in earlier questions
    page: int


class StatePage(NamedTuple):
    """A page of the state at a checkpoint."""

    mark: CheckpointMark
    page: int
    pages: int
    body: bytes


Message = Sync | SyncFinished | Submit | StateWanted | StatePage


class Packet(NamedTuple):
    peer: bytes  # member id
    message: Message


class ClockReading(Protocol):
    """A moment by the caller's clocks: `wall` is epoch milliseconds and may jump, `mono` milliseconds that never do."""

    @property
    def wall(self) -> int: ...

    @property
    def mono(self) -> int: ...


class Now(NamedTuple):
    """The plain `ClockReading`."""

    wall: int
    mono: int


class Reason(StrEnum):
    """Reason for refusing input from outside. A test produces each value."""

    UNREADABLE = "unreadable"  # not protobuf, or not the canonical bytes
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"  # entries
    MALFORMED = "malformed"  # a value out of its bounds
    SIGNATURE = "signature"  # not signed by the key of its slot
    STRANGER = "stranger"  # from a peer that is neither member nor invited
    FORK = "fork"  # a second operation of one number
    PARENT = "parent"  # not the last item of the history that the clock names
    CHECKSUM = "checksum"  # the named operations are others than those held here
    CLOCK = "clock"  # names less than it did before, or what the writer cannot know
    TURN = "turn"  # claims decisions that its past does not hold
    BALLOT = "ballot"  # says on a ballot what its writer may not say
    AFTER_LEAVE = "after_leave"  # an event or a statement by a member whose leave came before
    REMOVED = "removed"  # by a member that was removed, after its last operation that counts
    NOT_AUTHOR = "not_author"  # an event in the name of somebody who is not there
    MISROUTED = "misrouted"  # an event sent to a member that is not among the nearest
    BUFFER_FULL = "buffer_full"
    OTHER_STATE = "other_state"  # pages of a state that was not asked for, or do not fit together


class Refusal(NamedTuple):
    """A packet that could not be decoded, with the reason."""

    reason: Reason
    detail: str = ""


Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes, bytes], bool]  # key, message, signature


class Codec(Protocol):
    """Values to canonical bytes; `sdschat.wire.timber_codec` has the real one. Decoders are total: they never raise."""

    def encode_event(self, body: EventBody) -> bytes: ...

    def encode_operation(self, body: OperationBody) -> bytes: ...

    def decode_event(self, raw: bytes, signature: bytes) -> SignedEvent | Refusal: ...

    def decode_operation(self, raw: bytes, signature: bytes) -> Operation | Refusal: ...

    def encode_state(self, state: State) -> bytes: ...

    def decode_state(self, raw: bytes) -> State | Refusal: ...


EVENT_DOMAIN: Final = b"sdschat/timber/event/v1\0"
OPERATION_DOMAIN: Final = b"sdschat/timber/operation/v1\0"

_POST_DOMAIN: Final = b"sdschat/timber/post/v1\0"
_DRAFT_DOMAIN: Final = b"sdschat/timber/draft/v1\0"
_SENDER_ID_BYTES: Final = 16


def member_id(key: bytes) -> bytes:
    return sha256(key).digest()


def event_bytes(data_set: bytes, raw: bytes) -> bytes:
    """Return the bytes that an author signs. They name the data set, so that no event counts in another one."""
    return EVENT_DOMAIN + data_set + raw


def operation_bytes(data_set: bytes, raw: bytes) -> bytes:
    """Return the bytes that a writer signs. The data set of the first operation is empty: its id names the data set."""
    return OPERATION_DOMAIN + data_set + raw


def event_id(data_set: bytes, raw: bytes) -> bytes:
    return sha256(EVENT_DOMAIN + data_set + raw).digest()


def operation_id(data_set: bytes, raw: bytes) -> bytes:
    return sha256(OPERATION_DOMAIN + data_set + raw).digest()


def distance(one: bytes, other: bytes) -> int:
    """Return `one XOR other` as a number."""
    return int.from_bytes(one, "big") ^ int.from_bytes(other, "big")


def checksum(ids: Iterable[bytes]) -> bytes:
    return sha256(b"".join(ids)).digest()


def chained(before: bytes, operation: bytes) -> bytes:
    """Return the checkpoint's hash chain with one more operation."""
    return sha256(before + operation).digest()


def running_hashes(ids: Iterable[bytes], interval: int) -> tuple[bytes, ...]:
    """Return the running SHA-256 over ids, taken at every `interval`-th and at the end: 29 ids, interval 8: 4."""
    if interval < 1 or interval & (interval - 1):
        raise ValueError(f"an interval of {interval}; it must be a power of two")
    running, found, count = sha256(), [], 0
    for one in ids:
        count += 1
        running.update(one)
        if count % interval == 0:
            found.append(running.digest())
    if count % interval:
        found.append(running.digest())
    return tuple(found)


def interval_for(count: int) -> int:
    """Return the power of two nearest to the square root of `count`."""
    root = count**0.5
    power = 1
    while power * 2 <= root:
        power *= 2
    return power * 2 if power * 2 - root < root - power else power


def sender_of(member: bytes) -> str:
    """Return the sender id of a member id: its first digits."""
    return member[:_SENDER_ID_BYTES].hex()


def message_id_of(data_set: bytes, name: PostId) -> str:
    """Return the message id of a post, or of another event: the same on every replica."""
    return sha256(_POST_DOMAIN + data_set + name.author.to_bytes(8) + name.number.to_bytes(8)).hexdigest()


def draft_id_of(data_set: bytes, member: bytes, number: int) -> str:
    """Return the message id of what waits until we are a member."""
    return sha256(_DRAFT_DOMAIN + data_set + member + number.to_bytes(8)).hexdigest()
