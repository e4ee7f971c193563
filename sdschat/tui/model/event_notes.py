"""Lines of the log for events of the node that nothing but a line shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sdschat.node import events
from sdschat.node.event_words import claim_words, own_key_words, saving_failed_words
from sdschat.node.events import BodiesFetched, NickChanged, NickClaimed, ev
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.view.values import Conversation
from sdschat.tui.model.items import KeptNote, Tone
from sdschat.tui.model.words import (
    author_gap_words,
    before_join_words,
    bodies_words,
    clean,
    count,
    duration,
    nick_text,
    ordinal,
    over_limit_words,
    own_over_limit_words,
    short,
)

DETAIL: Final = 300  # characters of a reason that another program gave
_STALE: Final = 15 * 60_000  # milliseconds; the user no longer expects an older message to be sent
_MOMENT: Final = 15_000

# Names a participant, from the sender id and a proven nick.
NameOf = Callable[[str, str], str]
Line = tuple[str, Tone]
KeptBody = events.OverLimit | events.OwnOverLimit | events.SaidTwoThings | ev.ClockAhead


def note_of(body: events.EventBody, name_of: NameOf) -> Line | None:
    """Return the line for an event, and its tone. None for an event that is shown otherwise, or not at all."""
    match body:
        case NickChanged(sender_id, before, after):
            was, now = name_of(sender_id, nick_text(before)), name_of(sender_id, nick_text(after))
            return f"{was} is now known as {now}", Tone.INFO
        case NickClaimed(sender_id, nick, held_as, held_by, verified):
            return claim_words(nick_text(nick), sender_id, nick_text(held_as), held_by, verified=verified), Tone.ALERT
        case events.EphemeralSaid(said):
            # On one line: in a note, text of others must not begin a line that has the sign of the program.
            text = clean(said.opened.text or "(not text)")
            name = name_of(said.message.sender_id, nick_text(said.nick))
            return f"{name} says, without a trace in the log: {text}", Tone.INFO
        case BodiesFetched(fetched, left):
            return bodies_words(fetched, left), Tone.INFO
        case StoreLeft(store_id, nick, detail):
            who = f"{nick_text(nick)} ({short(store_id, 8)})"
            return f"the Store {who} is not asked any more: {clean(detail, limit=DETAIL)}", Tone.ALERT
        case events.EpochChanged(number):
            return f"this channel has a new key, its {ordinal(number)}: only who is a member now can read on", Tone.INFO
        case events.NotAMember(why):
            return clean(why, limit=DETAIL), Tone.ALERT
        case events.ClockDiffers(sender_id, nick, ahead):
            return clock_words(name_of(sender_id, nick_text(nick)), ahead), Tone.ALERT
        case events.SavingFailed(detail):
            return saving_failed_words(clean(detail, limit=DETAIL)), Tone.ALERT
        case events.SavingResumed():
            return "saving works again", Tone.INFO
        case events.TroubleMet(detail):
            return f"trouble: {clean(detail, limit=DETAIL)}", Tone.ALERT
    return _note_of_numbers(body, name_of)


def _note_of_numbers(body: events.EventBody, name_of: NameOf) -> Line | None:
    """Return the line for an event about our own key and device, or about the numbers of an author's messages."""
    match body:
        case events.AuthorGapFound(sender_id, low, high):
            return author_gap_words(name_of(sender_id, ""), low, high), Tone.INFO
        case events.AuthorGapClosed(sender_id, high):
            return f"{name_of(sender_id, '')}'s {ordinal(high)} message has come", Tone.INFO
    words = own_key_words(body)
    return (words, Tone.ALERT) if words else None


def clock_words(name: str, ahead: int) -> str:
    """Return the sentence for a clock that differs from ours. What is dated too far ahead waits for its date."""
    which, waits = (
        ("ahead of", f"{name} says is shown here") if ahead > 0 else ("behind", f"you say is shown to {name}")
    )
    apart = duration(round(abs(ahead), -4))
    return (
        f"{name}'s clock is {apart} {which} this machine's. Until the wrong one is set right, neither "
        f"of you sees the other as here, and what {waits} when its date comes"
    )


def own_dates_words(ahead: int) -> str:
    """Return the sentence for messages of ours that are dated ahead of our clock: others let them wait."""
    return (
        f"what you write is dated {duration(round(ahead, -4))} ahead of this machine's clock, which was ahead before "
        "or is behind now: others see it when its date comes"
    )


def kept_note(body: KeptBody, name_of: NameOf) -> KeptNote:
    """Return the line for what happens again: it is kept, and its number changes."""
    match body:
        case events.OwnOverLimit(messages):
            return KeptNote("own", own_over_limit_words(messages))
        case ev.ClockAhead(_, ahead):
            return KeptNote("clock", own_dates_words(ahead), Tone.ALERT)
        case events.SaidTwoThings(sender_id, number, message_id):
            twice = f"the {ordinal(number)} message is there twice, and {short(message_id)} is the second one"
            text = f"{name_of(sender_id, '')} says two things: {twice}"
            return KeptNote(f"two {sender_id}", text, Tone.ALERT, counts=True)
    name = name_of(body.sender_id, nick_text(body.nick)) if body.sender_id else "others"
    if body.before_join:
        return KeptNote(body.sender_id, before_join_words(body.messages, name))
    return KeptNote(body.sender_id, over_limit_words(body.messages, name, short(body.sender_id, 8)))


def left_over(conversation: Conversation, known: int, now: int) -> Line | None:
    """Return the line for own messages of before that are not acknowledged. If they are old, it is an alert; if they
    were written a moment ago, as by who joins by an invite, there is nothing to say."""
    were = "was" if known == 1 else "were"
    text = f"{count(known, 'message')} of yours from before {were} not acknowledged at the start"
    shown = (conversation.message(message_id) for message_id in conversation.open_messages())
    oldest = next((message for message in shown if message is not None), None)
    age = 0 if oldest is None else now - oldest.received_at
    if age < _STALE:
        return (text, Tone.INFO) if age >= _MOMENT else None
    since = "written" if known == 1 else "the oldest written"
    return f"{text}, {since} {duration(age)} ago; what was never sent goes out now: /outbox lists it", Tone.ALERT
