"""Opening and judging what a message says, before any of it is shown; and sealing what we say."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from sdschat.identity.content import (
    ContentKind,
    OpenedContent,
    Verdict,
    claims_identity,
    open_content,
    open_verified,
    seal,
)
from sdschat.identity.key_book import SILENCED, KeyBook, KeyEvent, KeyStanding
from sdschat.identity.key_rows import BookRow, KeyForgotten, KeyRow, NickRow, StandingForgotten, StandingRow
from sdschat.identity.place import forged, is_placed, refusal_of
from sdschat.identity.signing import Identity
from sdschat.node.channel.copies import OtherCopies
from sdschat.node.channel.own_chain import OwnChains
from sdschat.node.channel.strangers_share import PREFIX, StrangersShare
from sdschat.node.events import DeviceRenewed, EventBody, IdentityUsedElsewhere, Said
from sdschat.sds.ids import recipe_of
from sdschat.sds.values import Compose, Draft, Message, MessageKind, Reason, Refusal
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText, Transaction
from sdschat.wire.chat_codec import PLACED_NONCE_BYTES, Place, is_ours

_CLAIMS_KEPT = 256
_ELSEWHERE_KEPT: Final = 64
_IGNORED: Final = int(KeyStanding.IGNORED)
_VERIFIED_KEPT = 4096


class ContentGate:
    """One for a node: the key book is the profile's, not a channel's."""

    def __init__(
        self,
        identity: Identity,
        nick: str,
        content_format: str,
        store: Store,
        strangers_share: int = 0,
        *,
        unsigned_wait: bool = False,
    ) -> None:
        """`unsigned_wait`: of those who sign nothing, a few new ones are shown at once, as of new keys."""
        self.identity = identity
        self.nick = nick
        keys, nicks, people = store.keys(), store.nicks(), store.standings()
        self.book = KeyBook(
            [
                *(StandingRow(*row) for row in people),
                *(KeyRow(*row) for row in keys),
                *(NickRow(*row) for row in nicks),
            ]
        )
        self.share = StrangersShare(strangers_share, store.values(PREFIX).values())
        self._format = content_format
        self._unsigned_wait = unsigned_wait
        self.chains = OwnChains(store)
        self.copies = OtherCopies(self.book)
        self._composed: OpenedContent | None = None
        self._own: dict[str, OpenedContent] = {}
        self._elsewhere: set[bytes] = set()  # devices that use our key elsewhere, and were told
        self._verified: OrderedDict[str, None] = OrderedDict()  # ids of messages with a signature that was checked
        self._claims: dict[str, Message] = {}

    def compose(self, channel: str, text: str, wall: int, kind: ContentKind, reply_to: str) -> Compose:
        """Return the function that makes the content of a message of ours, once its place in the log is known."""
        if self._format == "text":
            return lambda _: text.encode()

        def signed(draft: Draft) -> bytes:
            place = self.chains.place(channel, draft)
            content = seal(
                self.identity,
                channel,
                text,
                nick=self.nick,
                sent_time=wall,
                nonce=secrets.token_bytes(PLACED_NONCE_BYTES),
                place=place,
                kind=kind,
                reply_to=reply_to,
            )
            key = self.identity.public_key
            self._composed = OpenedContent(Verdict.KNOWN, text, kind, self.nick, key, wall, reply_to, place)
            return content

        return signed

    def sent(self, message: Message) -> None:
        """Note that the message that was composed last is in the log: its number is used. It comes back in a moment as
        delivered, and need not be verified then: this is what we have just signed."""
        opened = self._composed
        if opened is not None and opened.place is not None:
            self.chains.sent(message.channel_id, opened.place, message.message_id)
            self._own[message.message_id] = opened

    def wrote(self, message_id: str) -> bool:
        """True if this is a message of ours that was just sent, and not yet told as delivered."""
        return message_id in self._own

    def meets_itself(self, message_id: str, place: Place) -> tuple[EventBody, ...]:
        """Look at a message that our key signed and that this profile did not send now. If it is of our own device, its
        number must not be used again. Of another one it is told once a run: all its messages may come."""
        if place.device == self.chains.device:
            self.chains.renew()
            return (DeviceRenewed(message_id),)
        if place.device in self._elsewhere or self.chains.was(place.device) or len(self._elsewhere) >= _ELSEWHERE_KEPT:
            return ()
        self._elsewhere.add(place.device)
        return (IdentityUsedElsewhere(message_id),)

    def refusal_of(self, message: Message, held: bool, claim: Refusal | None) -> Refusal | None:
        """Return the reason why a message must not reach the engine, if there is one. Anybody who can write to the
        channel can be the first to send something under the id of a message that we lack, or a message at another
        place than its author's. `held`: a message with this id is here already. If its signature was checked lately,
        that need not be done again. `claim`: what `claim_of` says."""
        refusal = refusal_of(message) or claim
        checked = held and message.message_id in self._verified
        if refusal is not None or checked or not is_placed(message):
            return refusal
        if (refusal := forged(message)) is not None:
            return refusal
        self._verified[message.message_id] = None
        if len(self._verified) > _VERIFIED_KEPT:
            self._verified.popitem(last=False)
        return None

    def claim_of(self, message: Message, held: bool) -> Refusal | None:
        """Return a refusal for content that nobody signed, in the name of somebody who signs. Those who have not heard
        of that one have it in their logs. `held`: a message with this id is here already."""
        if message.sender_id != self.identity.sender_id:
            return self._borrowed(message)
        if held or self._format == "text" or message.kind is not MessageKind.CONTENT or is_placed(message):
            return None
        if self.proves_ours(message):
            return None
        why = "it is not signed, and bears our name"
        return Refusal(Reason.OWN_ID_UNKNOWN, why, message.sender_id, message.message_id)

    def is_borrowed(self, message: Message) -> bool:
        """True for what nobody signed, in the name of another who signs, but for sync messages."""
        if message.kind is MessageKind.SYNC or is_placed(message) or message.sender_id == self.identity.sender_id:
            return False
        return self.book.signs(message.sender_id)

    def _borrowed(self, message: Message) -> Refusal | None:
        """Return a refusal for content that nobody signed, in the name of somebody who signs, under an id that is not
        made of it: it may be the id of a signed message that is not here yet. Bare text of theirs has an id of its own.
        """
        if is_ours(message.content or b"") or not self.book.signs(message.sender_id):
            return None
        if message.kind is not MessageKind.CONTENT or recipe_of(message) != "foreign":
            return None
        why = "it is not signed, and its id is not made of it"
        return Refusal(Reason.ALTERED, why, message.sender_id, message.message_id)

    def _open(self, message: Message) -> OpenedContent:
        content = message.content or b""
        if message.message_id in self._verified:
            opened = open_verified(content, message.message_id, self.book)
            if opened is not None:
                return opened
        return open_content(content, message.channel_id, message.sender_id, message.message_id, self.book)

    def read(self, message: Message, own: bool) -> Said:
        opened = self._own.pop(message.message_id, None) if own else None
        if opened is None:
            opened = self._open(message)
        nick = opened.nick if opened.verdict.signed else (self.nick if own else "")
        return Said(message, opened, nick, own)

    def nick_of(self, sender_id: str) -> str:
        """Return the nick that the key of this sender last went by; empty for who never signed anything."""
        row = self.book.row(sender_id)
        return "" if row is None else row.nick

    def is_established(self, sender_id: str, by: int) -> bool:
        """True for somebody verified, or who is shown and was met by that time: no key made since then."""
        row = self.book.row(sender_id)
        met = row is not None and self.book.is_person(sender_id) and row.first_seen <= by
        return met or self.book.is_any(sender_id, int(KeyStanding.VERIFIED))

    def is_muted(self, sender_id: str) -> bool:
        """True if the user wants to see nothing of this participant."""
        return self.book.is_any(sender_id, SILENCED)

    def is_hidden(self, sender_id: str) -> bool:
        """True if what this participant says is not shown: they are muted, or a stranger who waits."""
        return self.is_muted(sender_id) or self.book.is_waiting(sender_id)

    def is_crowded_out(self, message: Message, wall: int) -> bool:
        """True if a message is of a stranger who waits, or would, and their share of the disk is full."""
        may_wait = self._unsigned_wait or is_placed(message)
        return self.share.full and may_wait and self.book.waits(message.sender_id, wall)

    def is_ignored(self, sender_id: str) -> bool:
        """True if the user wants nothing of this participant to be kept."""
        return self.book.is_any(sender_id, _IGNORED)

    def meet(
        self, said: Said, wall: int, *, welcome: bool = False, dated: int | None = None
    ) -> tuple[tuple[BookRow, ...], tuple[KeyEvent, ...]]:
        """Record the author of a message, as far as proven. Return the rows to save and the events to emit."""
        known = welcome or said.own
        if self._unsigned_wait and not known and not said.opened.verdict.signed:
            return self.book.meet_unsigned(said.message.sender_id, wall, dated=dated), ()
        said_at = said.message.lamport_timestamp or 0
        return self.book.meet(said.opened, wall, welcome=known, dated=dated, said_at=said_at)

    def note_claim(self, message: Message) -> None:
        """Note a message that bears our sender id. If the engine does not know it, its signature has to be verified."""
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


def save_book(transaction: Transaction, rows: Iterable[BookRow]) -> None:
    """Save rows of the key book."""
    for row in rows:
        match row:
            case KeyRow():
                transaction.put_key(*row)
            case NickRow():
                transaction.put_nick(*row)
            case StandingRow():
                transaction.put_standing(*row)
            case KeyForgotten(public_key):
                transaction.forget_key(public_key)
            case StandingForgotten():
                transaction.forget_standing(*row)


def indexed(said: Said) -> IndexedText:
    """Return the row that the store keeps of a text, for display and search."""
    opened, message = said.opened, said.message
    return IndexedText(
        message.channel_id, message.message_id, said.nick, opened.text or "", str(opened.verdict), opened.sent_time
    )
