"""Plain values for an interface. Texts and nicks are not sanitized: clean them before showing."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from sdschat.identity.content import ContentKind, Verdict
from sdschat.identity.sanitize import harmless
from sdschat.identity.suggest import did_you_mean
from sdschat.node.channel.over_limit import Flood
from sdschat.node.events import Said
from sdschat.sds.values import AckState, Evidence, Message, MessageKind, Refusal

# From the layers below: an interface imports these here, and knows no other module under the node.
__all__ = [
    "AckState",
    "ContentKind",
    "Evidence",
    "Message",
    "MessageKind",
    "Refusal",
    "Verdict",
    "did_you_mean",
    "harmless",
]

Key = tuple[int, str]  # Lamport time and id: where a message stands in the log


class Shown(NamedTuple):
    """A message of the log."""

    message_id: str
    lamport: int
    sender_id: str
    nick: str  # empty where nobody proved to have one
    text: str | None  # None: nothing to read
    verdict: str  # a `Verdict`, or empty where the content was not read
    own: bool
    received_at: int  # epoch milliseconds; 0: just now
    sent_at: int = 0  # by the author's clock
    via: str = "live"
    kind: int = int(ContentKind.TEXT)
    reply_to: str = ""
    dependencies: tuple[str, ...] = ()
    state: AckState | None = None  # of own messages
    damaged: str = ""  # what of it the disk altered
    why: str = ""  # what the verdict leaves open
    twice: bool = False  # its author signed another message under the same number
    other_copy: str = ""  # what differs in another copy of it, where nothing proves which one is its author's

    @property
    def key(self) -> Key:
        return self.lamport, self.message_id


def shown_of(said: Said, received_at: int, via: str) -> Shown:
    """A message that was just delivered."""
    message, opened = said.message, said.opened
    return Shown(
        message.message_id,
        message.lamport_timestamp or 0,
        message.sender_id,
        said.nick,
        opened.text,
        str(opened.verdict),
        said.own,
        received_at,
        opened.sent_time,
        via,
        opened.kind,
        opened.reply_to,
        tuple(entry.message_id for entry in message.causal_history),
        AckState.UNACKED if said.own else None,
        why=opened.why,
    )


class OwnFate(NamedTuple):
    """The known delivery state of an own message."""

    state: AckState
    sends: int
    due: int  # of the next resend, epoch milliseconds; 0: none
    evidence: tuple[Evidence, ...]


class WaitingMessage(NamedTuple):
    """A message that is here, and not in the log because of what it waits for."""

    message_id: str
    sender_id: str
    lamport: int


class RetrievalState(StrEnum):
    """The current state of the retrieval of a missing message."""

    WAITING = "waiting"  # for T_req
    DUE = "due"  # T_req is over: the request goes with the next packet
    ASKED = "asked"  # by us
    RELYING = "relying"  # on the request of another
    OFF = "off"  # not asked for: repair is off, or there is no connection


class MissingMessage(NamedTuple):
    """A message that others name and that is nowhere here."""

    message_id: str
    sender_id: str | None
    since: int
    lost_at: int  # when it is given up, in connected time
    asking: RetrievalState
    due: int  # when it is asked for (again); 0: never
    attempts: int
    answerers: tuple[str, ...]  # sender ids of those here who may answer
    named_by: tuple[WaitingMessage, ...]  # earliest first


class Lost(NamedTuple):
    """A message that was given up."""

    message_id: str
    sender_id: str | None
    at: int


class Participant(NamedTuple):
    """A participant of a channel."""

    sender_id: str
    nick: str  # empty where nobody proved to have one
    online: bool
    heard_at: int  # epoch milliseconds of the last packet; 0: none since the channel is open here
    own: bool
    verified: bool = False  # the user has compared words with them
    next_at: int = 0  # about when their next packet is expected, epoch milliseconds; 0: none was heard


class SyncStatus(NamedTuple):
    """The completeness of a channel, as counts of messages."""

    missing: int
    lost: int
    held: int
    unacked: int  # own messages that nobody is known to have
    queued: int  # of these, never sent yet
    flood: Flood = Flood(0, 0)
