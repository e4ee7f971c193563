"""A new profile from what can be read of a damaged one: its key, its messages, what is known of their fates."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.identity.keyfile import KEY_FILE, load
from sdschat.node.channel.author_chains import CHAINS
from sdschat.node.channel.basic_extensions import note_lost
from sdschat.node.channel.content import ContentGate, indexed
from sdschat.node.channel.own_chain import CHAIN, DEVICE, FORMER
from sdschat.node.clock import Clock
from sdschat.node.profile import Profile, open_profile
from sdschat.node.settings import Settings
from sdschat.sds.channel import Channel
from sdschat.sds.history import MemoryHistory
from sdschat.sds.limits import MISSING_PER_SENDER
from sdschat.sds.values import (
    AckState,
    Append,
    ChannelRow,
    Entry,
    HistoryEntry,
    LogRow,
    MissingRow,
    OutgoingRow,
    Put,
    Table,
    Write,
)
from sdschat.store.errors import StoreDamaged, StoreUnavailable
from sdschat.store.salvage import SalvagedPacket, Wreck
from sdschat.store.transaction import IndexedText
from sdschat.wire.nim_codec import EitherCodec

_BATCH: Final = 1000
Watch = Callable[[Iterable[SalvagedPacket]], Iterator[SalvagedPacket]]


class Rescued(NamedTuple):
    channels: dict[str, int]  # messages of each
    unreadable: int  # packets that are there and not whole


def salvage(source: Path, target: Path, settings: Settings, watch: Watch = iter) -> Rescued:
    """Read the database `source`, which is not changed, and write the profile `target`, whose folder must not be there:
    it may hold another key. If this fails, nothing of it is left.

    `watch` sees every packet pass, to show how far this is. Raises StoreError, KeyFileError and what they raise.
    """
    if target.parent.exists():
        raise StoreUnavailable(target, "it is there already; choose another name")
    if not source.stat().st_size:
        raise StoreDamaged(source, "it is empty")
    codec = EitherCodec(settings.config.max_message_bytes)
    with Wreck(source, codec) as wreck, _made(target.parent):
        if (source.parent / KEY_FILE).exists():
            load(source.parent / KEY_FILE)  # a key that is damaged too is told, and not replaced by another one
            shutil.copy2(source.parent / KEY_FILE, target.parent / KEY_FILE)
        profile = open_profile(target, settings)
        with profile.store:
            rescue = _Rescue(profile, wreck, settings)
            rescue.people()
            packets = watch(wreck.packets())
            while batch := list(islice(packets, _BATCH)):
                rescue.messages(batch)
            rescue.states()
        return Rescued(rescue.counts, wreck.unreadable)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder, and remove it with all that is in it if what is done there fails."""
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


class _Rescue:
    def __init__(self, profile: Profile, wreck: Wreck, settings: Settings) -> None:
        self._profile = profile
        self._wreck = wreck
        self._settings = settings
        self._fates = wreck.fates()
        self._states = wreck.states()
        self._span: dict[str, tuple[int, int]] = {}  # oldest and newest Lamport time of each channel
        self._named: dict[str, dict[str, HistoryEntry]] = {}  # what messages depend on
        self._seen: dict[str, set[str]] = {}
        self.counts: dict[str, int] = {}

    def people(self) -> None:
        """Copy the keys with their nicks, and all other values of the node, such as the dialect of a channel. The new
        profile is another device: the last numbers of the old one may be lost."""
        with self._profile.store.transaction() as transaction:
            for key in self._wreck.people():
                transaction.put_key(*key)
            for nick in self._wreck.nicks():
                transaction.put_nick(*nick)
            for standing in self._wreck.standings():
                transaction.put_standing(*standing)
            for name, value in self._wreck.values():
                if name in (DEVICE, FORMER) or name.startswith((CHAIN, CHAINS)):
                    continue
                transaction.set_value(name, value)
        self._gate = ContentGate(self._profile.identity, "", "chat", self._profile.store)

    def messages(self, batch: list[SalvagedPacket]) -> None:
        writes: dict[str, list[Write]] = {}
        texts: list[IndexedText] = []
        for found in batch:
            message, channel = found.message, found.message.channel_id
            seen = self._seen.setdefault(channel, set())
            if message.lamport_timestamp is None or message.message_id in seen:
                continue
            seen.add(message.message_id)
            writes.setdefault(channel, []).extend(self._writes(found, message.lamport_timestamp))
            texts.append(indexed(self._gate.read(message, self._own(found))))
            oldest, newest = self._span.get(channel, (message.lamport_timestamp, 0))
            self._span[channel] = (min(oldest, message.lamport_timestamp), max(newest, message.lamport_timestamp))
            self.counts[channel] = self.counts.get(channel, 0) + 1
            self._named.setdefault(channel, {}).update((entry.message_id, entry) for entry in message.causal_history)
        self._profile.store.commit(writes.items(), (), texts)

    def _own(self, found: SalvagedPacket) -> bool:
        return found.message.sender_id == self._profile.identity.sender_id

    def _writes(self, found: SalvagedPacket, lamport: int) -> Iterator[Write]:
        message, own = found.message, self._own(found)
        dependencies = tuple(entry.message_id for entry in message.causal_history)
        entry = Entry(lamport, message.message_id, message.sender_id, dependencies)
        yield Append(LogRow(entry, found.raw, own, found.via, found.received_at))
        if own:
            unknown = OutgoingRow(message.message_id, lamport, AckState.UNACKED, 1, 0, ())
            yield Put(Table.OUTGOING, message.message_id, self._fates.get(message.message_id, unknown))

    def states(self) -> None:
        """Rescue the clock of each channel as it was, or make a new one that is ahead of everything in the log."""
        for channel, (oldest, newest) in self._span.items():
            row = self._states.get(channel) or self._fresh_state(channel)._replace(horizon=oldest)
            row = row._replace(lamport=max(row.lamport, newest))
            with self._profile.store.transaction() as transaction:
                transaction.apply(channel, [Put(Table.CHANNEL, "", row), *self._missing(channel)])
                note_lost(transaction, channel, max(newest, Clock().now().wall))

    def _missing(self, channel: str) -> Iterator[Write]:
        """Yield rows that request the lost messages named by salvaged ones. Nobody else would expect an author to
        lack its own message."""
        config, now = self._settings.config, Clock().now().wall
        gone = [entry for key, entry in self._named[channel].items() if key not in self._seen[channel]]
        for message_id, hint, sender_id in gone[-MISSING_PER_SENDER:]:
            row = MissingRow(
                message_id, sender_id, hint, sender_id or "", now, now + config.lost_after, now + config.t_min, 0, 0, 0
            )
            yield Put(Table.MISSING, message_id, row)

    def _fresh_state(self, channel: str) -> ChannelRow:
        """Return the state of a channel that is opened for the first time."""
        profile, config = self._profile, self._settings.config
        engine = Channel(
            channel,
            profile.identity.sender_id,
            codec=profile.codec,
            history=MemoryHistory(),
            secret=profile.chance,
            now=Clock().now(),
            config=config,
            online=False,
        )
        rows = [write.row for write in engine.take().writes if isinstance(write, Put)]
        return next(row for row in rows if isinstance(row, ChannelRow))
