"""Packets and events with hostile texts in every place that can hold one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sdschat.identity.content import OpenedContent, Verdict
from sdschat.identity.place import place_of
from sdschat.identity.signing import PLACED_DOMAIN, Identity, signed_bytes
from sdschat.node import events
from sdschat.node.events import EventBody
from sdschat.node.node import Node
from sdschat.node.store_client.events import StoreLeft
from sdschat.sds import events as ev
from sdschat.sds.values import Draft, HistoryEntry, Message, Reason
from sdschat.wire.chat_codec import Envelope, encode_envelope
from sdschat.wire.names import has_control
from sdschat.wire.sds_codec import SdsCodec

CODEC = SdsCodec()


def _sendable(text: str, most: int) -> str:
    """Return the text as UTF-8 of at most so many bytes: the decoder refuses anything else."""
    return text.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")


def _without_controls(text: str) -> str:
    """Return the text as it may be in a nick or an id: a content with any other is refused as a whole."""
    return "".join(letter for letter in text if not has_control(letter))


def signed(channel: str, text: str, nick: str, number: int, lamport: int, reply_to: str = "") -> tuple[bytes, Identity]:
    """Return content with a valid signature, also if our own code would refuse to seal it."""
    identity = Identity(hashlib.sha256(f"hostile {number}".encode()).digest())
    nick, reply_to = (_without_controls(_sendable(value, most)) for value, most in ((nick, 60), (reply_to, 100)))
    nick = nick or "x"
    key, text, place = identity.public_key, _sendable(text, 6_000), place_of(bytes(8), 1, "", Draft(lamport))
    bare = Envelope(key, bytes(8), nick, 1, 0, text, reply_to, b"", place)
    values = (channel, key, *place, *bare[2:7], bare.nonce)
    signature = identity.sign(signed_bytes(PLACED_DOMAIN, values))
    return encode_envelope(bare._replace(signature=signature)), identity


def packets(channel: str, texts: tuple[str, ...], now: int) -> Iterator[bytes]:
    """Yield signed messages with the text in text, nick and reply, and foreign ones with it in every id."""
    for number, text in enumerate(texts):
        content, identity = signed(channel, text, text, number, now + number, reply_to=text)
        message_id = hashlib.sha256(content).hexdigest()
        yield CODEC.encode(Message(identity.sender_id, message_id, channel, now + number, (), None, (), content))
        name = _sendable(text, 100) or "x"
        foreign = Message(
            f"s{number}{name}", f"{name}{number}", channel, now + number, (), None, (), text.encode("utf-8", "ignore")
        )
        yield CODEC.encode(foreign)


def waiting(channel: str, texts: tuple[str, ...], now: int) -> Iterator[bytes]:
    """Yield messages that name missing ones, with the text in ids and senders of gaps."""
    for number, text in enumerate(texts):
        name = _sendable(text, 100) or "x"
        entry = HistoryEntry(f"gone{name}{number}", None, f"g{number}{name}")
        sender, message_id = f"w{number}{name}", f"w{name}{number}"
        yield CODEC.encode(Message(sender, message_id, channel, now + number, (entry,), None, (), b"waits"))


def told(text: str) -> Iterator[EventBody]:
    """Yield events whose words come from outside."""
    message = Message(f"e{text}", f"e{text}", "lobby")
    yield events.EphemeralSaid(events.Said(message, OpenedContent(Verdict.KNOWN, text, 0, text), text, False))
    yield events.ConnectionChanged("disconnected", text, "unreachable", text, 0, True)
    yield events.NotPublished("", text, text)
    yield events.NotPublished(text, text, text)
    yield events.TroubleMet(text)
    yield events.PresenceChanged(text, text, True)
    yield events.SavingFailed(text)
    yield events.ClockDiffers(text, text, 3_600_000)
    yield events.SavingResumed()
    yield events.SendingResumed()
    yield StoreLeft(text, text, text)
    yield ev.Rejected(Reason.UNREADABLE, text, text, text)
    yield ev.DependenciesMissing(text, (text,))
    yield ev.DependenciesLost((text,))
    yield ev.RepairWanted(text, 1)
    yield ev.RepairRequested((text,), text)
    yield ev.RepairScheduled(text, 1, text)
    yield ev.RepairCancelled(text, text)
    yield ev.SyncReceived(text)
    yield ev.FilterIgnored(text, text)
    yield ev.FilterFormatChanged(text)
    yield events.IdentityUsedElsewhere(text)
    yield events.UnsignedInOurName(text, 3)


def tell(node: Node, channel: str, body: EventBody) -> None:
    node._emit(channel, body)


def send_all(node: Node, channel: str, texts: tuple[str, ...]) -> None:
    session = node.sessions[channel]
    now = node.clock.now().wall - len(texts) - 1000
    for packet in packets(channel, texts, now):
        session.receive(packet, "live")
    for packet in waiting(channel, texts[::5], now):
        session.receive(packet, "live")
