"""The connection, the completeness of a channel, and the state of own messages in words."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from sdschat.node.events import CatchingUp, ConnectionChanged
from sdschat.node.view.members import PostJourney
from sdschat.node.view.private import Privacy
from sdschat.node.view.values import RECEIPT, AckState, Evidence, OwnFate, Participant, SyncStatus, by_name
from sdschat.tui.model.delivery import delivery_sentence, journey_sentence, name_of
from sdschat.tui.model.history import badge
from sdschat.tui.model.items import Fate, MessageItem, Phase
from sdschat.tui.model.words import (
    ago,
    apart,
    clean,
    clean_name,
    clock,
    count,
    countdown,
    duration,
    listed,
    short,
    times,
    when,
)

_DETAIL: Final = 300
_LEAST: Final = 20  # letters of the reason for which there is no connection
_REMEMBERED: Final = 30_000  # milliseconds for which it is said who went away
_NAMED: Final = 2
ON_PURPOSE: Final = "offline"  # the `transport.base.Why` of a connection that fault injection cut
PART: Final = " | "  # between two parts of what is told of a message
_VERDICTS: Final = {
    "known": "signed, by a key met before",
    "new": "signed, by a new key, not met before: /verify compares it",
    "unsigned": "unsigned: nothing vouches for its sender",
    "not_member": "NOT SHOWN: its author was no member of this private channel",
    "bad_signature": "BAD SIGNATURE: its author did not sign this",
    "mismatched": "NOT THE SENDER'S: signed by another than it says, or under another id",
}


def offline_words(
    connection: ConnectionChanged, sync: SyncStatus, now: int, *, recorded: bool = False, room: int = 1000
) -> str:
    """Return the banner: reason, time of the next attempt, and that messages are kept. Empty while connected.

    `recorded`: it is the connection that a recording had, about which nothing can be done. `room`: how many letters
    are seen; the reason gives way to what one can do.
    """
    if connection.state == "connected":
        return ""
    waiting = f"{sync.queued} in the outbox" if sync.queued else "what you write is kept"
    if connection.state == "connecting":
        where = clean(connection.address, limit=_DETAIL)
        told, does = f"CONNECTING{f' to {where}' if where else ''}", [waiting]
    elif connection.why == ON_PURPOSE:
        told, does = "OFFLINE on purpose", [waiting, "/fault online connects again"]
    else:
        again = f"retry in {countdown(connection.retry_at - now)}" if connection.retry_at else "no retry by itself"
        does = [again, waiting, "/reconnect tries now"]
        limit = min(_DETAIL, max(_LEAST, room - len(PART.join(("OFFLINE ", *does)))))
        told = f"OFFLINE {clean(connection.detail or connection.why or 'not connected', limit=limit).rstrip('.')}"
    return f"WAS {told}" if recorded else PART.join((told, *does))


class Health(Enum):
    """The urgency of the state of a channel: a colour and a sign beside its words."""

    GOOD = auto()
    WAITS = auto()
    BAD = auto()


STYLES_OF_HEALTH: Final = {Health.GOOD: "acked", Health.WAITS: "unacked", Health.BAD: "refused"}


IDLE: Final = ("nothing missing", "alone")


def sync_words(
    connection: ConnectionChanged,
    sync: SyncStatus,
    history: CatchingUp | None = None,
    *,
    alone: bool = False,
    unconfirmed: bool = False,
) -> str:
    """Return the badge of a channel. `alone`: nobody else is here, so nobody can name what is missing; `unconfirmed`:
    nor has any member answered our invite yet."""
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
    idle = "not confirmed by a member yet" if unconfirmed else IDLE[alone]
    return ", ".join(found) or idle


def health(connection: ConnectionChanged, sync: SyncStatus, history: CatchingUp | None, refused: str) -> Health:
    """Return the urgency of a channel's state. `refused`: the reason for which the broker takes nothing from us."""
    if connection.state == "disconnected" or refused:
        return Health.BAD
    waits = connection.state == "connecting" or sync.missing or sync.lost or badge(history)
    return Health.WAITS if waits else Health.GOOD


