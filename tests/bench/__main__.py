"""Print the speed of the engine, each figure with the floors measured in the same run: `python -m tests.bench`.

Absolute numbers are of one machine and one moment; compare the ratios.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from sdschat.sds.config import FilterFormat
from sdschat.sds.values import Message
from sdschat.sim.throughput import measure
from tests.bench import figures
from tests.peers.packets import conversation

MEASURED = 3000
OWN = 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair is measured (the median counts)")
    parser.add_argument("--without-peer", action="store_true", help="leave out the npm package")
    chosen = parser.parse_args()
    if not chosen.without_peer:
        with tempfile.TemporaryDirectory() as folder:
            beside_the_peer(Path(folder), chosen.rounds)
    alone(chosen.rounds)


def beside_the_peer(folder: Path, rounds: int) -> None:
    print("beside @waku/sds, filters of 18,752 bytes on both sides, a second; engine alone (packets decoded before)")
    for history in (1000, 4000):
        sample = list(conversation(history + MEASURED))
        against(f"receive, history {history:>6,}", receiving(folder, sample, history, rounds, own=0))
    print(f"  floors: {floors(sample[-MEASURED:], 'waku')}")
    sample = list(figures.spoken(1000 + MEASURED, "waku"))
    print(
        f"the same after 1,000, with filters that engines filled, and {OWN} own messages that wait for acknowledgement"
    )
    against("receive, history  1,000", receiving(folder, sample, 1000, rounds, own=OWN))
    print(f"  floors: {floors(sample[-MEASURED:], 'waku')}")
    pairs = [
        (figures.send_rate(1000, MEASURED, "waku"), figures.peer_send_rate(folder, 1000, MEASURED))
        for _ in range(rounds)
    ]
    against("send,    history  1,000", pairs)
    print(f"  floors: protobuf serialise {figures.serialise_floor(sample[-MEASURED:]):,.0f}, ", end="")
    print(f"filter insert {figures.insert_floor(sample[-MEASURED:], 'waku'):,.0f}")


def receiving(folder: Path, sample: list[Message], history: int, rounds: int, own: int) -> list[tuple[float, float]]:
    """Measure receiving, our engine and the npm package in turn."""
    return [
        (
            figures.receive_rate(sample, history, MEASURED, "waku", own).decoded,
            figures.peer_receive_rate(folder, sample, history, MEASURED, own).decoded,
        )
        for _ in range(rounds)
    ]


def against(what: str, pairs: list[tuple[float, float]]) -> None:
    ratio = median(ours / theirs for ours, theirs in pairs)
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    print(f"  {what}: {ours:>8,.0f} against {theirs:>6,.0f}  = {ratio:.1f} times")


def floors(sample: list[Message], layout: FilterFormat) -> str:
    return (
        f"protobuf parse {figures.parse_floor(sample):,.0f}, filter insert {figures.insert_floor(sample, layout):,.0f}"
    )


def alone(rounds: int) -> None:
    sample = list(figures.spoken(MEASURED, "waku"))
    print("waku format, engine alone, a second")
    near, far = [], []
    for _ in range(rounds):
        near.append(figures.receive_rate(figures.spoken(1000 + MEASURED, "waku"), 1000, MEASURED, "waku").decoded)
        far.append(figures.receive_rate(figures.spoken(100_000 + MEASURED, "waku"), 100_000, MEASURED, "waku").decoded)
    kept = median(b / a for a, b in zip(near, far, strict=True))
    print(f"  receive, history   1,000: {median(near):>8,.0f}")
    print(f"  receive, history 100,000: {median(far):>8,.0f}  = {kept:.0%} of the rate at 1,000")
    print(f"  floors: {floors(sample, 'waku')}")
    compact = list(figures.spoken(1000 + 5 * MEASURED, "compact"))
    found = [figures.receive_rate(compact, 1000, 5 * MEASURED, "compact") for _ in range(rounds)]
    print("compact format, engine alone, a second")
    print(f"  receive, decoded before:  {median(one.decoded for one in found):>8,.0f}")
    print(f"  receive, from bytes:      {median(one.packed for one in found):>8,.0f}")
    print(f"  floors: {floors(compact, 'compact')}")
    print(f"  bytes around the content, two causal ids, 256 ids in the filter: {figures.packet_overhead():,}")
    print(f"  memory for each of 100,000 messages of history: {figures.memory_per_message(100_000):.0f} bytes")
    group = [measure() for _ in range(rounds)]
    print(f"simulator: {sorted(group, key=lambda one: one.rate)[rounds // 2].line()}")
    print(
        f"  floor: filter insert {figures.insert_floor(compact, 'compact'):,.0f} (each packet is parsed once for all)"
    )


if __name__ == "__main__":
    main()
