"""Events that the engine reports, named in the past tense, and outcomes of an operation that comes to a replica.

The engine itself never acts on an event. An operation waits, or changes follow from it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sdschat.timber.tree import TreeNode
from sdschat.timber.values import CheckpointMark, EventBody, Kind, Operation, PostId, Reason, Value

Status = Literal["invited", "member", "silent", "reinstated", "removed", "left"]


class Founded(NamedTuple):
    """A data set was made, or its state was taken over for the first time."""

    data_set: bytes
    genesis: Operation | None = None  # the first operation, where we made it


class Placed(NamedTuple):
    """An operation entered the tree. `body` is that of its event, where it carries one."""

    operation_id: bytes
    writer: int
    seq: int
    body: EventBody | None
    first: bool  # no other operation with this event came before
    last: bool  # nothing stands behind it


class Drafted(NamedTuple):
    """A draft became an event of ours: we have a slot now."""

    number: int
    name: PostId


class Renumbered(NamedTuple):
    """Another event has the name of an event of ours, which waits as a draft for a number of its own."""

    name: PostId
    draft: int


class EventSettled(NamedTuple):
    """An event is behind the checkpoint. `counts` is false for a second copy of one that had its effect."""

    name: PostId
    kind: Kind
    target: PostId | None
    counts: bool


class Milestone(NamedTuple):
    """The checkpoint passed a number of operations at which all replicas report its hash."""

    mark: CheckpointMark


class CheckpointMoved(NamedTuple):
    mark: CheckpointMark


class Compacted(NamedTuple):
    """The state took the place of operations. `wipes`: some had texts that the state has not, or took such out of it,
    so that they must leave no trace on a disk."""

    mark: CheckpointMark
    operations: int
    alive: int  # posts
    wipes: bool = False


class MemberChanged(NamedTuple):
    slot: int  # -1 while invited
    member: bytes
    status: Status


class Decided(NamedTuple):
    """A ballot ended. `value` is None where its last elector left."""

    turn: int
    value: Value | None
    agreed: tuple[int, ...]  # slots
    need: int


class Rewritten(NamedTuple):
    """An event of ours that had been lost with its operation is in the tree again."""

    name: PostId


class StateAdopted(NamedTuple):
    """The state of a peer took the place of ours, which was behind it."""

    mark: CheckpointMark
    peer: bytes
    again: int  # events of ours that will be written again
    returned: bool  # there were operations of ours: the others went on while we were away
    reworded: tuple[PostId, ...] = ()  # posts that were here, and read otherwise now


class Replaced(NamedTuple):
    """An event has the place of another one with its name: somebody signed two events of one number."""

    posts: tuple[PostId, ...]  # they may read otherwise


class Forked(NamedTuple):
    """Somebody signed two operations of one number. Both are the proof; `held` may be compacted already."""

    slot: int
    seq: int
    held: Operation | None
    other: Operation


class Rejected(NamedTuple):
    """A part of a packet was refused, `times` times."""

    peer: bytes
    reason: Reason
    times: int
    detail: str


Report = (
    Founded
    | Placed
    | Drafted
    | Renumbered
    | EventSettled
    | Milestone
    | CheckpointMoved
    | Compacted
    | MemberChanged
    | Decided
    | Rewritten
    | StateAdopted
    | Replaced
    | Forked
    | Rejected
)


class Wait(NamedTuple):
    """An operation cannot be placed before another one is held. `seq` 0: before the slot exists."""

    slot: int
    seq: int


class Settled(NamedTuple):
    """The checkpoint passed an operation."""

    node: TreeNode
    counts: bool  # its event had its effect
    mark: CheckpointMark  # with it


class Admitted(NamedTuple):
    slot: int


class Closed(NamedTuple):
    slot: int
    last: int
    why: str  # "left" or "removed"
    lost: tuple[TreeNode, ...]  # operations held here that do not count


class TurnEnded(NamedTuple):
    number: int
    value: Value | None
    agreed: dict[int, int]  # who accepted it, with the accepts that each needs


Change = Settled | Admitted | Closed | TurnEnded