def news_words(unread: int, mentions: int) -> str:
    """Return how many messages of a channel are unread, and how many of them are to the user; empty if none is."""
    return f"{unread} unread{f', {mentions} to you' if mentions else ''}" if unread else ""


def unsaved_words(why: str) -> str:
    """Return why nothing can be saved. What follows the reason is where, and what to do."""
    return f"nothing can be saved, because {clean(why.partition(':')[0].partition(';')[0], limit=_DETAIL)}"


def unsent_words(unsaved: Sequence[str], waiting: int) -> str:
    """Return what becomes of messages that are not sent yet, for whoever leaves. `unsaved`: texts that are not even on
    disk; `waiting`: how many wait there."""
    if unsaved:
        kept = "; ".join(clean(text) for text in unsaved)
        return f"{count(len(unsaved), 'message')} could not be saved, and nobody has it: {kept}"
    if not waiting:
        return ""
    return f"{count(waiting, 'message')} not sent yet {'goes' if waiting == 1 else 'go'} out at the next start."


def unconfirmed_words(waiting: int) -> str:
    return f"{count(waiting, 'message')} that nobody has confirmed yet." if waiting else ""


def last_heard_words(people: list[Participant], now: int) -> str:
    """Return who of those here was heard last, and when, as "heard bob 3s ago"; empty if none of them was heard since
    they are here."""
    others = (person for person in people if person.online and not person.own and person.heard_here)
    heard = max(others, key=lambda person: person.heard_at, default=None)
    if heard is None:
        return ""
    return f"heard {name_of(heard)} {ago(now - heard.heard_at)}"


class WentAway:
    """Names those who went away a moment ago, so that a smaller number of people has its reason beside it."""

    def __init__(self) -> None:
        self._here: dict[str, tuple[str, ...]] = {}  # by channel
        self._went: dict[tuple[str, str], int] = {}  # when, by channel and sender id

    def names(self, channel: str, present: tuple[str, ...], people: list[Participant], now: int) -> str:
        """Return who of a channel went away and has not come back; empty if it is long ago."""
        for one in self._here.get(channel, ()):
            if one not in present:
                self._went[channel, one] = now
        self._here[channel] = present
        self._went = {key: at for key, at in self._went.items() if now - at < _REMEMBERED}
        gone = [each for each in people if not each.online and (channel, each.sender_id) in self._went]
        return listed(sorted(map(name_of, gone), key=by_name), _NAMED)


def privacy_words(privacy: Privacy) -> str:
    """Return in words that a channel is private, and of members if it is, and the number of its key."""
    kind = "private members" if privacy.of_posts else "private"
    if privacy.since_join:
        kind += ", history since joining"
    return f"{kind}, key {privacy.epoch}" if privacy.is_member else kind


def talk_words(connection: ConnectionChanged, partner: Participant, waiting: int) -> str:
    """Return the badge of a conversation: the partner is here or not, and the number of messages on their way."""
    if connection.state != "connected":
        return "offline" if connection.state == "disconnected" else "connecting"
    there = "here" if partner.online else "not here"
    return f"{there}, {waiting} on its way" if waiting else there


def heard_words(person: Participant, now: int, *, beside: bool = False) -> str:
    """Return when a participant was heard last, and that they are not here, or that nothing of them is shown. A goodbye
    is the same signed word as the last will of a program that was killed, so nobody is said to have left. `beside`: in
    the list, where a heading says who is not here."""
    if person.own:
        return "you"
    if person.hidden or (beside and person.outside):
        return person.hidden or person.outside
    heard = ago(now - person.heard_at) if person.heard_at else ""
    if person.online and not person.heard_here:
        return "here" if beside else "not heard since they came" if heard else "not heard"
    if beside or person.online:
        return heard
    return f"not here, heard {heard}" if heard else "not here"


