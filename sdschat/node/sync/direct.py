"""Direct messages between two participants of a channel: MVDS in batch mode, kept and sent again until the other has
them, sealed for the reader and signed for nobody else."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.identity.content import (
    ContentKind,
    OpenedContent,
    Verdict,
    check_link,
    open_direct,
    problems_with,
    seal_direct,
    sign_link,
)
from sdschat.identity.key_book import KeyStanding
from sdschat.identity.key_rows import BookRow
from sdschat.identity.sanitize import harmless
from sdschat.mvds import events as mvds
from sdschat.mvds.config import Config
from sdschat.mvds.engine import Engine
from sdschat.mvds.limits import KIB
from sdschat.mvds.values import Mode, Packet, Payload, Refusal, Write, message_id
from sdschat.node.channel.content import save_book
from sdschat.node.clock import Clock
from sdschat.node.events import DirectRefused, DirectSaid, EventBody, TroubleMet
from sdschat.node.sync.direct_limits import DAY, DirectLimits, ForgeryNotices
from sdschat.node.sync.people import DirectPeers
from sdschat.sds.events import Rejected, StateChanged
from sdschat.sds.values import AckState, Now, Reason
from sdschat.store.direct import DirectMessages
from sdschat.store.display_rows import DirectRow
from sdschat.store.mvds import MvdsStore
from sdschat.store.transaction import Transaction
from sdschat.wire.catchup_codec import DIRECT, SyncCodec, split_signature, with_signature

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.profile import Profile

MAX_TEXT: Final = 128 * KIB
# A packet that is lost is rare, and a peer that is not here is sent what waits as soon as it is: no need to hurry. No
# need to go on for ever either: what was sent eight times, in a quarter of an hour, rests until the peer shows itself.
# The owner of a key that was lost never does.
CONFIG: Final = Config(
    epoch=250,
    mode=Mode.BATCH,
    backoff_first=12,
    backoff_max=4096,
    backoff_low=256,
    expire_after=8,
    presence_interval=2000,
    packet_bytes=248 * KIB,
)
_GROUP_TAG: Final = b"sdschat/direct/v1\0"


class DirectOutput(NamedTuple):
    """`packets` may go out once `writes` and `rows` are saved; then `events` may be told."""

    writes: tuple[Write, ...]
    rows: tuple[DirectRow, ...]
    met: tuple[BookRow, ...]
    packets: tuple[Packet, ...]
    events: tuple[EventBody, ...]


class DirectMessaging:
    """Direct messages of one channel. Not an extension of its own: `SyncExtension` hears the topic for it."""

    def __init__(self, session: ChannelSession, profile: Profile, gate: ContentGate, clock: Clock) -> None:
        self._session = session
        self._gate = gate
        self._clock = clock
        self._kept = MvdsStore(profile.store, session.name)
        self.messages = DirectMessages(profile.store, session.name)
        self.people = DirectPeers(session.presence, gate)
        self._engine = Engine(CONFIG, profile.chance, self._kept, clock.now(), self._kept.snapshot())
        self._codec = SyncCodec()
        self._limits, self._limits_of_people = DirectLimits(), DirectLimits()
        self._forgeries = ForgeryNotices()
        self._written_to = self.messages.written_to()
        self._rows: list[DirectRow] = []
        self._events: list[EventBody] = []
        self._met: list[BookRow] = []

    def send(self, to: str, text: str, kind: ContentKind = ContentKind.TEXT, reply_to: str = "") -> str:
        """Write to a participant, by nick or id; gives the message's id. Raises ValueError, with nothing changed, for
        somebody who is not known, or a text that cannot be sent."""
        if not text:
            raise ValueError("A message needs some text.")
        if len(text.encode("utf-8", "replace")) > MAX_TEXT:
            raise ValueError(f"A direct message has at most {MAX_TEXT // KIB} KiB of text. Send it in parts.")
        for problem in problems_with(text, self._gate.nick, reply_to):
            raise ValueError(problem)
        person = self.people.find(to)
        if not self._session.speaks:
            raise ValueError(f"You are no member of {self._session.name}: nobody would deliver this.")
        if self._session.is_outsider(person.sender_id):
            raise ValueError(f"{person.nick or to} is no member of {self._session.name}: nobody would deliver this.")
        now, identity, nick = self._clock.now(), self._gate.identity, self._gate.nick
        body = seal_direct(
            identity,
            person.key,
            self._session.name,
            text,
            reader=person.sender_id,
            nick=nick,
            sent_time=now.wall,
            nonce=secrets.token_bytes(16),
            kind=kind,
            reply_to=reply_to,
        )
        if person.nick:
            self._learn(OpenedContent(Verdict.NEW, None, kind, person.nick, person.key), now, welcome=True)
        group = self._meet(person.sender_id)
        found = self._engine.send(group, body, now, mode=Mode.BATCH).hex()
        self._written_to.add(person.sender_id)
        opened = OpenedContent(Verdict.KNOWN, text, kind, nick, identity.public_key, now.wall, reply_to)
        self._keep(found, person.sender_id, opened, now, own=True)
        self._events.append(DirectSaid(found, identity.sender_id, person.sender_id, nick, opened, True))
        self._events.append(StateChanged(found, AckState.UNACKED, (), 0, None))
        self._session.mark_ready()
        return found

    def sending(self, message_id: str, to: str) -> tuple[int, int] | None:
        """Return the number of times a message went out so far, and the time of the next one, in epoch milliseconds.
        None: `to` has it."""
        found, now = self._engine.sending(to, bytes.fromhex(message_id)), self._clock.now()
        return None if found is None else (found[0], now.to_wall(found[1]))

    # What the channel tells.

    def presence_changed(self, sender_id: str, online: bool) -> None:
        now = self._clock.now()
        if online:
            self._engine.peer_online(sender_id, now)
        else:
            self._engine.peer_offline(sender_id, now)
        self._session.mark_ready()

    def heard(self, frm: str, packet: bytes, payload: Payload | Refusal, now: Now) -> None:
        """Take in a packet if its signature proves who sent it: the topic says so, too, but anybody can use that."""
        key, (raw, signature) = self.people.key_of(frm), split_signature(packet)
        if key is None or not check_link(key, self._session.name, self._gate.identity.sender_id, raw, signature):
            if self._forgeries.is_due(now.mono):
                self._events.append(DirectRefused(frm, "it was not sent by whom it says"))
            return
        if self._gate.is_ignored(frm):
            return
        if self._session.is_outsider(frm):
            if self._forgeries.is_due(now.mono):
                self._events.append(DirectRefused(frm, "they are no member of this channel"))
            return
        if not self._is_expected(frm):
            limits = self._limits_of_people if self._gate.is_established(frm, now.wall - DAY) else self._limits
            why = limits.exceeded(frm, now.mono)
            if why:
                if limits.first(frm):
                    self._events.append(DirectRefused(frm, why))
                return
            limits.count(frm, payload.messages if isinstance(payload, Payload) else ())
        self._meet(frm)
        self._engine.receive(frm, payload, now)

    def _is_expected(self, peer: str) -> bool:
        """True for whom the user wrote to or verified, and for members of a private channel."""
        verified = self._gate.book.is_any(peer, int(KeyStanding.VERIFIED))
        return self._session.private is not None or verified or peer in self._written_to

    def post(self, packet: Packet) -> bytes:
        """Return the bytes of a packet as it goes out, with our signature."""
        raw = self._codec.encode_records(packet.payload, DIRECT)
        return with_signature(raw, sign_link(self._gate.identity, self._session.name, packet.peer, raw))

    def advance(self, now: Now) -> None:
        self._engine.advance(now)

    def next_wake(self) -> int | None:
        return self._engine.next_wake() if self._session.transport.connected else None

    def take(self, now: Now) -> DirectOutput:
        """Take the output that is ready. Without a connection nothing goes out: it is sent again when its time
        comes."""
        ready = self._engine.take()
        for event in ready.events:
            match event:
                case mvds.Delivered(mid, message, peer, gap) if peer:
                    self._read(mid.hex(), message.body, peer, tuple(parent.hex() for parent in gap), now)
                case mvds.Acknowledged(mid, peer):
                    self._acknowledged(mid.hex(), peer)
                case mvds.Expired(mid, peer, _, sends) if self.messages.one(mid.hex()) is not None:
                    self._events.append(TroubleMet(self._unanswered(peer, sends)))
                case mvds.Rejected(peer, reason, _, detail):
                    text = f"direct message: {reason} {detail}".rstrip()
                    self._events.append(Rejected(Reason.UNREADABLE, peer, "", text))
        found = DirectOutput(ready.writes, tuple(self._rows), tuple(self._met), ready.packets, tuple(self._events))
        self._rows, self._met, self._events = [], [], []
        return found

    def save(self, transaction: Transaction, ready: DirectOutput) -> None:
        self._kept.save(transaction, ready.writes)
        for row in ready.rows:
            self.messages.put(transaction, row)
        save_book(transaction, ready.met)

    # Parts of it.

    def _meet(self, other: str) -> bytes:
        """Return the group of two: only they are in it, and each pair has its own."""
        group = pair_group(self._session.name, self._gate.identity.sender_id, other)
        self._engine.join(group, (other,))
        if other in self._session.presence.online:
            self._engine.peer_online(other, self._clock.now())
        return group

    def _read(self, found: str, body: bytes, peer: str, gap: tuple[str, ...], now: Now) -> None:
        opened = open_direct(self._gate.identity, body, self._session.name, peer, self._gate.book)
        if opened is None:
            self._events.append(DirectRefused(peer, "it is not sealed for us, or not signed by whom it comes from"))
            return
        self._learn(opened, now)
        self._keep(found, peer, opened, now, own=False)
        if not self._gate.is_muted(peer):
            self._events.append(DirectSaid(found, peer, self._gate.identity.sender_id, opened.nick, opened, False, gap))

    def _learn(self, opened: OpenedContent, now: Now, *, welcome: bool = False) -> None:
        """Learn the key of a participant to whom we write or who writes to us, so that one can write to it while it is
        away. One to whom we write is `welcome`."""
        rows, events = self._gate.book.meet(opened, now.wall, welcome=welcome)
        self._met += rows
        self._events += events

    def _keep(self, found: str, peer: str, opened: OpenedContent, now: Now, *, own: bool) -> None:
        state = AckState.UNACKED if own else AckState.ACKED
        self._rows.append(
            DirectRow(
                found,
                peer,
                own,
                opened.nick,
                opened.text or "",
                opened.kind,
                opened.sent_time,
                now.wall,
                int(state),
                opened.reply_to,
                str(opened.verdict),
            )
        )

    def _unanswered(self, peer: str, sends: int) -> str:
        name = harmless(self._gate.nick_of(peer)) or "a participant"
        return (
            f"{name} ({peer}) did not answer a direct message, which was sent {sends} times; it goes out again "
            "when they are here with this key"
        )

    def _acknowledged(self, found: str, peer: str) -> None:
        row = self.messages.one(found)  # it went out, so it is saved
        if row is None or not row.own:
            return  # the other one gave us the same message: nothing of ours is delivered by that
        self._rows.append(row._replace(state=int(AckState.ACKED)))
        self._events.append(StateChanged(found, AckState.ACKED, (peer,), 0, None))


def pair_group(channel: str, one: str, other: str) -> bytes:
    """Return the MVDS group of two participants of a channel."""
    parts = [part.encode() for part in (channel, *sorted((one, other)))]
    return hashlib.sha256(_GROUP_TAG + b"".join(len(part).to_bytes(4) + part for part in parts)).digest()


def ids_of(packets: Iterable[Packet]) -> list[str]:
    """Return the messages in these packets."""
    return [message_id(message).hex() for packet in packets for message in packet.payload.messages]
