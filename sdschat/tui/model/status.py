"""The connection, the completeness of a channel, and the state of own messages in words."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from sdschat.node.events import ConnectionChanged
from sdschat.node.sync.events import CatchingUp
from sdschat.node.view.direct import RECEIPT
from sdschat.node.view.private import Privacy
from sdschat.node.view.values import Evidence, OwnFate, Participant, SyncStatus
from sdschat.tui.model.cleaning import clean, nick_text, short
from sdschat.tui.model.history import badge
from sdschat.tui.model.items import Fate, MessageItem, Phase
from sdschat.tui.model.words import clock, count, countdown, duration, listed, stamp

_DETAIL: Final = 300
_SILENT: Final = 60_000
_VERDICTS: Final = {
    "known": "signed, by a key known before",
    "new": "signed, by a key never met before",
    "unsigned": "unsigned: nothing vouches for its sender",
    "not_member": "NOT SHOWN: its author was no member of this private channel",
    "bad_signature": "BAD SIGNATURE: its author did not sign this",
    "mismatched": "NOT THE SENDER'S: signed by another than it says, or under another id",
}


def offline_words(connection: ConnectionChanged, sync: SyncStatus, now: int) -> str:
    """Return the banner: reason, time of the next attempt, and that messages are kept. Empty while connected."""
    if connection.state == "connected":
        return ""
    waiting = f"{sync.queued} in the outbox" if sync.queued else "what you write is kept"
    if connection.state == "connecting":
        where = clean(connection.address, limit=_DETAIL)
        return f"CONNECTING {('to ' + where) if where else ''} | {waiting}"
    why = clean(connection.detail or connection.why or "not connected", limit=_DETAIL)
    again = f"retry in {countdown(connection.retry_at - now)}" if connection.retry_at else "no retry by itself"
    return f"OFFLINE {why} | {again} | {waiting} | /reconnect"


class Health(Enum):
    """The urgency of the state of a channel: a colour and a sign beside its words."""

    GOOD = auto()
    WAITS = auto()
    BAD = auto()


def sync_words(
    connection: ConnectionChanged,
    sync: SyncStatus,
    history: CatchingUp | None = None,
    *,
    alone: bool = False,
) -> str:
    """Return the badge of a channel. `alone`: nobody else is here, so nobody can name what is missing."""
    if connection.state == "disconnected":
        return "offline"
    if connection.state == "connecting":
        return "connecting"
    loading = badge(history)
    found = [loading] if loading else []
    if sync.flood.rate:
        found.append(f"{sync.flood.rate} packets a second from {count(sync.flood.senders, 'key')}: /mute")
    if sync.missing and not loading:  # while history is fetched, its progress counts them
        found.append(f"{sync.missing} missing")
    if sync.lost:
        found.append(f"{sync.lost} lost")
    return ", ".join(found) or ("alone" if alone else "nothing missing")


def health(connection: ConnectionChanged, sync: SyncStatus, history: CatchingUp | None, refused: str) -> Health:
    """Return the urgency of a channel's state. `refused`: the reason for which the broker takes nothing from us."""
    if connection.state == "disconnected" or refused:
        return Health.BAD
    waits = connection.state == "connecting" or sync.missing or sync.lost or badge(history)
    return Health.WAITS if waits else Health.GOOD


def last_heard_words(people: list[Participant], now: int) -> str:
    """Return the name of the participant heard last and their age, as "heard bob 3s ago"; empty if nobody was heard."""
    heard = max((person for person in people if not person.own), key=lambda person: person.heard_at, default=None)
    if heard is None or not heard.heard_at:
        return ""
    name = nick_text(heard.nick) or f"<{short(heard.sender_id, 8)}>"
    return f"heard {name} {duration(now - heard.heard_at)} ago"


def privacy_words(privacy: Privacy) -> str:
    """Return in words that a channel is private, and the number of its key."""
    return f"private, epoch {privacy.epoch}" if privacy.is_member else "private, not a member"


def talk_words(connection: ConnectionChanged, partner: Participant, waiting: int) -> str:
    """Return the badge of a conversation: the partner is here or not, and the number of messages on their way."""
    if connection.state != "connected":
        return "offline" if connection.state == "disconnected" else "connecting"
    there = "here" if partner.online else "not here"
    return f"{there}, {waiting} on its way" if waiting else there


