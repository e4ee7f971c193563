"""One sentence on the delivery of an own message: who has not confirmed it, why, and when the next chance is."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.members import PostJourney
from sdschat.node.view.values import AckState, OwnFate, Participant, by_name
from sdschat.tui.model.words import ago, apart, listed, nick_text, short, soon, tagged_nick

_NAMED: Final = 5
_REASONS: Final = 2  # participants of whom each gets its own reason


def delivery_sentence(
    own: OwnFate,
    people: list[Participant],
    written_at: int,
    now: int,
    *,
    only_member: bool = False,
    connected: bool = True,
    taken: bool = True,
) -> str:
    """Return the sentence. `people`: everybody who is here or was heard; `written_at`: when the message was saved;
    `only_member`: of a private channel; `connected`: to the broker; `taken`: by the broker, at least once."""
    if only_member and own.state is AckState.UNACKED:
        return "You are the only member here, so nobody could confirm it."
    if connected and not taken and not own.evidence:
        return "The broker has not taken it yet, so nobody could confirm it."
    known = {found.sender_id for found in own.evidence if found.proven}
    perhaps = {found.sender_id for found in own.evidence if found.signed} - known
    others = sorted((person for person in people if not person.own), key=lambda person: by_name(name_of(person)))
    here = [person for person in others if person.online and connected]
    lacking = [person for person in here if person.sender_id not in known | perhaps]
    since = max((person.came_at for person in people if person.own), default=0)  # who was here before is not known
    told = [
        _lack(lacking, written_at, now, came_since=0 < since <= written_at),
        _have([person for person in here if person.sender_id in perhaps], "perhaps has it", "perhaps have it"),
    ]
    first = "; ".join(filter(None, told))
    if first:
        first += f"; {_chance(own, [person for person in here if person.sender_id not in known], now)}."
    if not connected and not known:
        first = "There is no connection, so nobody can confirm it now."
    elif not here:
        first = _nobody(others, known, now)
    who = [person for person in others if person.sender_id in known]
    have = _have(who, "is known to have it", "are known to have it")
    gone = [person for person in others if person not in here and person.sender_id not in known]
    if connected and not here and not known and len(gone) < 2:
        gone = []  # named already
    told = [have] if have else []
    if gone:
        lack = f"not {'here now, and not ' if connected else ''}known to have it"
        told.append(f"{lack if have else lack.capitalize()}: {listed(list(map(name_of, gone)), _NAMED)}")
    return " ".join(filter(None, (first, f"{'; '.join(told)}." if told else "")))


def journey_sentence(journey: PostJourney, written_at: int, now: int, *, connected: bool) -> str:
    """Return the sentence for an own post of a members' channel: who has not shown to have it, why, and when the next
    chance is. `written_at`: when it was posted."""
    if journey.cut_off and journey.word != "settled":
        reached = "It is here alone" if journey.word == "queued" else "What became of it is not heard here any more"
        return (
            f"You were removed from this channel. {reached}, and nothing of yours is sent: a new invite changes that."
        )
    if journey.word == "queued" and not journey.let_in:
        return "You are not let in yet: it is here alone, and is written once a member lets you in."
    if journey.word == "queued":
        return "It is here alone, and is written once its turn comes."
    if journey.word == "sent":
        return "It is with a member who writes it into the log, and is not heard of yet."
    if journey.word == "settled":
        return "All members have it, and it is final."
    lacking, writer = journey.lacking, journey.writer
    written = f"Written into the log by {name_of(writer) if writer and not writer.own else 'you'}."
    if journey.removed and not lacking:
        waits = _have(list(journey.removed), "was removed", "were removed")
        until = "the committee counts them until more than half of it puts them out"
        return f"{waits}, and {until}. The others have it. {written}"
    if not lacking:
        return f"All members have it; it is final once they all know that of each other. {written}"
    lack = _have(list(lacking), "has not shown yet to have it", "have not shown yet to have it")
    if not connected:
        return f"There is no connection, so nobody can show now to have it. {lack}. {written}"
    here = [person for person in lacking if person.online]
    why = [f"{name_of(one)} " * (len(lacking) > 1) + _why(one, written_at, now) for one in lacking[:_REASONS]]
    chance = (
        f"next chance {soon(journey.next_at - now)}" if journey.next_at > now else "next chance when they are heard"
    )
    return f"{lack}: {', '.join(why)}; {chance if here else 'next chance once they are here'}. {written}"


def _why(person: Participant, written_at: int, now: int) -> str:
    reason = _reason(person, written_at, now)
    return reason if person.online else f"not here, {reason}"


def name_of(person: Participant) -> str:
    """Return a participant in a sentence: the nick, with the beginning of the id where another key goes by it."""
    nick = nick_text(person.nick)
    return apart(tagged_nick(nick, person.tag)) if nick else f"<{short(person.sender_id, 8)}>"


def _have(people: list[Participant], one: str, several: str) -> str:
    names = listed([name_of(person) for person in people], _NAMED)
    return f"{names} {one if len(people) == 1 else several}" if people else ""


def _lack(people: list[Participant], written_at: int, now: int, *, came_since: bool) -> str:
    """Return who has not confirmed, and why. `came_since`: it is known who came after the message was written, for the
    first time or again."""
    if not people:
        return ""
    lack = _have(people, "has not confirmed", "have not confirmed")
    why = [
        f"{'came since then, ' if came_since and one.came_at > written_at else ''}{_reason(one, written_at, now)}"
        for one in people[:_REASONS]
    ]
    if len(people) == 1:
        return f"{lack}: {why[0]}"
    if len(people) <= _REASONS:
        return f"{lack}: {', '.join(f'{name_of(one)} {reason}' for one, reason in zip(people, why, strict=True))}"
    heard = max(person.heard_at for person in people)
    return f"{lack}: " + (f"the last of them was heard {ago(now - heard)}" if heard else "none was heard yet")


def _reason(person: Participant, written_at: int, now: int) -> str:
    if not person.heard_at:
        return "not heard yet"
    heard = f"last heard {ago(now - person.heard_at)}"
    if person.heard_at < written_at:
        return f"{heard}, before this was written"
    return f"{heard}, with no word of it"


def _chance(own: OwnFate, people: list[Participant], now: int) -> str:
    """Return when somebody may confirm: the next packet of a participant, or of the message itself, is due then."""
    expected = min((person.next_at for person in people if person.next_at > now), default=0)
    if own.due > now and (not expected or own.due < expected):
        return f"sent again {soon(own.due - now)}"
    if expected:
        return f"next chance {soon(expected - now)}"
    return "next chance when they are heard"


def _nobody(others: list[Participant], known: set[str], now: int) -> str:
    """Return the sentence for when nobody else is here; empty if somebody is known to have the message."""
    if known:
        return ""
    heard = max(others, key=lambda person: person.heard_at, default=None)
    if heard is None or not heard.heard_at:
        return "Nobody else was heard here yet, so nobody could confirm it."
    return f"Nobody else is here to confirm it: {name_of(heard)} was last heard {ago(now - heard.heard_at)}."
