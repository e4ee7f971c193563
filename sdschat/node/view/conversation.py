"""A conversation: what an interface shows as one log, with the messages of a channel or of two participants of it."""

from __future__ import annotations

from typing import Protocol

from sdschat.identity.content import ContentKind
from sdschat.node.view.values import Key, Lost, MissingMessage, OwnFate, Participant, Shown, SyncStatus

_SIGN = "\x1f"  # in the name of no channel


def conversation_id(channel: str, peer: str) -> str:
    """Return the name of the conversation with a participant of a channel."""
    return f"{channel}{_SIGN}{peer}"


def split_id(name: str) -> tuple[str, str]:
    """Return the channel and the sender id of the peer of a conversation; the peer of a channel is empty."""
    channel, _, peer = name.partition(_SIGN)
    return channel, peer


class Conversation(Protocol):
    """Implemented by `ChannelConversation` and `DirectConversation`. A window of the history costs the same however
    long the history is."""

    name: str
    channel: str  # the channel itself, or the one that the conversation is held in
    peer: str  # the sender id of the other participant; empty for a channel

    def title(self) -> str:
        """Return the channel's name, or the name of the other participant. Not sanitized: clean it before showing."""

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

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]: ...

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
        """Return the ids of the others who are here now, in the order in which they came."""

    # State of the user. Saving returns False if it cannot be saved now; the node reports the reason itself.

    def draft(self) -> str: ...

    def set_draft(self, text: str) -> bool: ...

    def read_mark(self) -> Key | None:
        """Return the key of the message below which the line of unread messages is drawn."""

    def mark_read(self, key: Key) -> bool:
        """Save that everything here by now is read; the line is drawn below this message."""

    def unread(self) -> int: ...
