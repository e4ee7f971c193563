"""The events of a node: typed, named in the past tense, for the JSON lines, the terminal application and tests.

A fact about the protocol is the engine's own event. Only what the engine cannot know has a type of its own here:
messages with their text read and judged, people, and the connection.
"""

from __future__ import annotations

from typing import NamedTuple

from sdschat.identity.content import OpenedContent
from sdschat.identity.key_book import KeyMet, NickChanged, NickClaimed
from sdschat.node.members.events import (
    BallotChanged,
    CheckpointPassed,
    DataSetFound,
    DeliveryChanged,
    ForkFound,
    KindRefused,
    Knocked,
    MemberPost,
    MemberStatusChanged,
    OperationPlaced,
    PostDeleted,
    PostEdited,
    PostRewritten,
    PostSaid,
    StateTaken,
    TimberRejected,
)
from sdschat.node.store_client.events import StoreAnswered, StoreAsked, StoreLeft, StoreSilent
from sdschat.sds import events as ev
from sdschat.sds.values import Message


class EpochChanged(NamedTuple):
    """The channel uses another key from now on: number 1 is the one it began with."""

    number: int


class MembersChanged(NamedTuple):
    """Sender ids of all members, of those who were removed, and of whoever removed the last one of them."""

    members: tuple[str, ...]
    removed: tuple[str, ...] = ()
    by: str = ""


class MessageWithheld(NamedTuple):
    """A message of the log is not shown: its author was no member at its place."""

    message_id: str
    sender_id: str
    nick: str


class NotAMember(NamedTuple):
    """We are no member: `why` says for what reason, for a person."""

    why: str


class OperationsReworded(NamedTuple):
    """Operations of the log count now, or do not any more: their lines read otherwise."""

    message_ids: tuple[str, ...]


class CatchingUp(NamedTuple):
    """`state`: waiting (for somebody to ask), comparing, loading, paused or done. `done` of `total` messages are
    here, by way of `source`. Everything dated from `since` on (a Lamport time) is being caught up on."""

    state: str
    done: int
    total: int
    source: str
    nick: str
    since: int


class BodiesFetched(NamedTuple):
    """Messages that were kept as ids were wanted in full: so many came, and nobody who is here has the others."""

    fetched: int
    left: int


class DirectSaid(NamedTuple):
    """A message between two participants: one of ours was taken to be sent, or one for us came. It is saved."""

    message_id: str
    sender_id: str
    to: str
    nick: str  # of the sender
    opened: OpenedContent
    own: bool
    gap: tuple[str, ...] = ()  # messages that were waited for before it, and given up


class DirectRefused(NamedTuple):
    """Something that came as a direct message, and is not taken: it cannot be read, or is not by whom it says, or
    exceeds what is taken of people to whom the user never wrote."""

    sender_id: str
    why: str


# From the layers below: an interface imports these here. `ev` holds the events of the engine.
__all__ = [
    "BallotChanged",
    "BodiesFetched",
    "CatchingUp",
    "CheckpointPassed",
    "DataSetFound",
    "DeliveryChanged",
    "DirectRefused",
    "DirectSaid",
    "EpochChanged",
    "ForkFound",
    "KeyMet",
    "KindRefused",
    "Knocked",
    "MemberPost",
    "MemberStatusChanged",
    "MembersChanged",
    "MessageWithheld",
    "NickChanged",
    "NickClaimed",
    "NotAMember",
    "OperationPlaced",
    "OperationsReworded",
    "PostDeleted",
    "PostEdited",
    "PostRewritten",
    "PostSaid",
    "StateTaken",
    "TimberRejected",
    "ev",
]


class Said(NamedTuple):
    """A message whose content was opened. `nick` is empty where nobody proved to have it."""

    message: Message
    opened: OpenedContent
    nick: str
    own: bool


class Joined(NamedTuple):
    """The channel is open on this node. Told once, before anything else of it."""

    sender_id: str
    nick: str
    known: int  # own messages that wait for an acknowledgement since an earlier run


class MessageDelivered(NamedTuple):
    """A message took its place in the log, and is on disk."""

    said: Said
    late: bool
    gap: tuple[str, ...]
    via: str


class AuthorGapFound(NamedTuple):
    """Messages of one author are missing, by the numbers that the author gave them: nobody need have named them."""

    sender_id: str
    low: int
    high: int
    message_id: str  # of the last of them


class AuthorGapClosed(NamedTuple):
    """A message that was missing by its number has come."""

    sender_id: str
    high: int


class SaidTwoThings(NamedTuple):
    """An author signed two messages under one number. Both are kept."""

    sender_id: str
    number: int
    message_id: str  # of the second one


class OverLimit(NamedTuple):
    """So many messages of a sender exceeded what is kept of one sender, in this run: only their ids are in the log.
    An empty id stands for all whose keys are too many to be counted apart."""

    sender_id: str
    nick: str
    messages: int
    before_join: bool = False  # they were written before we joined, and this channel gives nothing older