def first_sentence(told: str) -> str:
    """Return who has not confirmed a message and when the next chance is, without the rest of `fate_sentence`."""
    return told.partition(PART)[0]


def fate_sentence(
    entry: MessageItem,
    fate: Fate,
    own: OwnFate | None,
    people: list[Participant],
    now: int,
    partner: Participant | None = None,
    journey: PostJourney | None = None,
    *,
    only_member: bool = False,
    connected: bool = True,
) -> str:
    """Return everything about the state of an own message, first in one sentence who has not confirmed it and when the
    next chance is; then how often it was sent, and the evidence.

    `partner`: the reader of a direct message; None for a message to the channel. `journey`: of a post of a members'
    channel. `only_member`: of a private channel.
    `connected`: to the broker.
    """
    age = now - entry.received_at
    if fate.refused:
        return f"refused: {clean(fate.refused, limit=_DETAIL)} | it is tried again by itself"
    if journey is not None:
        sentence = journey_sentence(journey, entry.received_at, now, connected=connected)
        return f"{sentence} | {fate.word}, posted {ago(age)}"
    if own is None:
        return "acked | who has it is not remembered"
    if own.kept_in:
        channel = clean_name(own.kept_in)
        return f"It waits in {channel}, which is not open here: /join {channel} sends it again | written {ago(age)}"
    if not own.sends and own.state is AckState.UNACKED:
        return f"queued for {duration(age)}: saved here, and sent once there is a connection"
    taken = fate.phase >= Phase.UNACKED
    told = [
        delivery_sentence(
            own, people, entry.received_at, now, only_member=only_member, connected=connected, taken=taken
        )
    ]
    if partner is not None and not partner.online and own.state is AckState.UNACKED:
        told = [_absence(partner)]
    sent = f", sent {times(own.sends)}" if own.sends else ""
    told.append(f"written {ago(age)}{sent if taken else ', not taken by the broker yet'}")
    names = {person.sender_id: name_of(person) for person in people}
    told.append(_evidence_words(own.evidence, names))
    return " | ".join(filter(None, told))


def _absence(partner: Participant) -> str:
    name = name_of(partner)
    return f"{name} is not here: it is kept, and sent again once {name} is"


def _evidence_words(evidence: tuple[Evidence, ...], names: dict[str, str]) -> str:
    """Return in words the participants proven to have a message, those that perhaps have it, and those who say so
    without a signature."""
    how = {
        "mention": "named it",
        "filter": "its filter has it",
        "range": "its log is the same",
        RECEIPT: "said so, signed",
    }
    found: dict[str, list[str]] = {"known": [], "perhaps": [], "unproven, for it is not signed": []}
    proven, perhaps, unproven = found.values()
    for item in evidence:
        name = names.get(item.sender_id) or f"<{short(item.sender_id, 8)}>"
        kind = unproven if not item.signed else proven if item.certain else perhaps
        kind.append(f"{name} ({how.get(item.how, item.how)})")
    return " | ".join(f"{word}: {listed(sorted(each, key=by_name), 5)}" for word, each in found.items() if each)


def provenance(entry: MessageItem, at: str) -> str:
    """Return author, time, result of the signature check and origin of a message in words. `at`: the time in words."""
    who = f"{apart(entry.nick) or 'nobody proven'} ({short(entry.sender_id, 8)})"
    verdict = _VERDICTS.get(entry.verdict, entry.verdict or "not read")
    if entry.verified:
        verdict = "signed, by a key that you have verified"
    late = " | late: put in above what was there" if entry.late else ""
    via = "" if entry.via == "live" else f" | came by {entry.via}"
    return f"you | {at}" if entry.own else f"{who} | {at} | {verdict}{via}{late}"


def cut_words(state: str, since: int, until: int) -> str:
    """Return what stays in the log of a time that is over, in which one was offline or asleep."""
    return f"{state} from {when(since, until)} to {clock(until)} ({duration(until - since)})"
