"""Members and keys of one private channel: an extension that follows the operations in its log."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sdschat.identity.content import ContentKind, OpenedContent, Verdict
from sdschat.identity.packets import SECRET_BYTES, epoch_key
from sdschat.identity.private.link import accept, epoch_mark, make_removal, read_link, renewed_secret, secrets_known
from sdschat.identity.private.roster import Roster, SignedOperation
from sdschat.identity.signing import sender_id_of
from sdschat.node.channel.content import ContentGate, indexed
from sdschat.node.channel.extension import ExtendedChannel, ExtensionOutput, PassiveExtension
from sdschat.node.events import (
    EpochChanged,
    MembersChanged,
    MessageDelivered,
    MessageWithheld,
    NotAMember,
    OperationsReworded,
    Said,
)
from sdschat.node.private.announcing import AnnouncementTimer
from sdschat.node.private.held import HeldOperations
from sdschat.node.private.operations import (
    epoch_of_message,
    has_operation,
    is_given,
    is_older_than_epoch,
    joinings_of,
    last_joining,
    operation_words,
    refusal_words,
    signed_operation,
)
from sdschat.node.private.record import EpochSecret, PrivateRecord, invite_link, present_epoch, save_operations
from sdschat.node.private.rights import member_key, require_rank_above
from sdschat.node.private.sealer import ChannelSealer
from sdschat.sds.values import Message, MessageKind, Now, Refusal
from sdschat.store.transaction import IndexedText, Transaction
from sdschat.transport.sealing import SealedTransport
from sdschat.wire.private_codec import Admin, Join, Operation, Renew, encode_operation

if TYPE_CHECKING:
    from sdschat.node.events import EventBody
    from sdschat.sds.state import Ready

_ANNOUNCED: Final = 16  # removals that are sent again for those who have an earlier key
_JUDGED_AGAIN: Final = 10_000  # messages of the log behind a change of the members
_WITHHELD: Final = 1000  # ids of messages that may be shown later
_PATIENCE: Final = 30_000  # ms until we say that our invite was of no use

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
        self._set_roster(Roster())
        self.transport = transport
        self.operations = HeldOperations(record.genesis, operations)
        self._sealer = sealer
        self._gate = gate
        self._send = send
        self._msg_topic = msg_topic
        self._silent = silent
        self._record_changed = False
        self._events: list[EventBody] = []
        self._reworded: set[str] = set()  # operations of the log that count now, or do not any more
        self._judge_from: tuple[int, str] | None = None  # texts from this place on are to be judged again
        self._texts: list[IndexedText] = []
        self._announcements = AnnouncementTimer()
        self._doubt_at: int | None = None
        self.on_members: Callable[[], None] = _nothing  # called when others are members than before
        sealer.on_other_epoch = self._other_epoch

    # For the rest of the program.

    @property
    def own_key(self) -> bytes:
        return self._gate.identity.public_key

    @property
    def is_member(self) -> bool:
        return self.own_key in self.roster.members

    def _set_roster(self, roster: Roster) -> None:
        self.roster = roster
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
        if not self.is_member and not self.record.link:
            raise ValueError(f"You are no member of {self.record.name}: nobody would see this message.")

    def nick_of(self, key: bytes) -> str:
        """Return the nick of a member; empty for somebody who signed nothing yet."""
        return self._gate.nick if key == self.own_key else self._gate.nick_of(sender_id_of(key))

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
        name = (message.message_id,)
        return EpochSecret(epoch_mark(name), renewed_secret(before.secret, message.message_id))

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

    def remove(self, sender_id: str, *, banned: bool = False) -> str:
        """Remove a member, and change the key. Return the message's id. Raises ValueError where we may not."""
        if banned and self.own_key != self.record.genesis.creator_key:
            raise ValueError(f"Only the creator of {self.record.name} bans. Admins remove members.")
        target = member_key(self.roster, sender_id, self.record.name)
        require_rank_above(self.roster, self.own_key, target, self.record.name)
        remain = [key for key in self.roster.members if key != target]
        secret = secrets.token_bytes(SECRET_BYTES)
        operation = make_removal(target, self.roster.seen, remain, secret, banned=banned)
        return self._say(operation)

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

    # An extension of the channel.

    def attach(self, session: ExtendedChannel) -> None:
        self._session = session
        session.watchers.append(self._see)
        if self.gives_since_join:
            self.transport.epoch_of = self._epoch_of
        for mark, secret in self.record.secrets.items():
            self._sealer.add(secret)
            if mark == self.record.present:
                self._sealer.use(epoch_key(secret).epoch_id)
        for secret in self.record.shared.values():
            self._sealer.add(secret)
        self._set_roster(self.operations.folded())
        self._follow()
        self._events.clear()  # as it was when the program last ran
        if self.record.link and not self.is_member:
            self._join(session)

    def _join(self, session: ExtendedChannel) -> None:
        own = joinings_of(self.own_key, self.operations.in_log.values())
        try:
            link = read_link(self.record.link, 0)  # whether it has expired is for the log to say
        except ValueError:
            return
        join = accept(link, self._gate.identity, silent=self._silent)
        if not any(each.operation.invite == join.invite for each in own):
            self._say(join)
        self._doubt_at = self._mono + _PATIENCE

    def next_wake(self) -> int | None:
        # Once the turn is over: what is judged again must be in the log.
        judge_at = self._mono if self._judge_from is not None or self._reworded else None
        due = (self._announcements.due, self._doubt_at, judge_at)
        return min((when for when in due if when is not None), default=None)

    def advance(self, now: Now) -> None:
        self._texts += [*self._judged_again(), *self._worded_again()]
        if self._announcements.take(now.mono):
            self._announce()
        if self._doubt_at is not None and now.mono >= self._doubt_at:
            self._doubt_at = None
            self._tell_refusal()

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        texts, self._texts = self._texts, []
        events, self._events = self._events, []
        operations, gone = self.operations.take_changes()
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
            return said._replace(opened=opened._replace(text=self._line(signed)))
        return said if self._may_speak(message, opened) else None

    def _count(self, signed: SignedOperation) -> None:
        """Count an operation of the log from now on."""
        self.operations.add(signed)
        self._refold(signed.lamport, signed.message_id)
        self.operations.forget_useless(self.roster)
        self._announce_own(signed)

    def _may_speak(self, message: Message, opened: OpenedContent) -> bool:
        if self.record.genesis.data_set:
            return False  # what is said in a members' channel is an event of its data set
        if opened.author_key == self.own_key:
            return True  # whoever wrote it sees it
        position = (message.lamport_timestamp or 0, message.message_id)
        return opened.verdict.signed and self.roster.speaks_at(opened.author_key, position)

    def _signed_operation(self, message: Message, opened: OpenedContent) -> SignedOperation | None:
        return signed_operation(self.record.genesis, message, opened)

    def _see(self, _via: str, packet: bytes, message: Message | Refusal | None) -> None:
        """An operation counts for the keys as soon as it is here. Its place in the log may have to wait for messages
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
        self._announcements.members_changed()
        self._follow()
        if self.roster.members.keys() != before.members.keys():
            self._events.append(MembersChanged(tuple(map(sender_id_of, self.roster.members))))
            self.on_members()
            self._session.members_changed()
            if self.own_key in before.members and not self.is_member:
                # Others who joined by the same invite may come late: then our joining did not count after all.
                refused = self._refusal()
                self._events.append(NotAMember(refused or f"you were removed from {self.record.name}"))
        if self.is_member and self.record.link:
            self._change(replace(self.record, link=""))
            self._doubt_at = None
        elif self.record.link and self._doubt_at is None:
            self._doubt_at = self._mono + _PATIENCE
        outcomes = self.roster.outcomes
        held = self.operations.in_log
        self._reworded |= {one for one in held if before.outcomes.get(one, "") != outcomes.get(one, "")}
        if self.roster.changes == before.changes:
            return  # everybody speaks where they spoke
        place = (lamport, message_id)
        self._judge_from = place if self._judge_from is None else min(self._judge_from, place)

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
        mark = epoch_mark(roster.epoch)
        present = mark if mark in marked else record.present
        self._sealer.use(epoch_key(marked[present]).epoch_id)
        if (shared, marked, present) != (record.shared, record.secrets, record.present):
            self._change(replace(record, shared=shared, secrets=marked, present=present))
        if self._sealer.epoch_id != before:
            self._events.append(EpochChanged(roster.epoch_number))
        if self._sealer.epoch_id != before or marked.keys() != record.secrets.keys():
            self.transport.keys_changed()

    def _change(self, record: PrivateRecord) -> None:
        self.record = record
        self._record_changed = True

    def sent_again(self, message: Message) -> bool:
        """True for an old message under the key of its own epoch, as all are sent where newcomers get nothing older."""
        return self.gives_since_join and is_older_than_epoch(self.roster, message)

    def heard_outdated(self, message_id: str, *, proven: bool, again: bool = False) -> None:
        """A packet came under an earlier key. `message_id`: of the message in it, or empty. One with a removal does not
        show that somebody lacks it: a member announces it. `proven`: it is new, and by a member."""
        if message_id not in self.roster.epoch_before and not again:
            self._announce_soon(doubtful=not proven)

    def _other_epoch(self, opened: bool) -> None:
        """Somebody seals with another key than we do: one of us may lack a removal."""
        if not opened:
            self._announce_soon(doubtful=True)

    def _announce_soon(self, *, doubtful: bool) -> None:
        if self.roster.epoch_before and self._announcements.ask(self._mono, doubtful=doubtful):
            self._session.mark_ready()

    @property
    def _mono(self) -> int:
        return self._session.channel.state.now.mono

    def _announce_own(self, signed: SignedOperation) -> None:
        if signed.author_key == self.own_key and signed.message_id in self.roster.epoch_before:
            self._announcements.at_once(self._mono)

    def _announce(self) -> None:
        """Send the removals again, each with the key of the epoch that it ended."""
        for message_id, name in list(self.roster.epoch_before.items())[-_ANNOUNCED:]:
            secret = self.record.secrets.get(epoch_mark(name))
            packet = self._packet(message_id)
            if secret is not None and packet is not None:
                self.transport.publish_in_epoch(epoch_key(secret).epoch_id, self._msg_topic, packet)

    def _packet(self, message_id: str) -> bytes | None:
        heard = self.operations.heard(message_id)
        if heard is not None:
            return heard[1]
        row = self._session.channel.state.history.row(message_id)
        return None if row is None else row.raw

    # What is shown.

    def _judged_again(self) -> list[IndexedText]:
        """Texts behind a change of the members that are shown now, or are not shown any more."""
        since, self._judge_from = self._judge_from, None
        if since is None:
            return []
        history, found = self._session.channel.state.history, list[IndexedText]()
        for entry in history.between(since[0], (1 << 62), _JUDGED_AGAIN):
            row = history.row(entry.message_id) if (entry.lamport, entry.message_id) > since else None
            message = None if row is None else self._session.read(row.raw).message
            if row is None or not isinstance(message, Message):
                continue
            said = self._gate.read(message, row.own)
            if said.opened.kind == ContentKind.OPERATION:
                continue
            shown = self._may_speak(message, said.opened)
            if shown == (message.message_id not in self.record.withheld):
                continue
            if shown:
                rest = tuple(one for one in self.record.withheld if one != message.message_id)
                self._change(replace(self.record, withheld=rest))
                found.append(indexed(said))
                self._events.append(MessageDelivered(said, True, (), row.source))
            else:
                found.append(self.withhold(said))
        return found

    def _worded_again(self) -> list[IndexedText]:
        """Lines of operations that were not known to count, because what they build upon came later."""
        reworded, self._reworded = self._reworded & self.operations.in_log.keys(), set()
        found: list[IndexedText] = []
        for message_id in reworded:
            row = self._session.channel.state.history.row(message_id)
            message = None if row is None else self._session.read(row.raw).message
            if row is not None and isinstance(message, Message):
                said = self._gate.read(message, row.own)
                opened = said.opened._replace(text=self._line(self.operations.in_log[message_id]))
                found.append(indexed(said._replace(opened=opened)))
        if found:
            self._events.append(OperationsReworded(tuple(text.message_id for text in found)))
        return found

    def _line(self, signed: SignedOperation) -> str:
        problem = self.roster.outcomes.get(signed.message_id, "")
        return operation_words(signed.operation, problem, self._name)

    def _name(self, key: bytes) -> str:
        return self.nick_of(key) or sender_id_of(key)[:8]

    def withhold(self, said: Said) -> IndexedText:
        """Return the row of a message that is not shown, and say that there is one."""
        message = said.message
        withheld = (*self.record.withheld, message.message_id)[-_WITHHELD:]
        self._change(replace(self.record, withheld=withheld))
        self._events.append(MessageWithheld(message.message_id, message.sender_id, said.nick))
        return indexed(said._replace(opened=said.opened._replace(verdict=Verdict.NOT_MEMBER, text="")))


def _nothing() -> None:
    pass
