"""Timber by the engine, the codec, real signatures and the store: two members who both write."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from nacl.bindings import crypto_sign, crypto_sign_open
from nacl.exceptions import BadSignatureError

from sdschat.identity.signing import key_pair
from sdschat.store.store import Store
from sdschat.store.timber import open_timber, save_timber
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.memory import MemoryStore
from sdschat.timber.rows import Drop, Key, Put, ReplicaTable, Row, Write
from sdschat.timber.values import Now, PostId, member_id
from tests.store.samples import CODEC as SDS_CODEC
from tests.timber.bench.posts import AWAY, AWAY_AMONG, ROUND, Figures, Sample, fate, found_in
from tests.timber.world import CODEC

CHANNEL = "garden"
STEP = 100  # milliseconds from one post to the next


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        crypto_sign_open(signature + message, key)
    except BadSignatureError:
        return False
    return True


class Writer:
    """A member with its engine and its rows."""

    def __init__(self, number: int) -> None:
        self.key, secret = key_pair(bytes([number]) * 32)
        self.id = member_id(self.key)
        self.signer = Signer(self.key, lambda message: crypto_sign(message, secret)[:64])
        self.store = MemoryStore()
        self.up = True
        self.engine = TimberEngine(Config(), self.signer, CODEC, verify, Now(0, 0))


class Room:
    """Members on a network without faults, on simulated time."""

    def __init__(self, count: int) -> None:
        self.writers = [Writer(number) for number in range(1, count + 1)]
        self.by_id = {writer.id: writer for writer in self.writers}
        self.time = 0
        self.append = self.merge = 0.0  # seconds of the processor
        self.exchanged = 0
        first, *others = self.writers
        data_set = first.engine.found(b"bench", self.now)
        for writer in others:
            writer.engine.join(data_set, [first.id], self.now)
            first.engine.invite(writer.key, self.now)
        for writer in self.writers:
            self.carry(writer)
        self.wait(120)
        self.append = self.merge = self.exchanged = 0

    @property
    def now(self) -> Now:
        return Now(1_700_000_000_000 + self.time, self.time)

    def carry(self, writer: Writer) -> None:
        """Apply what an engine wants, and let its packets arrive, with all that follows."""
        todo = [writer]
        while todo:
            sender = todo.pop()
            ready = sender.engine.take()
            sender.store.apply(ready.writes)
            for packet in ready.packets:
                receiver = self.by_id[packet.peer]
                raw = CODEC.encode(packet.message)
                if sender.up and receiver.up:
                    self.exchanged += len(raw)
                    began = time.process_time()
                    receiver.engine.receive(sender.id, CODEC.decode(raw), self.now)
                    self.merge += time.process_time() - began
                    todo.append(receiver)

    def say(self, writer: Writer, text: str) -> list[PostId]:
        named: list[PostId | None] = []
        self.step(writer, lambda now: named.append(writer.engine.say(text, now)))
        return [name for name in named if name is not None]

    def delete(self, writer: Writer, name: PostId) -> None:
        self.step(writer, lambda now: writer.engine.delete(name, now))

    def step(self, writer: Writer, verb: Callable[[Now], object]) -> None:
        merged, began = self.merge, time.process_time()
        verb(self.now)
        self.carry(writer)
        self.pass_time(STEP)
        self.append += time.process_time() - began - (self.merge - merged)

    def pass_time(self, duration: int) -> None:
        self.time += duration
        for writer in self.writers:
            wake = writer.engine.next_wake()
            if wake is not None and wake <= self.time:
                writer.engine.advance(self.now)
                self.carry(writer)

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.pass_time(1000)


class Disk:
    """The database of one member."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "profile.db"
        self.store = Store.open(self.path, SDS_CODEC)
        self.saved: dict[tuple[ReplicaTable, Key], Row] = {}
        self.empty = self._size()

    def save(self, rows: dict[tuple[ReplicaTable, Key], Row]) -> None:
        """Save the rows in place of those saved before."""
        writes: list[Write] = [Drop(*place) for place in self.saved.keys() - rows.keys()]
        writes += [Put(*place, row) for place, row in rows.items() if self.saved.get(place) != row]
        with self.store.transaction() as transaction:
            save_timber(transaction, CHANNEL, writes, wipe=True)
        self.saved = dict(rows)

    def raw(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.path.parent.iterdir()) if path.is_file())

    def grown(self) -> int:
        """Return the bytes over those of an empty profile."""
        return self._size() - self.empty

    def _size(self) -> int:
        self.store.connection.execute("VACUUM")
        self.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.path.stat().st_size

    def opened(self, writer: Writer) -> TimberEngine:
        return TimberEngine(Config(), writer.signer, CODEC, verify, Now(0, 0), open_timber(self.store, CHANNEL))


def measure(posts: Sample) -> Figures:
    room = Room(2)
    figures = Figures("Timber", len(posts.texts))
    first = room.writers[0]
    names: list[PostId] = []
    for at, text in enumerate(posts.texts):
        names += room.say(room.writers[at // ROUND % 2], text)
    room.wait(60)
    figures.append, figures.merge, figures.exchanged = room.append, room.merge, room.exchanged
    figures.notes.append(f"ten missing operations among {len(names):,}: {_ten_missing(room):,} bytes exchanged")
    with TemporaryDirectory() as folder:
        disk = Disk(Path(folder))
        gone: set[int] = set()
        for share, wanted in posts.deleted.items():
            disk.save(first.store.rows)
            for at in sorted(set(wanted) - gone):
                room.delete(first, names[at])
            gone = set(wanted)
            room.wait(120)
            disk.save(first.store.rows)
            figures.stored[share] = disk.grown() / posts.alive_bytes(share)
            figures.found[share] = found_in(posts.searched(share), disk.raw())
            figures.notes.append(_opening(disk, first, share))
        disk.store.close()
    figures.away = offline(posts)
    return figures


def _opening(disk: Disk, writer: Writer, share: int) -> str:
    tracemalloc.start()
    count = len(disk.opened(writer).posts())
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    began = time.process_time()
    engine = disk.opened(writer)
    took = time.process_time() - began
    assert engine.data_set
    return (
        f"{share} % deleted: {count:,} posts opened in {took * 1000:.0f} ms, {used / count:,.0f} bytes of memory a post"
    )


def _ten_missing(room: Room) -> int:
    """Return the bytes that bring ten operations to a member that was away."""
    here, away = room.writers
    away.up = False
    for number in range(10):
        room.say(here, f"missing {number}")
    room.wait(20)
    room.exchanged, away.up = 0, True
    wanted = len(here.engine.posts())
    while len(away.engine.posts()) < wanted:
        room.wait(5)
    return room.exchanged


def offline(posts: Sample) -> str:
    """Let a writer write while the others delete half of the posts, remove it and compact; then let it come back."""
    room = Room(3)
    first, _, away = room.writers
    texts = posts.texts[:AWAY_AMONG]
    names = [name for text in texts for name in room.say(first, text)]
    room.wait(60)
    away.up = False
    wanted = [f"written while away {number}" for number in range(AWAY)]
    for text in wanted:
        room.say(away, text)
    for name in names[::2]:
        room.delete(first, name)
    room.wait(600)
    removed = len(first.engine.members()) == 2
    away.up = True
    room.wait(120)
    if removed:
        first.engine.invite(away.key, room.now)
        room.carry(first)
        room.wait(600)
    kept = [view.post.text for view in first.engine.posts()]
    return ("removed; let in again; " if removed else "") + fate(wanted, kept, texts[::2])
