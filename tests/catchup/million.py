"""A million messages in common and a thousand different: seconds and bytes until one log is the other, over a broker.

python -m tests.catchup.million [--messages 1000000] [--different 1000] [--where scattered|newest|both]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from random import Random

from sdschat.catchup.values import HIGHEST, LOWEST
from sdschat.node.profile import open_profile
from sdschat.node.settings import make_settings
from sdschat.sds.values import Append, Entry, HistoryEntry, LogRow, Message
from sdschat.store.store import Store
from sdschat.transport.address import parse_url
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.embedded import EmbeddedHosting
from sdschat.transport.mqtt_options import MqttOptions
from tests.catchup.live import (
    CHANNEL,
    CODEC,
    Tap,
    processor_time,
    profile_path,
    standing,
    start,
    stop,
    until_equal,
    write_alone,
)
from tests.transport.worlds import free_port

_DAY = 24 * 3600 * 1000
_BATCH = 2000
_THERE = 3.0  # seconds for which one was there before the other came


def rows(count: int, newest: int) -> Iterable[LogRow]:
    """Messages of several people over some months, each naming the one before."""
    before = ""
    for number in range(count):
        content = f"message number {number} of a long conversation, of an ordinary length for a line of chat".encode()
        message_id = hashlib.sha256(content).hexdigest()
        lamport = newest - (count - number) * 9000 + number % 7
        history = (HistoryEntry(before),) if before else ()
        message = Message(f"person {number % 9}", message_id, CHANNEL, lamport, history, None, (), content)
        dependencies = (before,) if before else ()
        yield LogRow(
            Entry(lamport, message_id, message.sender_id, dependencies), CODEC.encode(message), False, "live", lamport
        )
        before = message_id


def put(home: Path, name: str, some: Iterable[LogRow]) -> int:
    """Into the log of a profile; gives the bytes of their packets."""
    size = 0
    left = iter(some)
    with Store.open(profile_path(home, name), CODEC) as store:
        while batch := list(islice(left, _BATCH)):
            store.commit([(CHANNEL, [Append(row) for row in batch])])
            size += sum(len(row.raw) for row in batch)
    return size


async def prepare(home: Path, messages: int, different: int, where: str) -> int:
    """Two profiles; bytes of the packets in which they differ."""
    now = time.time_ns() // 1_000_000
    every = list(rows(messages + different, now - _DAY))
    draw = Random(1)
    chosen = set(range(messages, messages + different))
    if where != "newest":
        chosen = set(draw.sample(range(messages + different), different))
    await write_alone(home, "ann", ["the first one"], _DAY // 2)
    put(home, "ann", (row for at, row in enumerate(every) if at not in chosen))
    bob = profile_path(home, "bob").parent
    settings = make_settings({})
    open_profile(profile_path(home, "bob"), settings).store.close()  # a key of its own
    with Store.open(profile_path(home, "ann"), CODEC) as store, store.transaction() as transaction:
        # As in a profile that has caught up on everything before.
        transaction.set_value(f"catchup/{CHANNEL}", b'{"since": 0, "complete": 0}')
    shutil.copy(profile_path(home, "ann"), bob / "sdschat.db")
    with Store.open(bob / "sdschat.db", CODEC) as store:
        # As in a log that grew in another way: its buckets begin elsewhere.
        store.connection.execute("DELETE FROM range_bucket")
        number = store.number(CHANNEL)
        assert number is not None
        store.log(CHANNEL).summary(LOWEST, HIGHEST)
    theirs = [every[at] for at in sorted(chosen)]
    mine: list[LogRow] = []
    if where == "both":
        theirs, mine = theirs[::2], theirs[1::2]
    return put(home, "ann", theirs) + (put(home, "bob", mine) if mine else 0)


async def measure(home: Path, messages: int, different: int, where: str) -> None:
    lacking = await prepare(home, messages, different, where)
    port = free_port()
    url = f"mqtt://127.0.0.1:{port}"
    hosting = EmbeddedHosting(BrokerConfig("127.0.0.1", port))
    tap = Tap(hosting.options(MqttOptions(parse_url(url)[0])))
    await tap.ready.wait()
    processes = [start(home, "ann", "--broker", url)]
    while "who" not in tap.packets:
        await asyncio.sleep(0.1)
    await asyncio.sleep(_THERE)
    before = dict(tap.kinds)
    began = time.monotonic()
    processes.append(start(home, "bob", "--broker", url))
    while tap.packets["who"] < 2:
        await asyncio.sleep(0.01)
    opening = time.monotonic() - began
    at_first = [processor_time(process) for process in processes]
    try:
        seconds = await until_equal(home, "ann", "bob", messages + different + 1)
        used = [processor_time(process) - first for process, first in zip(processes, at_first, strict=True)]
        kinds = {kind: size - before.get(kind, 0) for kind, size in tap.kinds.items()}
        over = sum(kinds.values()) - lacking
        print(f"{messages:,} in common, {different:,} different ({where}): {seconds:.1f} s from both being there")
        print(f"  of processor time: {used[0]:.1f} s who was there, {used[1]:.1f} s who came", end="")
        print(f" (which was there {opening:.1f} s after its process was started)")
        print(f"  {lacking:,} bytes of what was lacking, {over:,} bytes beside it, everything counted:")
        print("  " + ", ".join(f"{kind} {size:,}" for kind, size in sorted(kinds.items()) if size))
        assert standing(home, "ann") == standing(home, "bob")
    finally:
        stop(*processes)
        await tap.transport.close()
        await hosting.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--different", type=int, default=1000)
    parser.add_argument("--where", choices=("scattered", "newest", "both"), default="scattered")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.messages, options.different, options.where))


if __name__ == "__main__":
    main()
