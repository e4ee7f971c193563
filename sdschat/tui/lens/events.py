"""The view of all events, newest first. The words of the argument filter them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, get_args

from sdschat.node import events
from sdschat.node.events import BodiesFetched, CatchingUp, DirectRefused, DirectSaid, ev
from sdschat.node.store_client.events import StoreAnswered, StoreAsked, StoreLeft, StoreSilent
from sdschat.node.view.engine_snapshot import describe
from sdschat.tui.lens.trace import TimedEvent, concerned
from sdschat.tui.lens.view_input import Line, ViewInput, heading, line, paragraph
from sdschat.tui.model.words import END_OF_ISOLATE, ISOLATE, apart, bodies_words, clean, clock, count, goes_left, short

SHOWN: Final = 400
_LIMIT: Final = 240
_STYLES: Final[dict[type, str]] = {
    events.MessageDelivered: "text",
    ev.StateChanged: "acked",
    ev.DependenciesMissing: "gap",
    ev.DependenciesLost: "lost",
    ev.RepairWanted: "gap",
    ev.RepairRequested: "gap",
    ev.RepairScheduled: "gap",
    ev.RepairResponded: "gap",
    ev.Rejected: "refused",
    events.NotPublished: "refused",
    events.TroubleMet: "refused",
    events.ConnectionChanged: "late",
}
# Events that the engine describes in words. Messages come as events of the node, with their texts.
_OF_MESSAGES: Final = (ev.Delivered, ev.KeptAsId, ev.EphemeralReceived)
_ENGINE: Final = tuple(kind for kind in get_args(ev.Event) if kind not in _OF_MESSAGES)


def view(view: ViewInput) -> list[Line]:
    wanted = view.argument.lower().split()
    people = {view.who(person.sender_id): person.sender_id for person in view.people()}
    found = []
    for timed in reversed(view.trace.events):
        text = words(view, timed.body)
        if matches(timed, text, wanted):
            at = f"{clock(timed.at)}.{timed.at % 1000:03d} "
            style = _STYLES.get(type(timed.body), "note")
            before, _, last = text.rpartition(" ")
            if last in people and isinstance(timed.body, _ENGINE):
                found.append(line((at, "time"), (f"{before} ", style), (last, f"nick:{people[last]}")))
            else:
                found.append(line((at, "time"), (text, style)))
            if len(found) == SHOWN:
                break
    head = count(len(found), "event") + (f" with {clean(view.argument, limit=40)!r}" if wanted else "")
    hint = "/events WORDS keeps those with all of them: a nick, an id, repair; /events -sync those without."
    return [heading(head), *paragraph(hint, view.width, "note", 2), *found]


def matches(timed: TimedEvent, text: str, wanted: list[str]) -> bool:
    """True if every word is in the line, in the name of the event or begins an id; and no word with a minus is."""
    if not wanted:
        return True
    ids = concerned(timed.body)
    said = f"{type(timed.body).__name__} {text}".lower()

    def has(word: str) -> bool:
        return word in said or any(message_id.startswith(word) for message_id in ids)

    return all(not has(word[1:]) if word.startswith("-") and len(word) > 1 else has(word) for word in wanted)


def words(view: ViewInput, body: events.EventBody) -> str:
    """Return one line of words for any event."""
    if isinstance(body, _ENGINE):
        return _described(view, body)
    match body:
        case events.MessageDelivered(said=said, late=late, via=via):
            text = _text(said.opened.text)
            extra = f"{', late' if late else ''}{'' if via == 'live' else f', came by {via}'}"
            return f"delivered {short(said.message.message_id)} of {view.who(said.message.sender_id)}{extra}: {text}"
        case events.EphemeralSaid(said=said):
            return f"ephemeral of {view.who(said.message.sender_id)}: {_text(said.opened.text)}"
        case events.PresenceChanged(sender_id=sender, online=online):
            return f"{view.who(sender)} {'is here' if online else 'is gone'}"
        case events.ConnectionChanged(state=state, detail=detail, address=address):
            return clean(f"{state}: {detail or address}", limit=_LIMIT)
        case events.HandedOver(message_id=message_id):
            return f"the broker has {short(message_id)}"
        case events.SendingResumed():
            return "the broker takes our packets again"
        case events.NotPublished(failure=failure, detail=detail):
            return clean(f"not sent ({failure}): {detail}", limit=_LIMIT)
        case events.Joined():
            return "channel opened"
        case events.KeyMet(sender_id=sender):
            return f"the key of {view.who(sender)} is new: it was never met here before"
        case events.NickChanged(sender_id=sender, before=before, after=after):
            return clean(f"{view.who(sender)} was {before}, and is now {after}", limit=_LIMIT)
    return _of_sources(view, body) or _plain(view, body)


def _of_sources(view: ViewInput, body: events.EventBody) -> str:
    """Return the words for catching up, direct messages and Stores; empty for other events."""
    match body:
        case CatchingUp(state=state, done=done, total=total, source=source):
            from_whom = f" with {view.who(source)}" if source else ""
            return f"catching up: {state}{from_whom}{f', {done} of {total}' if total else ''}"
        case BodiesFetched(fetched, left):
            return bodies_words(fetched, left)
        case DirectSaid(message_id=message_id, sender_id=sender, to=to, opened=opened, own=own):
            who = f"to {view.who(to)}" if own else f"of {view.who(sender)}"
            return f"direct {short(message_id)} {who}: {_text(opened.text)}"
        case DirectRefused(sender_id=sender, why=why):
            return f"a direct message of {view.who(sender)} is refused: {clean(why, limit=_LIMIT)}"
        case StoreAsked(store_id=store, why=why, message_ids=ids):
            named = f", {count(len(ids), 'id')}" if ids else ""
            return f"the Store {view.who(store)} is asked for {why}{named}"
        case StoreAnswered(store_id=store, why=why, messages=messages, unknown=unknown):
            lacks = f", and has not {len(unknown)} of them" if unknown else ""
            return f"the Store {view.who(store)} answered for {why}: {count(messages, 'message')}{lacks}"
        case StoreSilent(store_id=store, why=why, reason=reason):
            return f"the Store {view.who(store)} gave no answer for {why}: {clean(reason, limit=_LIMIT)}"
        case StoreLeft(store_id=store, detail=detail):
            return f"the Store {view.who(store)} is not asked any more: {clean(detail, limit=_LIMIT)}"
    return ""


def _text(text: str | None) -> str:
    return apart(clean(text or "", limit=60))


def _described(view: ViewInput, body: ev.Event) -> str:
    """Return the engine's words for an event, with the names of participants."""
    names: set[str] = set()

    def named(full: str) -> str:
        name = _named(view, full).strip(ISOLATE + END_OF_ISOLATE)
        names.add(name)
        return name

    return _isolating(names, clean(describe(body, named, clock), limit=_LIMIT))


def _isolating(parts: Iterable[str], text: str) -> str:
    """Return a text that is safe to draw with these parts of it isolated, where they go from right to left."""
    turned = sorted(filter(goes_left, parts), key=len, reverse=True)
    if not turned:
        return text
    return re.sub("|".join(map(re.escape, turned)), lambda found: apart(found[0]), text)


def _named(view: ViewInput, full: str) -> str:
    """Return an id in short; for a sender id the nick."""
    if full == view.peek.me or full in view.trace.peers or view.nick_of(full):
        return view.who(full)
    return view.packet(full)


def _plain(view: ViewInput, body: events.EventBody) -> str:
    """Return the name in words and the values of an event that has no words of its own."""
    values = {name: _value(view, getattr(body, name)) for name in getattr(body, "_fields", ())}
    kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(body).__name__).lower()
    text = " ".join((kind, *(f"{name} {value}" for name, value in values.items())))
    return _isolating(values.values(), clean(text, limit=_LIMIT))


def _value(view: ViewInput, value: object) -> str:
    text = str(value)
    return _named(view, text).strip(ISOLATE + END_OF_ISOLATE) if len(text) >= 32 and text.isalnum() else text
