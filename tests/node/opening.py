"""A long history and the node: how soon `sdschat pipe` has it open, and with how much memory.

    python -m tests.node.opening [--messages 1000000] [--in DIR]

Makes a profile with so many messages (a minute or two; kept in DIR, if given, and used again), starts `sdschat pipe`
with it, and takes the time from starting the process to its line "joined", imports included. Memory is the most that
the process ever had, after it has also sent a message and seen it delivered.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from sdschat.node.channel.opening import open_engine
from sdschat.node.clock import Clock
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.sds.values import Append, ChannelRow, Put, Table, Write
from sdschat.store.transaction import IndexedText
from tests.cli.processes import command, environment
from tests.store.samples import log_row, packet_of
from tests.transport.worlds import free_port

CHANNEL, NAME = "big", "reader"
_BATCH = 5000
_STEP = 3  # milliseconds of Lamport time between two messages


def make(path: Path, count: int) -> None:
    """As cheaply as it can be: messages of twenty senders without filters, each naming the one before."""
    settings = make_settings({})
    profile = open_profile(path, settings)
    with profile.store as store:
        clock = Clock()
        me = profile.identity.sender_id
        engine = open_engine(CHANNEL, me, store, profile.codec, profile.chance, clock, settings.config)
        store.channel(CHANNEL).apply(engine.take().writes)
        (state,) = [row for row in [store.channel(CHANNEL).snapshot()] if row is not None]
        start = clock.now().wall - count * _STEP
        before: tuple[str, ...] = ()
        for first in range(0, count, _BATCH):
            writes: list[Write] = []
            texts: list[IndexedText] = []
            for number in range(first, min(first + _BATCH, count)):
                lamport, text = start + number * _STEP, f"message number {number} of many"
                message = packet_of(CHANNEL, f"sender {number % 20}", lamport, text, before)
                before = (message.message_id,)
                writes.append(Append(log_row(message)))
                texts.append(IndexedText(CHANNEL, message.message_id, "", text, "unsigned", lamport))
            channel: ChannelRow = state.channel._replace(lamport=start + count * _STEP)
            store.commit([(CHANNEL, [*writes, Put(Table.CHANNEL, "", channel)])], (), texts)


def measure(home: Path) -> tuple[float, float]:
    """Seconds until it is open, and MiB."""
    options = ("--name", NAME, "--set", f"embedded.port={free_port()}")
    began = time.monotonic()
    process = subprocess.Popen(
        command("pipe", CHANNEL, *options),
        cwd=home,
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _await(process, b'"event":"joined"')
        seconds = time.monotonic() - began
        _await(process, b'"state":"connected"')
        process.stdin.write(b"one more\n")
        process.stdin.flush()
        _await(process, b'"text":"one more"')
        return seconds, _peak(process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _await(process: subprocess.Popen[bytes], wanted: bytes) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if wanted in line:
            return
    raise SystemExit(f"the program ended before it said {wanted.decode()}")


def _peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--in", dest="directory", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = given.directory or Path(folder)
        path = database_path(home / "data" / "sdschat", NAME)
        if not path.exists():
            make(path, given.messages)
        rounds = [measure(home) for _ in range(3)]
    seconds, memory = min(each[0] for each in rounds), max(each[1] for each in rounds)
    print(
        f"{given.messages:,} messages open after {seconds:.2f} s (< 1.5), the best of three; {memory:.0f} MiB (< 150)"
    )


if __name__ == "__main__":
    main()