class StrangersChanged(NamedTuple):
    """So many keys wait in this channel because too many came at once, with so many messages; and who waits no more, so
    that their messages are shown."""

    keys: int
    messages: int
    opened: tuple[str, ...]


class OwnOverLimit(NamedTuple):
    """So many messages of our own, in this run, exceeded what is kept of one sender: others with our limit have ids."""

    messages: int


class DeviceRenewed(NamedTuple):
    """Messages of this profile's own device came that are not here: it was restored or copied, and is a new device."""

    message_id: str


class EphemeralSaid(NamedTuple):
    said: Said


class PresenceChanged(NamedTuple):
    sender_id: str
    nick: str
    online: bool


class ClockDiffers(NamedTuple):
    """The clock of a participant and ours differ by more than is allowed, so that neither counts as here for the other.
    Told once of each, and of few."""

    sender_id: str
    nick: str
    ahead: int  # milliseconds by which theirs is ahead of ours


class ConnectionChanged(NamedTuple):
    """`state`: connecting, connected or disconnected; `why` is a `transport.base.Why` or empty."""

    state: str
    address: str  # with the faults that are injected, without secrets
    why: str = ""
    detail: str = ""  # for a person
    retry_at: int = 0  # epoch milliseconds; 0: not by itself
    ever: bool = False  # whether this channel was connected before


class HandedOver(NamedTuple):
    """The broker has the first copy of an own message. It is not known yet who has it."""

    message_id: str


class NotPublished(NamedTuple):
    """A packet of ours did not go out. A message of the log is sent again later all the same."""

    message_id: str
    failure: str
    detail: str  # for a person


class SendingResumed(NamedTuple):
    """The broker takes packets of ours again, after it refused some."""


class IdentityUsedElsewhere(NamedTuple):
    """Somebody else has our key: this was signed with it, and we never sent it."""

    message_id: str


class UnsignedInOurName(NamedTuple):
    """Messages came that bear our name, and that we never signed. They are not shown; others may show them."""

    message_id: str  # the last one
    messages: int  # in this run


class SavingFailed(NamedTuple):
    """Nothing is sent or shown until it can be saved; it is tried again."""

    detail: str


class SavingResumed(NamedTuple):
    pass


class PacketRestored(NamedTuple):
    """The packet of this message, which the disk had altered, is whole again: others had it."""

    message_id: str


class TroubleMet(NamedTuple):
    """An error that the node survived, in words."""

    detail: str


class HostingChanged(NamedTuple):
    """A change of host: `hosting` is true if the embedded broker is now a process of ours."""

    hosting: bool


EventBody = (
    ev.StateChanged
    | ev.MessageRetired
    | ev.DependenciesMissing
    | ev.DependenciesLost
    | ev.GapClosed
    | ev.MessageDeferred
    | ev.DuplicateReceived
    | ev.SyncSent
    | ev.SyncReceived
    | ev.MessageResent
    | ev.RepairWanted
    | ev.RepairRequested
    | ev.RepairScheduled
    | ev.RepairResponded
    | ev.RepairCancelled
    | ev.PushScheduled
    | ev.Pushed
    | ev.PushCancelled
    | ev.RangeDiffered
    | ev.FilterIgnored
    | ev.FilterRolled
    | ev.FilterFormatChanged
    | ev.ClockAhead
    | ev.Rejected
    | Joined
    | MessageDelivered
    | EphemeralSaid
    | PresenceChanged
    | ClockDiffers
    | ConnectionChanged
    | HandedOver
    | NotPublished
    | SendingResumed
    | KeyMet
    | NickChanged
    | NickClaimed
    | IdentityUsedElsewhere
    | UnsignedInOurName
    | DeviceRenewed
    | AuthorGapFound
    | AuthorGapClosed
    | SaidTwoThings
    | OverLimit
    | OwnOverLimit
    | StrangersChanged
    | SavingFailed
    | SavingResumed
    | PacketRestored
    | TroubleMet
    | HostingChanged
    | StoreAsked
    | StoreAnswered
    | StoreSilent
    | StoreLeft
    | EpochChanged
    | MembersChanged
    | MessageWithheld
    | NotAMember
    | OperationsReworded
    | BodiesFetched
    | CatchingUp
    | DirectSaid
    | DirectRefused
    | OperationPlaced
    | PostSaid
    | PostEdited
    | PostDeleted
    | PostRewritten
    | DeliveryChanged
    | CheckpointPassed
    | MemberStatusChanged
    | BallotChanged
    | StateTaken
    | Knocked
    | DataSetFound
    | KindRefused
    | TimberRejected
    | ForkFound
)


class NodeEvent(NamedTuple):
    """`channel` is empty for what concerns the whole node."""

    channel: str
    time: int  # epoch milliseconds
    body: EventBody
