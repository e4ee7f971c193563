"""Opening and judging what a message says, before any of it is shown; and sealing what we say."""

from __future__ import annotations

import secrets

from sdschat.identity.content import ContentKind, OpenedContent, Verdict, claims_identity, open_content, seal
from sdschat.identity.key_book import KeyBook, KeyFact, KeyRow, NickRow
from sdschat.identity.keys import Identity
from sdschat.node.events import Said
from sdschat.sds.values import Message
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText

_CLAIMS_KEPT = 256


class ContentGate:
    """One for a node: the key book is the profile's, not a channel's."""

    def __init__(self, identity: Identity, nick: str, content_format: str, store: Store) -> None:
        self.identity = identity
        self.nick = nick
        keys, nicks = store.keys(), store.nicks()
        self.book = KeyBook([*(KeyRow(*row) for row in keys), *(NickRow(*row) for row in nicks)])
        self._format = content_format
        self._own: dict[bytes, OpenedContent] = {}
        self._claims: dict[str, Message] = {}

    def seal(self, channel: str, text: str, wall: int, kind: ContentKind, reply_to: str) -> bytes:
        """The content of a message of ours."""
        if self._format == "text":
            return text.encode()
        content = seal(
            self.identity,
            channel,
            text,
            nick=self.nick,
            sent_time=wall,
            nonce=secrets.token_bytes(16),
            kind=kind,
            reply_to=reply_to,
        )
        # It comes back in a moment as delivered, and need not be verified then: this is what we have just signed.
        self._own[content] = OpenedContent(
            Verdict.KNOWN, text, kind, self.nick, self.identity.public_key, wall, reply_to
        )
        return content

    def forget(self, content: bytes) -> None:
        """This content of ours will not come back."""
        self._own.pop(content, None)

    def read(self, message: Message, own: bool) -> Said:
        content = message.content or b""
        opened = self._own.pop(content, None) if own else None
        if opened is None:
            opened = open_content(content, message.channel_id, message.sender_id, message.message_id, self.book)
        nick = opened.nick if opened.verdict.signed else (self.nick if own else "")
        return Said(message, opened, nick, own)

    def nick_of(self, sender_id: str) -> str:
        """The nick that the key of this sender last went by; empty for who never signed anything."""
        row = self.book.row(sender_id)
        return "" if row is None else row.nick

    def meet(self, said: Said, wall: int) -> tuple[tuple[KeyRow | NickRow, ...], tuple[KeyFact, ...]]:
        """Record the author of a message, as far as proven. Return the rows to save and the events to emit."""
        return self.book.meet(said.opened, wall)

    def note_claim(self, message: Message) -> None:
        """A message bears our sender id. If the engine does not know it, somebody has to look at its signature."""
        if len(self._claims) < _CLAIMS_KEPT:
            self._claims[message.message_id] = message

    def proven_claim(self, message_id: str) -> bool:
        """True if a refused message under our sender id was signed with our key. Nothing weaker raises the alarm."""
        message = self._claims.get(message_id)
        return message is not None and self.proves_ours(message)

    def proves_ours(self, message: Message) -> bool:
        """True if our key signed this message."""
        return claims_identity(self.read(message, own=False).opened, self.identity)

    def forget_claims(self) -> None:
        self._claims.clear()


def indexed(said: Said) -> IndexedText:
    """Return the row that the store keeps of a text, for display and search."""
    opened, message = said.opened, said.message
    return IndexedText(
        message.channel_id, message.message_id, said.nick, opened.text or "", str(opened.verdict), opened.sent_time
    )
