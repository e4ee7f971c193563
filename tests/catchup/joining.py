"""A joiner and a long history: `python -m tests.catchup.joining [--messages 20000] [--there store]`.

Real processes over a real broker. The peer is the author of everything; the Store has all of it. Prints how long the
joiner took from its start, and what it heard twice or thought of asking the channel for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.node.profile import open_profile
from sdschat.node.settings import make_settings
from sdschat.sds.values import Append, Entry, LogRow, Put, Table
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.transport.address import parse_url
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.embedded import EmbeddedHosting
from sdschat.transport.mqtt_options import MqttOptions
from tests.catchup.live import CHANNEL, CODEC, Tap, profile_path, standing, start, stop, write_alone
from tests.cli.processes import command, environment
from tests.store.samples import state_row
from tests.transport.worlds import free_port

_BATCH: Final = 2000
_BUSY: Final = "busy"
_TOLD: Final = ("duplicate", "repair_wanted", "repair_requested", "store_asked", "store_silent", "missing", "delivered")


def copy_log(home: Path, frm: str, to: str) -> None:
    """Put everything of one profile's log into another's, as if it had heard it."""
    open_profile(profile_path(home, to), make_settings({})).store.close()  # a key of its own
    with Reader.open(profile_path(home, frm), CODEC) as reader:
        rows = [
            LogRow(
                Entry(one.lamport, one.message_id, one.sender_id, one.dependencies),
                one.raw or b"",
                False,
                "live",
                one.received_at,
            )
            for one in reader.messages(CHANNEL, with_raw=True)
        ]
    with Store.open(profile_path(home, to), CODEC) as store:
        for at in range(0, len(rows), _BATCH):
            state = Put(Table.CHANNEL, "", state_row(rows[0].entry.lamport))
            store.commit([(CHANNEL, [*map(Append, rows[at : at + _BATCH]), state])])


def start_store(home: Path, url: str) -> subprocess.Popen[bytes]:
    arguments = command("store", CHANNEL, "--name", "store", "--broker", url)
    arguments[arguments.index("sdschat")] = "tests.catchup.busy_store"
    return subprocess.Popen(
        arguments,
        cwd=home,
        env=environment(home, SDSCHAT_TEST_BUSY=str(home / _BUSY)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


async def feed(home: Path, author: subprocess.Popen[bytes], texts: list[str], tap: Tap) -> None:
    """Let the author say all of it, and wait until the Store has it."""
    began, before = time.monotonic(), tap.packets["msg"]
    assert author.stdin is not None
    lines = "".join(f"{text}\n" for text in texts).encode()
    await asyncio.to_thread(author.stdin.write, lines)
    await asyncio.to_thread(author.stdin.flush)
    while standing(home, "store")[0] < len(texts):
        await asyncio.sleep(0.2)
    packets = tap.packets["msg"] - before
    print(f"fed {len(texts):,} in {time.monotonic() - began:.1f} s: {packets:,} packets", flush=True)


class Trouble(NamedTuple):
    """Trouble of the Store once so many messages came: it says busy for so many seconds, or with 0 is killed."""

    after: int
    busy: float = 0


async def _until(home: Path, count: int) -> None:
    while standing(home, "bob")[0] < count:
        await asyncio.sleep(0.02)


async def occupy_store(home: Path, after: int, seconds: float) -> float:
    """Let the Store say that it is busy in the middle of it. Return when that ended."""
    await _until(home, after)
    (home / _BUSY).touch()
    print(f"  busy with {standing(home, 'bob')[0]:,} messages here", flush=True)
    await asyncio.sleep(seconds)
    (home / _BUSY).unlink()
    here, free = standing(home, "bob")[0], time.monotonic()
    print(f"  free again with {here:,} messages here", flush=True)
    await _until(home, here + 1)
    print(f"  the next came {time.monotonic() - free:.1f} s later", flush=True)
    return free


async def restart_store(home: Path, url: str, processes: list[subprocess.Popen[bytes]], after: int) -> float:
    """Kill the Store in the middle of it, and start it again three seconds later. Return when that was."""
    await _until(home, after)
    processes[0].kill()
    processes[0].wait()
    print(f"  killed with {standing(home, 'bob')[0]:,} messages here", flush=True)
    await asyncio.sleep(3)
    processes[0] = start_store(home, url)
    return time.monotonic()


async def measure(
    home: Path, messages: int, there: list[str], settle: float, ago: int, trouble: Trouble | None
) -> None:
    texts = [f"number {number} of a long conversation" for number in range(messages)]
    if ago:
        await write_alone(home, "ann", texts, ago)
        copy_log(home, "ann", "store")
    port = free_port()
    url = f"mqtt://127.0.0.1:{port}"
    hosting = EmbeddedHosting(BrokerConfig("127.0.0.1", port))
    tap = Tap(hosting.options(MqttOptions(parse_url(url)[0])))
    await tap.ready.wait()
    processes = [start_store(home, url)] if "store" in there else []
    processes += (
        [start(home, "ann", "--broker", url, into=subprocess.DEVNULL if ago else subprocess.PIPE)]
        if "peer" in there
        else []
    )
    while tap.packets["who"] < len(processes):
        await asyncio.sleep(0.1)
    if not ago:
        await feed(home, processes[-1], texts, tap)
    await asyncio.sleep(settle)
    before = Counter(tap.packets)
    began = back = time.monotonic()
    heard = home / "heard.jsonl"
    with open(heard, "wb") as out:
        processes.append(start(home, "bob", "--broker", url, "--set", "history.on_join=all", out=out))
        try:
            while not profile_path(home, "bob").exists():
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)  # its tables are made
            if trouble is not None and trouble.busy:
                back = await occupy_store(home, trouble.after, trouble.busy)
            elif trouble is not None:
                back = await restart_store(home, url, processes, trouble.after)
            while standing(home, "bob")[0] < messages:
                await asyncio.sleep(0.2)
                if time.monotonic() - began > 600:
                    raise SystemExit(f"after 600 s: {standing(home, 'bob')[0]} of {messages}")
            taken = time.monotonic() - began
        finally:
            stop(*processes)
            await tap.transport.close()
            await hosting.close()
    if trouble is not None:
        again = "free" if trouble.busy else "started"
        print(f"  all of it {began + taken - back:.1f} s after the Store was {again} again")
    told = Counter(json.loads(line)["event"] for line in heard.read_bytes().splitlines())
    packets = {kind: count - before[kind] for kind, count in tap.packets.items()}
    print(f"{messages:,} messages, {' and '.join(there)} there: {taken:.1f} s")
    print("  the joiner told: " + ", ".join(f"{name} {told[name]:,}" for name in _TOLD))
    if not ago:
        print(f"  since the beginning: msg {tap.packets['msg']:,}")
    print("  packets: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(packets.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    ways = ("store", "peer", "store,peer")
    parser.add_argument("--there", default=ways[2], choices=ways, help="who is there (default: both)")
    parser.add_argument("--ago", type=float, default=120.0, help="minutes since it was said; 0: it is said now")
    parser.add_argument("--kill-after", type=int, default=0, help="kill -9 the Store when so many came, and start it")
    parser.add_argument("--busy-after", type=int, default=0, help="let the Store say busy when so many came")
    parser.add_argument("--busy-for", type=float, default=20.0, help="seconds for which it does")
    parser.add_argument("--settle", type=float, default=3.0, help="seconds that they are there before the joiner")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        there, ago = options.there.split(","), int(options.ago * 60_000)
        trouble = Trouble(options.busy_after, options.busy_for) if options.busy_after else None
        if options.kill_after:
            trouble = Trouble(options.kill_after)
        asyncio.run(measure(Path(folder), options.messages, there, options.settle, ago, trouble))


if __name__ == "__main__":
    main()
