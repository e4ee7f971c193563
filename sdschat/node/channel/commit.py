"""One turn of the loop: take what is ready everywhere, save it at once, then send, then tell.

What was taken and could not be saved is kept and tried again. Nothing of it is sent or told before that.
"""

from __future__ import annotations

from typing import NamedTuple

from sdschat.identity.key_book import BookRow, KeyFact
from sdschat.node.channel.content import ContentGate, indexed, save_book
from sdschat.node.channel.extension import ExtensionOutput
from sdschat.node.channel.session import ChannelSession
from sdschat.node.clock import Clock
from sdschat.node.events import EphemeralSaid, IdentityUsedElsewhere, MessageDelivered, What
from sdschat.node.profile import Profile
from sdschat.sds import events as ev
from sdschat.sds.rows import Write
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import Message
from sdschat.store.journal import JournalRow, journal_of
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText


class TurnBatch(NamedTuple):
    """The output that one channel has ready, with everything that must be saved together with it."""

    room: ChannelSession
    writes: list[Write]
    packets: list[Packet]
    told: list[What]
    texts: list[IndexedText]
    keys: list[BookRow]
    values: dict[str, bytes]
    journal: list[JournalRow]
    parts: list[ExtensionOutput]


def collect(room: ChannelSession, desk: ContentGate, clock: Clock) -> TurnBatch:
    """Take what a room has ready, and read what is to be shown of it."""
    ready = room.channel.take()
    now = clock.now()
    texts: list[IndexedText] = []
    keys: list[BookRow] = []
    told: list[What] = []
    own = desk.identity.sender_id
    # A broker that speaks MQTT 3.1.1 sends us our own packets back. That is not news.
    events = [event for event in ready.events if not (type(event) is ev.DuplicateReceived and event.sender_id == own)]
    for event in events:
        if isinstance(event, ev.Delivered):
            said = desk.read(event.message, event.own)
            if room.private is not None:
                judged = room.private.judge(said)
                if judged is None:
                    texts.append(room.private.withhold(said))
                    continue
                said = judged
            texts.append(indexed(said))
            rows, facts = desk.meet(said, now.wall)
            keys += rows
            told += _others(facts, own)
            told.append(MessageDelivered(said, event.late, event.gap, event.source))
        elif isinstance(event, ev.EphemeralReceived):
            said = desk.read(event.message, own=False)
            rows, facts = desk.meet(said, now.wall)
            keys += rows
            told += _others(facts, own)
            told.append(EphemeralSaid(said))
        else:
            if isinstance(event, ev.Rejected) and room.stolen(event):
                told.append(IdentityUsedElsewhere(event.message_id))
            told.append(event)
    ready = Ready(ready.writes, ready.packets, events)
    journal = journal_of(room.name, ready, now)
    parts = [part.take(ready, now) for part in room.parts]
    for work in parts:
        told += work.told
    return TurnBatch(room, ready.writes, ready.packets, told, texts, keys, desk.chains.take(), journal, parts)


def _others(facts: tuple[KeyFact, ...], own: str) -> list[What]:
    """Meeting ourselves is not news."""
    return [fact for fact in facts if fact.sender_id != own]


def commit(store: Store, batches: list[TurnBatch]) -> None:
    """All of it, in one transaction. Raises StoreError, with nothing saved."""
    if not any(batch.writes or batch.journal or batch.keys or batch.values or _saves(batch) for batch in batches):
        return
    with store.transaction() as transaction:
        for batch in batches:
            transaction.apply(batch.room.name, batch.writes)
            for text in batch.texts:
                transaction.index_text(*text)
            save_book(transaction, batch.keys)
            for name, value in batch.values.items():
                transaction.set_value(name, value)
            transaction.journal(batch.journal)
            for work in batch.parts:
                if work.save is not None:
                    work.save(transaction)


def _saves(batch: TurnBatch) -> bool:
    return any(work.save is not None for work in batch.parts)


def read_again(channel: str, profile: Profile, desk: ContentGate) -> None:
    """Texts that are not there though their messages are: from the packets, as when they were delivered."""
    store = profile.store
    with store.open_read_only(store.path, profile.codec) as reader:
        unread = reader.unindexed(channel)
    history = store.channel(channel).history
    texts: list[IndexedText] = []
    for row in filter(None, map(history.row, unread)):
        message = profile.codec.decode(row.raw)
        if isinstance(message, Message):
            texts.append(indexed(desk.read(message, row.own)))
    if texts:
        store.commit([], texts=texts)
