"""A packet of a members' channel explained: its sender, its fields, and the rules of Timber that it breaks."""

from __future__ import annotations

from typing import Any, Final

from sdschat.identity.members import data_set_of
from sdschat.identity.signing import sender_id_of
from sdschat.timber.values import (
    Message,
    Operation,
    Refusal,
    SignedEvent,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    SyncFinished,
)
from sdschat.wire.members_codec import decode_announcement, decode_timber_envelope
from sdschat.wire.timber_codec import TimberCodec

TIMBER: Final = "timber"
_CODEC: Final = TimberCodec()
_KINDS: Final[dict[type, str]] = {
    Sync: "sync",
    SyncFinished: "sync_finished",
    Submit: "submit",
    StateWanted: "state_wanted",
    StatePage: "state_page",
}


def timber_report(packet: bytes) -> dict[str, Any] | None:
    """Explain a packet, as JSON has it; None for one that is in no envelope of a members' channel, and announces none.

    Signatures cover the channel and the data set, which a packet does not name, so they are not checked. That of the
    first operation, which an announcement holds, covers neither, and is.
    """
    envelope = decode_timber_envelope(packet)
    if envelope is None:
        return _announcement_report(packet)
    message = _CODEC.decode(envelope.packet)
    broken = _broken(message)
    report: dict[str, Any] = {
        "verdict": "broken" if broken else "sound",
        "accepted": not isinstance(message, Refusal),
        "bytes": len(packet),
        "dialect": TIMBER,
        "sender_id": sender_id_of(envelope.author_key),
        "nick": envelope.nick,
    }
    if not isinstance(message, Refusal):
        report |= {"kind": _KINDS[type(message)], **_fields(message)}
    return report | {"broken_rules": [{"rule": rule, "what": what} for rule, what in broken]}


def _announcement_report(packet: bytes) -> dict[str, Any] | None:
    """Explain what is retained for those who look for a members' channel; None for other bytes."""
    announcement = decode_announcement(packet)
    genesis = None if announcement is None else data_set_of(announcement)
    if announcement is None or genesis is None:
        return None
    data_set, creator, is_signed = genesis
    return {
        "verdict": "sound" if is_signed else "broken",
        "accepted": is_signed,
        "bytes": len(packet),
        "dialect": TIMBER,
        "sender_id": sender_id_of(creator),
        "kind": "announcement",
        "data_set": data_set.hex(),
        "number": announcement.number,
        "contacts": [sender_id_of(key) for key in announcement.contacts],
        "broken_rules": [] if is_signed else [{"rule": "T-022", "what": "its creator did not sign it"}],
    }


def _broken(message: Message | Refusal) -> list[tuple[str, str]]:
    """Return the broken rules by their numbers in the matrix of `tests/timber/README.md`."""
    if isinstance(message, Refusal):
        return [("T-062", f"{message.reason.value.replace('_', ' ')}: {message.detail}")]
    found: list[tuple[str, str]] = []
    if isinstance(message, Sync):
        newest: dict[int, int] = {}
        for operation in message.operations:
            slot, seq = operation.body.slot, operation.body.seq
            if seq <= newest.get(slot, 0):
                found.append(("T-059", f"operation {slot}:{seq} stands behind {slot}:{newest[slot]}: not oldest first"))
            newest[slot] = seq
    return found


def _fields(message: Message) -> dict[str, Any]:
    match message:
        case Sync(base, clock, digest, operations, interval, hashes):
            found: dict[str, Any] = {
                "checkpoint": {"number": base.number, "hash": base.hash.hex()},
                "clock": {str(slot): seq for slot, seq in clock},
                "digest": digest.hex(),
                "operations": [_operation(one) for one in operations],
            }
            return found | ({"interval": interval, "hashes": len(hashes)} if hashes else {})
        case SyncFinished(digest):
            return {"digest": digest.hex()}
        case Submit(events):
            return {"events": [_event(one) for one in events]}
        case StateWanted(number, page):
            return {"number": number, "page": page}
        case StatePage(mark, page, pages, body):
            return {"checkpoint": {"number": mark.number}, "page": page, "pages": pages, "body_bytes": len(body)}


def _operation(one: Operation) -> dict[str, Any]:
    body = one.body
    found: dict[str, Any] = {"slot": body.slot, "seq": body.seq, "parent": body.parent.hex(), "turn": body.turn}
    if body.event is not None:
        found["event"] = _event(body.event)
    said = [name for name, value in body.statements._asdict().items() if value is not None]
    return found | ({"says": said} if said else {})


def _event(one: SignedEvent) -> dict[str, Any]:
    body = one.body
    found: dict[str, Any] = {"kind": body.kind.name.lower(), "author": body.author, "number": body.number}
    if body.text:
        found["text"] = body.text
    if body.target is not None:
        found["target"] = list(body.target)
    return found
