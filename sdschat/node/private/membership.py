"""Members and keys of one private channel: an extension that follows the operations in its log."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sdschat.identity.content import ContentKind, OpenedContent
from sdschat.identity.packets import SECRET_BYTES, epoch_key
from sdschat.identity.private.link import accept, epoch_mark, make_removal, read_link, renewed_secret, secrets_known
from sdschat.identity.private.roster import Roster, SignedOperation
from sdschat.identity.signing import sender_id_of
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import ExtendedChannel, ExtensionOutput, PassiveExtension
from sdschat.node.events import EpochChanged, MembersChanged, NotAMember, Said
from sdschat.node.private.announcing import RemovalAnnouncer
from sdschat.node.private.known_operations import KnownOperations
from sdschat.node.private.operations import (
    Outsider,
    epoch_of_message,
    has_operation,
    is_given,
    is_of_later_key,
    is_older_than_epoch,
    joinings_of,
    last_joining,
    not_answered,
    outsiders,
    refusal_words,
    removal_words,
    removed_between,
    signed_operation,
)
from sdschat.node.private.record import EpochSecret, PrivateRecord, invite_link, present_epoch, save_operations
from sdschat.node.private.rights import member_key, require_rank_above
from sdschat.node.private.sealer import ChannelSealer
from sdschat.node.private.shown_messages import ShownMessages
from sdschat.sds.values import Message, MessageKind, Now, Refusal
from sdschat.store.transaction import IndexedText, Transaction
from sdschat.transport.sealing import SealedTransport
from sdschat.wire.private_codec import Admin, Join, Operation, Renew, encode_operation

if TYPE_CHECKING:
    from sdschat.node.events import EventBody
    from sdschat.sds.state import Ready

_PATIENCE: Final = 30_000  # ms until we say that our invite was of no use
_LOOKED_AT: Final = 10_000  # messages that came last, for those who tried to join

Send = Callable[[str, str, ContentKind], object]


class PrivateChannel(PassiveExtension):
    """Knows who is a member, and keeps the keys of the layer that seals in step with the log."""

    def __init__(
        self,
        record: PrivateRecord,
        operations: Iterable[SignedOperation],
        sealer: ChannelSealer,
        transport: SealedTransport,
        gate: ContentGate,
        send: Send,
        msg_topic: str,
        *,
        silent: bool = False,
    ) -> None:
        self.record = record
        self.transport = transport
        self.operations = KnownOperations(record.genesis, operations)
        self.announcer = RemovalAnnouncer(self.operations, transport, msg_topic)
        self.shown = ShownMessages(
            gate,
            self.operations.in_log,
            record.withheld,
            self._name,
            self._emit,
            only_operations=bool(record.genesis.data_set),
        )
        self._sealer = sealer
        self._gate = gate
        self._send = send
        self._msg_topic = msg_topic
        self._silent = silent
        self._record_changed = False
        self._events: list[EventBody] = []
        self._texts: list[IndexedText] = []
        self._doubt_at: int | None = None
        self.on_members: Callable[[], None] = lambda: None  # called when others are members than before
        sealer.on_other_epoch = self.announcer.other_epoch
        self._set_roster(Roster())

    # For the rest of the program.

    @property
    def own_key(self) -> bytes:
        return self._gate.identity.public_key

    @property
    def is_member(self) -> bool:
        return self.own_key in self.roster.members

    @property
    def is_unanswered(self) -> bool:
        """True if our invite may let us in once a member has answered."""
        return bool(self.record.link) and self._refusal() in ("", not_answered(self.record.name))

    def _set_roster(self, roster: Roster) -> None:
        self.roster = self.announcer.roster = self.shown.roster = roster
        self._member_ids = frozenset(map(sender_id_of, roster.members))

    def has(self, sender_id: str) -> bool:
        """True if this participant is a member now."""
        return sender_id in self._member_ids

    def is_outsider(self, sender_id: str) -> bool:
        """True for somebody who has the key of the channel, as by a link that was used up, and is no member. Who joins
        does not know the members yet."""
        return self.is_member and sender_id not in self._member_ids

    def has_voice(self, opened: OpenedContent) -> bool:
        """True if the author of a content may speak now."""
        member = self.roster.members.get(opened.author_key)
        return opened.verdict.signed and member is not None and not member.silent

    def may_count(self, message: Message) -> bool:
        """True for a joining that came just now, but for one that counts for nothing whatever else comes."""
        heard = self.operations.heard(message.message_id)
        return heard is not None and isinstance(heard[0].operation, Join)

    def require_voice(self) -> None:
        """Raise ValueError, for a person, if others would not show what we write."""
        if not self.is_member and not self.is_unanswered:
            raise ValueError(f"You are no member of {self.record.name}: nobody would see this message.")

    def nick_of(self, key: bytes) -> str:
        """Return the nick of a member; empty for somebody who signed nothing yet."""
        return self._gate.nick if key == self.own_key else self._gate.nick_of(sender_id_of(key))

    def _name(self, key: bytes) -> str:
        return self.nick_of(key) or sender_id_of(key)[:8]

    def invite(self, now: int, *, uses: int = 0, lasts: int = 0, broker: str = "") -> str:
        """Return a link that lets others in; `lasts` in milliseconds. Raises ValueError where we may not invite."""
        identity = self._gate.identity
        renewed = self._renew() if self.gives_since_join else None
        return invite_link(
            self.record, self.roster, identity, now, uses=uses, lasts=lasts, broker=broker, renewed=renewed
        )

    def _renew(self) -> EpochSecret:
        """Begin an epoch for an invite: who is invited opens nothing that was sealed before."""
        before = present_epoch(self.record, self.roster, self._gate.identity)
        message = self._write(Renew(before.mark, self.roster.seen))
        signed = self._signed_operation(message, self._gate.read(message, own=False).opened)
        assert signed is not None
        self._count(signed)  # now: another invite may follow in this turn
        return EpochSecret(epoch_mark((message.message_id,)), renewed_secret(before.secret, message.message_id))

    @property
    def gives_since_join(self) -> bool:
        """True if the creator said that who joins gets nothing that was written before."""
        return self.record.genesis.since_join

    def given(self, sender_id: str, message: Message) -> bool:
        """True if a participant may have this message of the log."""
        return not self.gives_since_join or is_given(self.roster, sender_id, message)

    def joins(self, message: Message) -> bool:
        """True if a message lets somebody join who has an earlier key: a later invite changed it. Whoever was removed
        has that key, too, and may sign any number of invites and joinings that are of no use."""
        if not self.gives_since_join or not has_operation(message):
            return False
        signed = self._signed_operation(message, self._gate.read(message, own=False).opened)
        join = None if signed is None or signed.problem else signed.operation
        if signed is None or not isinstance(join, Join) or join.invite.epoch not in self.roster.open_to:
            return False  # without folding: anybody may have sent it any number of times
        return (
            join.invite.inviter_key in self.roster.members
            and not self.operations.folded(signed).outcomes[signed.message_id]
        )

    def _epoch_of(self, topic: str, packet: bytes) -> bytes | None:
        """Return the epoch of an old message that is sent again, so that nobody opens it who joined later."""
        if topic != self._msg_topic:
            return None
        message = self._session.read(packet).message
        return epoch_of_message(
            self.roster, self.record.secrets, message, last_joining(self.own_key, self.operations.every())
        )

    def outsiders(self) -> dict[str, Outsider]:
        """Return by sender id those who have the key by a link, and are no members, as far as the log shows."""
        history = self._session.channel.state.history
        rows = (history.row(entry.message_id) for entry in history.recently_added(_LOOKED_AT))
        read = (self._session.read(row.raw).message for row in rows if row is not None)
        said = (self._gate.read(one, own=False) for one in read if isinstance(one, Message) and has_operation(one))
        signed = ((self._signed_operation(one.message, one.opened), one.nick) for one in said)
        return outsiders(self.roster, signed)

    def removable(self, sender_id: str, *, banned: bool = False) -> bytes:
        """Return the key of a member, or of who has but a link, whom we may remove. Raises ValueError otherwise."""
        if banned and self.own_key != self.record.genesis.creator_key:
            raise ValueError(f"Only the creator of {self.record.name} bans. Admins remove members.")
        outside = None if self.has(sender_id) else self.outsiders().get(sender_id)
        target = outside.key if outside else member_key(self.roster, sender_id, self.record.name, former=banned)
        require_rank_above(self.roster, self.own_key, target, self.record.name)
        return target

    def remove(self, sender_id: str, *, banned: bool = False) -> str:
        """Remove somebody, and change the key. Return the message's id. Raises ValueError where we may not."""
        target = self.removable(sender_id, banned=banned)
        remain = [key for key in self.roster.members if key != target]
        secret = secrets.token_bytes(SECRET_BYTES)
        return self._say(make_removal(target, self.roster.seen, remain, secret, banned=banned))

    def appoint(self, sender_id: str, granted: bool) -> str:
        """Make a member an admin, or a member again. Raises ValueError where we may not."""
        target = member_key(self.roster, sender_id, self.record.name)
        if self.own_key != self.record.genesis.creator_key:
            raise ValueError("Only the creator of a channel appoints admins.")
        return self._say(Admin(target, self.roster.seen, granted))

    def _say(self, operation: Operation) -> str:
        return self._write(operation).message_id

    def _write(self, operation: Operation) -> Message:
        message = self._send(self.record.name, encode_operation(operation), ContentKind.OPERATION)
        assert isinstance(message, Message)
        return message

    def _emit(self, event: EventBody) -> None:
        self._events.append(event)

    # An extension of the channel.

    def attach(self, session: ExtendedChannel) -> None:
        self._session = session
        self.announcer.attach(session)
        self.shown.attach(session)
        session.watchers.append(self._see)
        if self.gives_since_join:
            self.transport.epoch_of = self._epoch_of
        for secret in (*self.record.secrets.values(), *self.record.shared.values()):
            self._sealer.add(secret)
        self._sealer.use(epoch_key(self.record.secrets[self.record.present]).epoch_id)
        self._set_roster(self.operations.folded())
        self._follow()
        self._events.clear()  # as it was when the program last ran
        link = self.record.link
        joins = bool(link) and (not self.is_member or is_of_later_key(link, self.roster)) and self._join()
        if link and not joins:
            self._change(replace(self.record, link=""))  # it is of no use
        if not self.is_member and not joins:
            self._tell_that_we_are_out()

    def _join(self) -> bool:
        own = joinings_of(self.own_key, self.operations.in_log.values())
        link = read_link(self.record.link, 0)  # whether it has expired is for the log to say
        join = accept(link, self._gate.identity, silent=self._silent)
        again = any(each.operation.invite == join.invite for each in own)
        if not again:
            self._say(join)
        self._doubt_at = self._mono + (0 if again and self._refusal() else _PATIENCE)
        return not again or bool(self._refusal())  # else the invite counted, and we were removed since

    def next_wake(self) -> int | None:
        due = (self.announcer.due, self._doubt_at, self._mono if self.shown.waits else None)
        return min((when for when in due if when is not None), default=None)

    def advance(self, now: Now) -> None:
        self._texts += self.shown.changed()
        self.announcer.advance(now.mono, self.record.secrets)
        if self._doubt_at is not None and now.mono >= self._doubt_at:
            self._doubt_at = None
            self._tell_refusal()

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        texts, self._texts = self._texts, []
        events, self._events = self._events, []
        operations, gone = self.operations.take_changes()
        if self.shown.withheld is not self.record.withheld:
            self._change(replace(self.record, withheld=self.shown.withheld))
        record = self.record if self._record_changed else None
        self._record_changed = False
        if not (texts or operations or record is not None):
            return ExtensionOutput(events=events)

        def save(transaction: Transaction) -> None:
            save_operations(transaction, self._session.name, operations, gone)
            if record is not None:
                record.save(transaction)
            for text in texts:
                transaction.index_text(*text)

        return ExtensionOutput(save, events=events)

    # Operations.

    def judge(self, said: Said) -> Said | None:
        """Judge a message that takes its place in the log. None if it is not to be shown: its author is no member."""
        opened, message = said.opened, said.message
        signed = self._signed_operation(message, opened)
        if signed is not None:
            idle = self.operations.take_idle(signed.message_id)
            if idle:
                self.roster.outcomes[signed.message_id] = idle
            elif signed.message_id not in self.operations.in_log:
                self._count(signed)
            return self.shown.worded(said, signed)
        return said if self.shown.may_speak(message, opened) else None

    def _count(self, signed: SignedOperation) -> None:
        """Count an operation of the log from now on."""
        self.operations.add(signed)
        self._refold(signed.lamport, signed.message_id)
        self.operations.forget_useless(self.roster)
        if signed.author_key == self.own_key:
            self.announcer.made(signed.message_id)

    def _signed_operation(self, message: Message, opened: OpenedContent) -> SignedOperation | None:
        return signed_operation(self.record.genesis, message, opened)

    def _see(self, _via: str, packet: bytes, message: Message | Refusal | None) -> None:
        """Let an operation count for the keys as soon as it is here. Its place in the log may have to wait for messages
        that come only under the new key."""
        if not isinstance(message, Message) or message.kind is not MessageKind.CONTENT:
            return
        if self.operations.holds(message.message_id) or not has_operation(message):
            return
        signed = self._signed_operation(message, self._gate.read(message, own=False).opened)
        if signed is not None and self.operations.hear(signed, packet, self.roster):
            self._refold(signed.lamport, signed.message_id)

    def _refold(self, lamport: int, message_id: str) -> None:
        before = self.roster
        self._set_roster(self.operations.folded())
        self.announcer.members_changed()
        self._follow()
        if self.roster.members.keys() != before.members.keys():
            removed = removed_between(before, self.roster, self.operations.every())
            self._events.append(MembersChanged(tuple(map(sender_id_of, self.roster.members)), *removed))
            self.on_members()
            self._session.members_changed()
            if self.own_key in before.members and not self.is_member:
                self._tell_that_we_are_out()
        if self.is_member and self.record.link and not is_of_later_key(self.record.link, self.roster):
            self._change(replace(self.record, link=""))
            self._doubt_at = None
        elif self.record.link and self._doubt_at is None:
            self._doubt_at = self._mono + _PATIENCE
        self.shown.members_changed(before, (lamport, message_id))

    def _tell_that_we_are_out(self) -> None:
        """Say why we are no member: removed, or others who joined by the same invite came late, and before us."""
        banned = self.own_key in self.roster.banned
        self._events.append(NotAMember(self._refusal() or removal_words(self.record.name, banned=banned)))

    def _tell_refusal(self) -> None:
        refused = "" if self.is_member else self._refusal()
        if refused:
            self._events.append(NotAMember(refused))
            self._session.mark_ready()

    def _refusal(self) -> str:
        return refusal_words(self.record.name, self.roster, self.own_key, self.operations.in_log.values())

    # Keys.

    def _follow(self) -> None:
        """Use the key of the roster's epoch, as far as we have it."""
        before = self._sealer.epoch_id
        record, roster = self.record, self.roster
        every = {each.message_id: each.operation for each in self.operations.every()}
        names = (roster.epoch, *roster.epoch_before.values())
        shared, marked = secrets_known(self._gate.identity, names, every, record.shared, record.secrets)
        for secret in (*shared.values(), *marked.values()):
            self._sealer.add(secret)
        present = record.epoch_in_use(roster, self.own_key, marked)
        self._sealer.use(epoch_key(marked[present]).epoch_id)
        if self._sealer.epoch_id != before:
            self._events.append(EpochChanged(roster.epoch_number))
        if (shared, marked, present) != (record.shared, record.secrets, record.present):
            self._change(replace(record, shared=shared, secrets=marked, present=present))
            self.transport.keys_changed()

    def _change(self, record: PrivateRecord) -> None:
        self.record = record
        self._record_changed = True

    def sent_again(self, message: Message) -> bool:
        """True for an old message under the key of its own epoch, as all are sent where newcomers get nothing older."""
        return self.gives_since_join and is_older_than_epoch(self.roster, message)

    @property
    def _mono(self) -> int:
        return self._session.channel.state.now.mono
