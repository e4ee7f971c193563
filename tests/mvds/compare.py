"""Comparison of interactive and batch mode: `python -m tests.mvds.compare`.

Each node writes a message at intervals to all the others, and is offline for a given part of the time, in spells of
random length. The engine of the real program runs on a simulated network. Without presence only the protocol is
measured, that is retransmission; `--presence` reports it.

Latency is from sending to delivery, over all pairs; bytes are those of all packets given to the network, divided by the
bytes of the bodies that had to arrive. A node knows when it is offline, and sends nothing then.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from random import Random
from statistics import fmean, quantiles
from typing import NamedTuple

from sdschat.mvds import Config, Mode
from tests.mvds.world import Faults, World, at

BODY = 200
PATIENCE = 90 * 60_000  # after the last message was written


class Case(NamedTuple):
    peers: int
    offline: float
    mode: Mode
    presence: bool = False
    interval: int = 5_000  # between two messages of the whole group
    minutes: int = 4  # of writing
    spell: int = 30_000  # mean length of one time online and one offline together, in ms
    backoff_max: int = 32  # epochs; the default is made for absences of days
    seed: int = 1


class Outcome(NamedTuple):
    delivered: float  # part of the pairs
    mean: float  # seconds
    p95: float
    overhead: float  # bytes sent for each byte that had to arrive
    packets: float  # for each pair


def spells(case: Case, end: int) -> list[tuple[int, str, bool]]:
    """Times at which nodes leave and return: (time, name, away)."""
    random = Random(f"{case.seed}/{case.peers}/{case.offline}")
    found: list[tuple[int, str, bool]] = []
    for number in range(case.peers if case.offline else 0):
        now, away = 0, random.random() < case.offline
        while now < end:
            found.append((now, f"n{number:02}", away))
            part = case.offline if away else 1 - case.offline
            now += 1 + int(random.expovariate(1 / (case.spell * part)))
            away = not away
    return found


def simulate(case: Case) -> Outcome:
    """Let the nodes write, and then wait until all messages have arrived, or until it takes too long."""
    bound = case.backoff_max
    low = min(8, bound)
    config = Config(
        mode=case.mode, ordering="eventual", expire_after=0, metadata=False, backoff_max=bound, backoff_low=low
    )
    names = [f"n{number:02}" for number in range(case.peers)]
    world = World(names, config, case.seed)
    world.faults = Faults(0.0, 0.0, 20, 120)
    writing = case.minutes * 60_000
    end = writing + PATIENCE
    plan: list[tuple[int, str, bool | None]] = [*spells(case, end)]
    plan += [(ms, names[number % case.peers], None) for number, ms in enumerate(range(0, writing, case.interval))]
    written: dict[bytes, int] = {}
    pairs = len(range(0, writing, case.interval)) * (case.peers - 1)
    for ms, name, away in sorted(plan, key=lambda one: (one[0], one[1])):
        world.run(ms)
        if away is None:
            written[world.send(name, str(ms).encode().rjust(BODY))] = world.now
        else:
            _change(world, case, name, away=away)
        if len(world.latest) == pairs and world.settled():
            break
    else:
        world.run(end)
    return _outcome(world, pairs, [now - written[mid] for now, mid in world.latest])


def _change(world: World, case: Case, name: str, *, away: bool) -> None:
    """Take a node offline or online. With presence, the online nodes learn of it, and a returning node learns who is
    online."""
    (world.away.add if away else world.away.discard)(name)
    there = [other for other in world.names if case.presence and other != name and other not in world.away]
    for other in there:
        engine = world.nodes[other].engine
        (engine.peer_offline if away else engine.peer_online)(name, at(world.now))
        if not away:
            world.nodes[name].engine.peer_online(other, at(world.now))


def _outcome(world: World, pairs: int, latencies: list[int]) -> Outcome:
    seconds = sorted(one / 1000 for one in latencies)
    p95 = quantiles(seconds, n=20)[-1] if len(seconds) > 1 else 0.0
    mean = fmean(seconds) if seconds else 0.0
    return Outcome(len(seconds) / pairs, mean, p95, world.bytes / (pairs * BODY), world.packets / pairs)


def table(cases: Iterable[Case]) -> Iterable[str]:
    yield "| peers | offline | mode | arrived | latency mean | 95 % | bytes for each byte | packets for each message |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in cases:
        got = simulate(case)
        yield (
            f"| {case.peers} | {case.offline:.0%} | {case.mode} | {got.delivered:.1%} | {got.mean:.1f} s "
            f"| {got.p95:.1f} s | {got.overhead:.1f} | {got.packets:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare interactive and batch mode.")
    parser.add_argument("--peers", type=int, nargs="*", default=[2, 5, 10, 20])
    parser.add_argument("--offline", type=float, nargs="*", default=[0.0, 0.3, 0.6, 0.9])
    parser.add_argument("--minutes", type=int, default=4)
    parser.add_argument("--spell", type=float, default=30, help="seconds of one time online and one offline together")
    parser.add_argument("--presence", action="store_true", help="tell the nodes who comes and goes")
    asked = parser.parse_args()
    cases = (
        Case(peers, offline, mode, asked.presence, minutes=asked.minutes, spell=round(asked.spell * 1000))
        for peers in asked.peers
        for offline in asked.offline
        for mode in Mode
    )
    for line in table(cases):
        print(line, flush=True)


if __name__ == "__main__":
    main()