def heard_words(person: Participant, now: int) -> str:
    if person.own:
        return "you"
    heard = f"{duration(now - person.heard_at)} ago" if person.heard_at else "not heard"
    return heard if person.online else f"left, {heard}"


def last_heard(people: list[Participant]) -> int:
    """Return the time when another participant was last heard; 0: never."""
    return max((person.heard_at for person in people if not person.own), default=0)


def fate_sentence(
    entry: MessageItem,
    fate: Fate,
    own: OwnFate | None,
    people: list[Participant],
    now: int,
    partner: Participant | None = None,
) -> str:
    """Return everything about the state of an own message: holders with the evidence, or the next step.

    `partner`: the reader of a direct message; None for a message to the channel.
    """
    age = duration(now - entry.received_at)
    if fate.refused:
        return f"refused: {clean(fate.refused, limit=_DETAIL)} | it is tried again by itself"
    names = {person.sender_id: nick_text(person.nick) for person in people}
    evidence = () if own is None else own.evidence
    if fate.phase is Phase.ACKED:
        return f"acked | {_evidence_words(evidence, names) or 'who has it is not remembered'}"
    sends = 0 if own is None else own.sends
    again = f" | next resend in {countdown(own.due - now)}" if own is not None and own.due > now and sends else ""
    if fate.phase is Phase.MAYBE:
        return f"not known to be with anybody, written {age} ago | {_evidence_words(evidence, names)}{again}"
    if not sends:
        return f"queued for {age}: saved here, and sent once there is a connection"
    sent = f"sent {count(sends, 'time')}"
    with_broker = "" if fate.phase >= Phase.UNACKED else ", not taken by the broker yet"
    why = _silence(people, now, now - entry.received_at) if partner is None else _absence(partner)
    said = f" | {_evidence_words(evidence, names)}" if evidence else ""
    return f"unacked for {age}{with_broker} | {sent}{again}{said}{why}"


def _absence(partner: Participant) -> str:
    name = nick_text(partner.nick) or f"<{short(partner.sender_id, 8)}>"
    return "" if partner.online else f" | {name} is not here: it is kept, and sent again once {name} is"


def _silence(people: list[Participant], now: int, age: int) -> str:
    """Return the reason for missing acknowledgements, if one is known; else an empty text."""
    if age < _SILENT:
        return ""
    heard = last_heard(people)
    if not heard:
        return " | nobody else was heard yet, so nobody could say that they have it"
    if now - heard > _SILENT:
        return f" | nobody was heard since {clock(heard)}"
    return ""


def _evidence_words(evidence: tuple[Evidence, ...], names: dict[str, str]) -> str:
    """Return in words the participants proven to have a message, those that perhaps have it, and those who say so
    without a signature."""
    how = {"mention": "named it", "filter": "its filter has it", "range": "same log", RECEIPT: "said so, signed"}
    found: dict[str, list[str]] = {"known": [], "perhaps": [], "unproven, for it is not signed": []}
    proven, perhaps, unproven = found.values()
    for item in evidence:
        name = names.get(item.sender_id) or f"<{short(item.sender_id, 8)}>"
        kind = unproven if not item.signed else proven if item.certain else perhaps
        kind.append(f"{name} ({how.get(item.how, item.how)})")
    return " | ".join(f"{word}: {listed(each, 5)}" for word, each in found.items() if each)


def provenance(entry: MessageItem) -> str:
    """Return author, date, result of the signature check and origin of a message in words."""
    who = f"{entry.nick or 'nobody proven'} ({short(entry.sender_id, 8)})"
    verdict = _VERDICTS.get(entry.verdict, entry.verdict or "not read")
    if entry.verified:
        verdict = "signed, by a key that you have verified"
    late = " | late: put in above what was there" if entry.late else ""
    via = "" if entry.via == "live" else f" | came by {entry.via}"
    if entry.own:
        return f"you | {stamp(entry.at)}"
    return f"{who} | {stamp(entry.at)} | {verdict}{via}{late}"
