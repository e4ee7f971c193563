"""Conversations for an interface, and the plain values of which they consist.

A conversation is what an interface shows as one log, with the messages of a channel or of two participants of it. Texts
and nicks are not sanitized: clean them before showing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from sdschat.identity.content import ContentKind, Verdict
from sdschat.identity.handwritten import TomlError, did_you_mean, read_toml
from sdschat.identity.sanitize import before_text, harmless
from sdschat.identity.signing import by_name
from sdschat.node.channel.over_limit import Flood
from sdschat.node.events import Said
from sdschat.sds.values import AckState, Evidence, Message, MessageKind, Refusal
from sdschat.store.display_rows import UNREAD_COUNTED

# From the layers below: an interface imports these here, and knows no other module under the node.
__all__ = [
    "UNREAD_COUNTED",
    "AckState",
    "ContentKind",
    "Evidence",
    "Message",
    "MessageKind",
    "Refusal",
    "TomlError",
    "Verdict",
    "before_text",
    "by_name",
    "did_you_mean",
    "harmless",
    "read_toml",
]

Key = tuple[int, str]  # Lamport time and id: where a message stands in the log

RECEIPT: Final = "receipt"  # as which a direct message is known to be there: the reader said so, signed


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
    twice: bool = False  # its author signed another message under the same number
    other_copy: str = ""  # what differs in another copy of it, where nothing proves which one is its author's
    hidden: str = ""  # why its text is left out: the user wants to see nothing of its author

    @property
    def key(self) -> Key:
        return self.lamport, self.message_id


def shown_of(said: Said, received_at: int, via: str) -> Shown:
    """Return a message that was just delivered, as it will be read from the database."""
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
    )


class OwnFate(NamedTuple):
    """The known delivery state of an own message."""

    state: AckState
    sends: int
    due: int  # of the next resend, epoch milliseconds; 0: none
    evidence: tuple[Evidence, ...]
    kept_in: str = ""  # a channel that is not open, by which alone this direct message goes


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
    counts_from: int  # the time until then counts from here
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
    heard_at: int  # epoch milliseconds of what they said last; 0: nothing of it came here
    own: bool
    verified: bool = False  # the user has compared words with them
    hidden: str = ""  # "muted" or "ignored": the user wants to see nothing of them
    next_at: int = 0  # about when their next packet is expected, epoch milliseconds; 0: none was heard
    came_at: int = 0  # since when they are online, as far as is known here: epoch milliseconds
    tag: str = ""  # the beginning of the id, where another key goes by this nick
    outside: str = ""  # in a members' channel, in a word why they do not write: "left", "put out", …

    @property
    def heard_here(self) -> bool:
        """True if something that they said came since they are online."""
        return self.heard_at > 0 and self.heard_at >= self.came_at


class SyncStatus(NamedTuple):
    """The completeness of a channel, as counts of messages."""

    missing: int
    lost: int
    unacked: int  # own messages that nobody is known to have
    queued: int  # of these, never sent yet
    flood: Flood = Flood(0, 0)


_SIGN = "\x1f"  # in the name of no channel


def conversation_id(peer: str) -> str:
    """Return the name of the conversation with a participant: one for each key, whatever channels both are in."""
    return f"{_SIGN}{peer}"


def peer_of(name: str) -> str:
    """Return the sender id of the other participant of a conversation of two; nothing for a channel."""
    return name.partition(_SIGN)[2]


class Conversation(Protocol):
    """Implemented by `ChannelConversation` and `DirectConversation`. A window of the history costs the same however
    long the history is."""

    name: str
    peer: str  # the sender id of the other participant; empty for a channel

    @property
    def channel(self) -> str:
        """Return the channel itself, or the one by which messages to the other participant go now."""

    def title(self) -> str:
        """Return the channel's name, or the name of the other participant. Not sanitized: clean it before showing."""

    def tag(self) -> str:
        """Return the beginning of the other participant's id, where another key goes by that nick; else nothing."""

    def partner(self) -> Participant | None:
        """Return the other participant; None for a channel."""

    def say(self, text: str, kind: ContentKind, reply_to: str) -> None:
        """Send a message. Raises ValueError with a sentence."""

    # The history.

    def messages(self, *, before: Key | None = None, after: Key | None = None, limit: int = 100) -> list[Shown]:
        """Return the last messages before a key, or the first ones after it, in log order."""

    def message(self, message_id: str) -> Shown | None: ...

    def search(
        self, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        """Return the messages with all words, in any order, oldest first; the newest ones if there are too many."""

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]:
        """Return the ids that begin so: of the log, else of messages that wait before it."""

    def count(self) -> int:
        """Return the number of messages, about."""

    def rank(self, message_id: str) -> int:
        """Return about the number of messages up to this one; 0 if there is no such message."""

    def at_rank(self, rank: int) -> Key | None: ...

    def dated(self, moment: int) -> Key | None:
        """Return the key of the first message of this moment or later, in epoch milliseconds."""

    # Own messages, and what is not here yet.

    def remembered(self, message_id: str) -> OwnFate | None:
        """Return the fate of an own message that is at hand: all that are open, and the last acknowledged ones."""

    def own(self, message_id: str) -> OwnFate | None:
        """Return the fate of an own message, however old."""

    def open_messages(self) -> list[str]:
        """Return the ids of own messages that are not acknowledged, oldest first."""

    def missing(self) -> list[MissingMessage]: ...

    def lost(self) -> dict[str, Lost]: ...

    def sync(self) -> SyncStatus: ...

    def history_since(self) -> int:
        """Return the moment from which on the history is wanted here; 0: all of it, as far as we know."""

    def people(self) -> list[Participant]:
        """Return the participants, ourselves first."""

    def present(self) -> tuple[str, ...]:
        """Return the ids of the others who are here now, in the order of their names."""

    # State of the user. Saving returns False if it cannot be saved now; the node reports the reason itself.

    def draft(self) -> str: ...

    def set_draft(self, text: str) -> bool: ...

    def read_mark(self) -> Key | None:
        """Return the key of the message below which the line of unread messages is drawn."""

    def mark_read(self, key: Key) -> bool:
        """Save that everything here by now is read; the line is drawn below this message."""

    def unread(self) -> int:
        """Return the number of unread messages, at most `UNREAD_COUNTED`."""
