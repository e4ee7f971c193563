"""Figures of a Store: `python -m tests.storenode.bench [--messages 1000000] [--in DIR]`.

Fills an archive the way a node saves it (log, packet, text, full-text index, range index), then measures on top of
that: taking in signed messages through a whole node, answering for single messages, and answering for pages. Beside
each stands what SQLite alone takes for the same rows, in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sdschat.identity.signing import Identity
from sdschat.node.channel.session import ChannelSession
from sdschat.node.node import Node
from sdschat.node.profile import open_profile
from sdschat.node.retention import RetentionLimits
from sdschat.node.settings import make_settings
from sdschat.node.store_server.answers import Answerer
from sdschat.node.store_server.server import StoreNode
from sdschat.sds.ids import content_id
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Append, Entry, HistoryEntry, LogRow, Message, Put, Table, Write
from sdschat.store.archive import LogArchive
from sdschat.store.connection import open_writer
from sdschat.store.history import first_place
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from sdschat.transport.memory import MemoryNetwork
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.store_codec import Range, StoreQuery, WantedMessage, encode_answer
from tests.identity.signed import signed_message
from tests.node.worlds import InMemory
from tests.store.samples import WORDS, state_row
from tests.storenode.bulk import fill_in_bulk

CHANNEL: Final = "big"
CODEC: Final = SdsCodec()
ME: Final = "0" * 32
FILTER: Final = bytes(range(256)) * 2 + bytes(115)  # as long as one of 256 ids
BATCH: Final = 250


def _tell(what: str, figure: str, target: str = "") -> None:
    print(f"{what:<66} {figure:>30}  {target}", flush=True)


def _text(at: int) -> str:
    return " ".join(WORDS[(at * 7 + word * (at % 13 + 1)) % len(WORDS)] for word in range(12))


def fill(store: Store, count: int, started: int) -> None:
    """One message a second up to now, each with a filter and two ids, about 1 KB."""
    deps: tuple[str, ...] = ()
    for start in range(0, count, 5000):
        writes: list[Write] = []
        texts: list[IndexedText] = []
        for at in range(start, min(start + 5000, count)):
            lamport, text = started + at * 1000, _text(at)
            content = b"SDC1" + at.to_bytes(8, "big") * 16 + text.encode()
            sender = f"{at % 50:032x}"
            history = tuple(HistoryEntry(name, None, sender) for name in deps)
            message = Message(sender, content_id(content), CHANNEL, lamport, history, FILTER, (), content)
            entry = Entry(lamport, message.message_id, sender, deps, 0)
            writes.append(Append(LogRow(entry, CODEC.encode(message), False, "live", lamport)))
            texts.append(IndexedText(CHANNEL, message.message_id, "Anna", text, "known", lamport))
            deps = (*deps[-1:], message.message_id)
        writes.append(Put(Table.CHANNEL, "", state_row(started + count * 1000)))
        store.commit([(CHANNEL, writes)], (), texts)


def _spread(store: Store, count: int, samples: int) -> list[tuple[int, str]]:
    """Messages from everywhere in the archive."""
    number = store.number(CHANNEL)
    assert number is not None
    places = [first_place(number) + random.randint(1, count) for _ in range(samples)]
    sql = "SELECT lamport, message_id FROM log WHERE place = ?"
    return [store.connection.execute(sql, (place,)).fetchone() for place in places]


def _forget_cache(path: Path) -> None:
    """Let the operating system keep nothing of the file, as if it had not been used for long."""
    for name in (path, path.with_name(path.name + "-wal")):
        if name.exists():
            descriptor = os.open(name, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def _times(work: Callable[[Any], object], samples: list[Any]) -> str:
    """Median and 95th percentile by the clock, and the latter of processor time: on a machine that does something else
    too, the first tells of that as well."""
    taken: list[float] = []
    worked: list[float] = []
    for sample in samples:
        before, before_worked = time.perf_counter(), time.thread_time()
        work(sample)
        taken.append((time.perf_counter() - before) * 1000)
        worked.append((time.thread_time() - before_worked) * 1000)
    p95, p95_worked = (statistics.quantiles(times, n=100)[94] for times in (taken, worked))
    return f"{statistics.median(taken):7.3f} / {p95:7.3f} / {p95_worked:6.3f} ms"


def answering(path: Path, count: int) -> None:
    """Median, 95th percentile and that of processor time: first with nothing cached, then again."""
    with Store.open(path, CODEC) as store:
        answers = Answerer(ME, CHANNEL, LogArchive(store))
        sql = "SELECT raw FROM log JOIN body USING (place) WHERE channel = 1 AND message_id = ?"
        walk = (
            "SELECT raw FROM log JOIN body USING (place) WHERE channel = 1 AND lamport >= ? "
            "ORDER BY lamport, message_id LIMIT 200"
        )

        def by_id(key: tuple[int, str]) -> None:
            answer = answers.answer(StoreQuery(bytes(8), ME, 0, (WantedMessage(key[1]),)), 0)
            assert len(answer.items) == 1
            encode_answer(answer)

        def page(key: tuple[int, str]) -> None:
            answer = answers.answer(StoreQuery(bytes(8), ME, 0, (), Range(key[0], MAX_LAMPORT, None, False, 200)), 0)
            assert answer.items
            encode_answer(answer)

        def raw_page(key: tuple[int, str]) -> None:
            store.connection.execute(walk, (key[0],)).fetchall()

        kinds: tuple[tuple[str, Callable[[Any], object], str], ...] = (
            ("a message by its id", by_id, "(< 10 ms)"),
            ("  SQLite alone", lambda key: store.connection.execute(sql, (key[1],)).fetchall(), ""),
            ("a page of up to 200 messages", page, "(< 20 ms)"),
            ("  SQLite alone", raw_page, ""),
        )
        for what, work, target in kinds:
            samples = _spread(store, count, 500)
            _forget_cache(path)
            _tell(f"{what}, nothing cached", _times(work, samples), target)
            _tell(f"{what}, again", _times(work, samples), target)


def packets(count: int, started: int) -> list[tuple[bytes, int]]:
    """Signed messages of 20 people, as they come over the network."""
    people = [Identity(at.to_bytes(32, "big")) for at in range(20)]
    found: list[tuple[bytes, int]] = []
    deps: tuple[str, ...] = ()
    for at in range(count):
        who, lamport = people[at % len(people)], started + at
        history = tuple(HistoryEntry(name, None, who.sender_id) for name in deps)
        nick, nonce = f"nick {at % 20}", at.to_bytes(8)
        message = signed_message(
            who, CHANNEL, _text(at), lamport, nick=nick, nonce=nonce, history=history, bloom_filter=FILTER
        )
        found.append((CODEC.encode(message), lamport))
        deps = (*deps[-1:], message.message_id)
    return found


async def taken_in(store: StoreNode, session: ChannelSession, ready: list[tuple[bytes, int]]) -> None:
    """Come back when all of them are saved."""
    wanted = store.counts.archived + len(ready)
    for start in range(0, len(ready), 50):
        for packet, _ in ready[start : start + 50]:
            session.receive(packet, "live")
        await asyncio.sleep(0)
    while store.counts.archived < wanted:
        await asyncio.sleep(0.001)


async def ingest(path: Path, count: int) -> None:
    """Through decoding, engine, signatures, and saving with everything that a node saves."""
    settings = make_settings({})
    network = MemoryNetwork(asyncio.get_running_loop().call_soon)
    profile = open_profile(path, settings)
    node = Node(profile, "store", settings, InMemory(network, settings))
    store = StoreNode(node, profile.store, RetentionLimits())
    session = node.join(CHANNEL)
    await taken_in(
        store, session, packets(1, int(time.time() * 1000) - count - 1000)
    )  # opens what is opened when needed
    ready = packets(count, int(time.time() * 1000) - count)
    before, worked = time.perf_counter(), time.process_time()
    await taken_in(store, session, ready)
    taken, worked = time.perf_counter() - before, time.process_time() - worked
    await node.close(0.1)
    _tell("taking in signed messages through the whole node", f"{count / taken:,.0f} messages/s", "(>= 1,500)")
    _tell("  a second of processor time", f"{count / worked:,.0f} messages")


def raw_rows(directory: Path, count: int) -> None:
    """The same packets into one table of an empty database, as safely and as many at a time."""
    connection = open_writer(directory / "raw.db")
    connection.execute("CREATE TABLE packet (id TEXT PRIMARY KEY, lamport INTEGER, raw BLOB) STRICT")
    ready = [(str(at), lamport, packet) for at, (packet, lamport) in enumerate(packets(count, 1))]
    before = time.perf_counter()
    for start in range(0, count, BATCH):
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO packet VALUES (?, ?, ?)", ready[start : start + BATCH])
        connection.execute("COMMIT")
    taken = time.perf_counter() - before
    connection.close()
    _tell("  SQLite alone, one table, an empty database", f"{count / taken:,.0f} messages/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--fresh", type=int, default=20_000, help="messages taken in on top of that")
    parser.add_argument("--bulk", action="store_true", help="fill without texts, and make the indexes afterwards")
    parser.add_argument("--in", dest="directory", type=Path)
    options = parser.parse_args()
    random.seed(1)
    count = options.messages
    if options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        path = Path(place) / "profile" / "sdschat.db"
        started = int(time.time() * 1000) - (count + 3600) * 1000
        before = time.perf_counter()
        if options.bulk:
            fill_in_bulk(path, CHANNEL, count, started, FILTER)
        else:
            with Store.open(path, CODEC) as store:
                fill(store, count, started)
        _tell(f"filling to {count:,}", f"{count / (time.perf_counter() - before):,.0f} messages/s")
        _tell("size of the database", f"{path.stat().st_size / 2**20:,.0f} MiB")
        asyncio.run(ingest(path, options.fresh))
        raw_rows(Path(place), options.fresh)
        answering(path, count)


if __name__ == "__main__":
    main()
