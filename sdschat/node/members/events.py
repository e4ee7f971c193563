"""Events of members' channels: typed, in the past tense. People are sender ids, posts and other events message ids."""

from __future__ import annotations

from typing import NamedTuple


class MemberPost(NamedTuple):
    """A post that is alive."""

    message_id: str
    sender_id: str
    nick: str
    text: str
    sent_at: int  # epoch milliseconds, by its author's clock
    edited: bool
    settled: bool  # behind the checkpoint: final for everybody
    own: bool
    reply_to: str = ""  # message id of the post that it answers, which may be gone
    waiting: bool = False  # here alone, until its author is a member


class OperationPlaced(NamedTuple):
    """An operation entered the tree. `event_id` is empty where it carries no event."""

    operation_id: str
    writer: str
    seq: int
    event_id: str
    kind: str


class PostSaid(NamedTuple):
    """A post is there that was not there before. `late`: something that was shown stands behind it."""

    post: MemberPost
    late: bool
    via: str  # live, or sync: it came with a state


class PostEdited(NamedTuple):
    message_id: str
    text: str
    author: str


class PostDeleted(NamedTuple):
    """A post was taken back. `waited`: it was here alone, since its author is no member yet. `by` is empty where a
    state of another member lacks it: that does not tell who took it back."""

    message_id: str
    waited: bool = False
    author: str = ""
    by: str = ""


class DeliveryChanged(NamedTuple):
    """The state of an event of ours: queued, sent, written, known or settled. `was`: its id before we were a member."""

    message_id: str
    state: str
    known: int
    members: int
    was: str = ""


class CheckpointPassed(NamedTuple):
    """The checkpoint moved. `number` operations are behind it, `operations` of them since it moved last."""

    number: int
    last: str  # operation id
    hash: str
    operations: int
    alive: int  # posts
    deleted: int  # deletions among the operations that are new behind it
    members: int  # who all have these operations


class MemberStatusChanged(NamedTuple):
    sender_id: str
    nick: str
    status: str  # invited, member, silent, reinstated, evicted or left


class BallotChanged(NamedTuple):
    """Members vote on the removal of others."""

    removed: tuple[str, ...]
    agree: int
    need: int


class PostRewritten(NamedTuple):
    """An event of ours that was lost with a removal is written again."""

    message_id: str


class StateTaken(NamedTuple):
    """The state of a member took the place of ours, which was behind it. `again`: events of ours to be rewritten.
    `returned`: we had written operations, and the others went on while we were away."""

    number: int
    giver: str
    again: int
    returned: bool


class Knocked(NamedTuple):
    """Somebody who is no member asks to be let in."""

    sender_id: str
    nick: str


class DataSetFound(NamedTuple):
    """The channel turned out to be a members' channel: this is its data set, and we knock."""

    data_set: str
    creator: str


class KindRefused(NamedTuple):
    """The announcement on a channel does not fit the kind of the channel here."""

    data_set: str
    detail: str


class TimberRejected(NamedTuple):
    """Input was refused, `times` times."""

    sender_id: str
    reason: str
    times: int
    detail: str


class ForkFound(NamedTuple):
    """A member signed two operations of one number."""

    sender_id: str
    seq: int
