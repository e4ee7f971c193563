"""Throw random and damaged packets at the decoder and at an engine: `python -m tests.sds.fuzz_decoder --minutes 5`.

Nothing may raise, and a packet that is refused may change nothing.
"""

from __future__ import annotations

import argparse
import random
import time

from sdschat.sds.config import DEMO
from sdschat.sds.describe import describe
from sdschat.sds.events import Rejected
from sdschat.sds.values import Append, Drop, Message, Now, Put, Refusal, Table, Write
from tests.sds.group import CODEC, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

ROUND = 500  # packets between one fresh engine and the next


def corpus() -> list[bytes]:
    """Honest packets of every kind, to damage."""
    group = Group("a", "b", "c", config=DEMO)
    for place in range(12):
        group.say("abc"[place % 3], f"message {place}")
        if place % 4 == 3:
            group.lose()
        group.tick(3000)
    group["a"].channel.send_ephemeral(group.now, b"typing")
    group.collect("a")
    packets = [packet.raw for node in group.nodes.values() for packet in node.sent]
    packets += [CODEC.encode(message) for message in forged()]
    return packets


def forged() -> list[Message]:
    return [
        forge("x", "x1", START + 5, "x0", "nowhere", requests=("x0", "x2")),
        forge("x", "x0", START + 4, bloom_filter=filter_of("x1", "x2")),
        forge("y", "far", START + DEMO.max_skew + 5000, "x1"),
        forge("y", "s", START + 9, "x1", "elsewhere", content=None, bloom_filter=bytes(18_752)),
        forge("z", "long-ago", START - 10**9, "x9"),
        forge("a", "not-mine", START + 3),
    ]


def damaged(chance: random.Random, packets: list[bytes]) -> bytes:
    """A packet with something done to it."""
    raw = bytearray(chance.choice(packets))
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(raw) + 1)
        match chance.randrange(6):
            case 0 if raw:
                raw[at % len(raw)] ^= 1 << chance.randrange(8)
            case 1:
                del raw[at:]
            case 2:
                raw[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 3:
                del raw[at : at + chance.randrange(1, 20)]
            case 4:
                other = chance.choice(packets)
                raw[at:] = other[chance.randrange(len(other)) :]
            case _:
                raw += raw[at : at + chance.randrange(64)]
    return bytes(raw)


def made_up(chance: random.Random) -> bytes:
    """A packet whose fields are drawn from few values, so that they meet."""
    ids = [f"m{place}" for place in range(12)]

    def some() -> tuple[str, ...]:
        return tuple(chance.sample(ids, chance.randrange(4)))

    lamport = chance.choice((None, 0, 1, START + chance.randrange(-(10**6), 10**6), 2**43 - 1, 2**64 - 1))
    packed = chance.choice((None, filter_of(*some()), b"\xc4" + chance.randbytes(30), chance.randbytes(18_752)))
    content = chance.choice((None, b"x", chance.randbytes(5)))
    message = forge(
        chance.choice("abc"),
        chance.choice(ids),
        lamport,
        *some(),
        content=content,
        requests=some(),
        bloom_filter=packed,
    )
    return CODEC.encode(message)


def _keeps_an_id(write: Write) -> bool:
    """True for what the id of a refused message changes: it is in the log, and missing no more."""
    match write:
        case Append(row):
            return row.entry.bare
        case Put(table):
            return table is Table.CHANNEL
        case Drop(table):
            return table is Table.MISSING


def check(group: Group, raw: bytes) -> bool:
    """Hand a packet over; true if it was refused."""
    decoded = CODEC.decode(raw)
    assert isinstance(decoded, Message | Refusal)
    ready = group.give("a", raw)
    group.lose()
    for event in ready.events:
        assert "\n" not in describe(event)
    refused = bool(ready.events) and all(isinstance(event, Rejected) for event in ready.events)
    assert not refused or all(map(_keeps_an_id, ready.writes)), f"refused, and yet it changed {ready.writes}"
    assert isinstance(decoded, Message) or refused
    return refused


def fresh() -> Group:
    group = Group("a", config=DEMO, settle=2000)
    group.send("a", "hello")
    group.lose()
    return group


def play(chance: random.Random, packets: list[bytes]) -> tuple[int, int]:
    """One engine and what it has to put up with: how many packets, and how many of them it refused."""
    group = fresh()
    refused = 0
    for _ in range(ROUND):
        match chance.randrange(10):
            case 0:
                raw = chance.randbytes(chance.randrange(200))
            case 1 | 2 | 3:
                raw = made_up(chance)
            case _:
                raw = damaged(chance, packets)
        try:
            refused += check(group, raw)
        except Exception:
            print(f"found by {raw.hex()}")
            raise
        if chance.randrange(20) == 0:
            group.now = Now(group.now.wall + 500, group.now.mono + 500)
            group["a"].channel.advance(group.now)
            group.collect("a")
            group.lose()
    assert "\n" not in describe(group["a"].channel.state)
    return ROUND, refused


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    packets = corpus()
    end = time.monotonic() + 60 * options.minutes
    total = refused = 0
    while time.monotonic() < end:
        count, bad = play(chance, packets)
        total, refused = total + count, refused + bad
    print(f"{total} packets, {refused} refused, nothing raised and nothing refused changed anything")


if __name__ == "__main__":
    main()
