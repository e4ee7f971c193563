"""One turn of the loop: take what is ready everywhere, save it at once, then send, then tell.

What was taken and could not be saved is kept and tried again. Nothing of it is sent or told before that.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sdschat.identity.content import ContentKind
from sdschat.identity.key_book import KeyEvent, KeyStanding
from sdschat.identity.key_rows import BookRow
from sdschat.node.channel.content import ContentGate, indexed, save_book
from sdschat.node.channel.extension import ExtensionOutput
from sdschat.node.channel.session import ChannelSession
from sdschat.node.clock import Clock
from sdschat.node.events import (
    EphemeralSaid,
    EventBody,
    IdentityUsedElsewhere,
    MessageDelivered,
    PostDeleted,
    PostEdited,
    PostSaid,
)
from sdschat.node.profile import Profile
from sdschat.sds import events as ev
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import Message, Write
from sdschat.store.journal import JournalRow, journal_of
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText

_FROM_HISTORY: Final = frozenset({"sync", "store"})  # sources of what was said while we were not here


class TurnBatch(NamedTuple):
    """The output that one channel has ready, with everything that must be saved together with it."""

    session: ChannelSession
    writes: list[Write]
    packets: list[Packet]
    events: list[EventBody]
    texts: list[IndexedText]
    keys: list[BookRow]
    values: dict[str, bytes]
    journal: list[JournalRow]
    refused: dict[str, int]  # refused packets without a row of the journal, by reason
    at: int  # epoch milliseconds
    outputs: list[ExtensionOutput]


def collect(session: ChannelSession, gate: ContentGate, clock: Clock) -> TurnBatch:
    """Take the output that a session has ready, and read the texts that are to be shown."""
    ready = session.channel.take()
    now = clock.now()
    texts: list[IndexedText] = []
    keys: list[BookRow] = []
    emitted: list[EventBody] = []
    own = gate.identity.sender_id
    # A broker that speaks MQTT 3.1.1 sends us our own packets back. That is not news.
    events = [event for event in ready.events if not (type(event) is ev.DuplicateReceived and event.sender_id == own)]
    for event in events:
        if isinstance(event, ev.Delivered):
            foreign = event.own and not gate.wrote(event.message.message_id)
            said, welcome = gate.read(event.message, event.own), False
            if foreign and said.opened.place is not None:
                emitted += gate.meets_itself(event.message.message_id, said.opened.place)
            if session.private is not None:
                judged = session.private.judge(said)
                if judged is None:
                    texts.append(session.private.shown.withhold(said))
                    continue
                said = judged
                if session.members is not None:
                    continue  # who joined, and who was removed: told by events of their own
                # Whoever has a link can make any number of keys that try to join.
                welcome = said.opened.kind != ContentKind.OPERATION or session.private.has(event.message.sender_id)
            texts.append(indexed(said))
            dated = event.message.lamport_timestamp if event.source in _FROM_HISTORY else None
            rows, met = gate.meet(said, now.wall, welcome=welcome, dated=dated)
            keys += rows
            if event.own and said.opened.reply_to:
                keys += _answered(session, gate, said.opened.reply_to, now.wall)
            if gate.is_hidden(event.message.sender_id):
                continue  # it is in the log, and shown if its author is shown again
            emitted += _others(met, own)
            emitted.append(MessageDelivered(said, event.late, event.gap, event.source))
        elif isinstance(event, ev.KeptAsId):
            continue  # one event stands for many of them: see `over_limit`
        elif isinstance(event, ev.EphemeralReceived):
            rows, told = _ephemeral(session, gate, event.message, now.wall)
            keys += rows
            emitted += told
        else:
            if isinstance(event, ev.Rejected) and session.stolen(event):
                emitted.append(IdentityUsedElsewhere(event.message_id))
            emitted.append(event)
    ready = Ready(ready.writes, ready.packets, events)
    journal = session.presence_rows.take()
    journal += session.refusals.merge(session.name, journal_of(session.name, ready, now), now)
    outputs = [extension.process(ready, now) for extension in session.extensions]
    for output in outputs:
        emitted += [body for body in output.events if not gate.is_muted(_author_of(body))]
    refused = session.refusals.take_merged()
    values = gate.chains.take() | gate.copies.take()
    return TurnBatch(
        session, ready.writes, ready.packets, emitted, texts, keys, values, journal, refused, now.wall, outputs
    )


def _author_of(body: EventBody) -> str:
    """Return the author of the post of a members' channel that an event is about; empty for other events."""
    match body:
        case PostSaid(post):
            return post.sender_id
        case PostEdited(author=author) | PostDeleted(author=author):
            return author
    return ""


def _ephemeral(
    session: ChannelSession, gate: ContentGate, message: Message, wall: int
) -> tuple[tuple[BookRow, ...], list[EventBody]]:
    """Read a message that nobody keeps. Return the rows to save, and the events to emit."""
    said = gate.read(message, own=False)
    if session.private is not None and not session.private.has_voice(said.opened):
        return (), []
    rows, met = gate.meet(said, wall, welcome=session.private is not None)
    shown = [] if gate.is_hidden(message.sender_id) else [*_others(met, gate.identity.sender_id), EphemeralSaid(said)]
    return rows, shown


def _answered(session: ChannelSession, gate: ContentGate, message_id: str, wall: int) -> list[BookRow]:
    """Show what a stranger says whom the user answers, and never forget them. Return the rows to save."""
    entry = session.channel.state.delivered(message_id)
    if entry is None or gate.book.is_any(entry.sender_id, int(KeyStanding.KEPT)):
        return []
    standing = gate.book.standing(entry.sender_id) | KeyStanding.PERSON
    return [gate.book.set_standing(entry.sender_id, standing, wall)]


def _others(met: tuple[KeyEvent, ...], own: str) -> list[EventBody]:
    """Return these events without those of our own key: meeting ourselves is not news."""
    return [event for event in met if event.sender_id != own]


def commit(store: Store, batches: list[TurnBatch]) -> None:
    """Save everything of these batches, in one transaction. Raises StoreError, with nothing saved."""
    if not any(_saves(batch) for batch in batches):
        return
    with store.transaction() as transaction:
        for batch in batches:
            transaction.apply(batch.session.name, batch.writes)
            for text in batch.texts:
                transaction.index_text(*text)
            save_book(transaction, batch.keys)
            for name, value in batch.values.items():
                transaction.set_value(name, value)
            transaction.journal(batch.journal)
            for reason, count in batch.refused.items():
                transaction.count_refused(batch.session.name, reason, count, batch.at)
            for output in batch.outputs:
                if output.save is not None:
                    output.save(transaction)


def _saves(batch: TurnBatch) -> bool:
    """True if there is anything to save."""
    rows = batch.writes or batch.journal or batch.refused or batch.keys or batch.values
    return bool(rows) or any(output.save is not None for output in batch.outputs)


def read_again(channel: str, profile: Profile, gate: ContentGate) -> None:
    """Save the texts that are not there though their messages are: from the packets, as when they were delivered."""
    store = profile.store
    with store.open_read_only(store.path, profile.codec) as reader:
        unread = reader.unindexed(channel)
    history = store.channel(channel).history
    texts: list[IndexedText] = []
    for row in filter(None, map(history.row, unread)):
        message = profile.codec.decode(row.raw)
        if isinstance(message, Message):
            texts.append(indexed(gate.read(message, row.own)))
    if texts:
        store.commit([], texts=texts)
