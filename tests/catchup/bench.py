"""Bytes and seconds to catch up, against offering every id and against asking for every dependency.

    python -m tests.catchup.bench [--messages 20000] [--svg screenshots/catching-up.svg]

Two nodes on a network of 50 ms each way, packets of 1 kB, no loss; time is simulated, so the figures are of the
protocols and not of this machine. Offering every id is MVDS as it stands, in interactive mode. Asking for every
dependency is what a node does that has nothing but a Store to ask for what it misses, message by message; asked of
the channel, by SDS-R, each would have to wait for half a minute at least.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import NamedTuple

from sdschat.mvds.config import Config
from sdschat.mvds.engine import Engine
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.values import Now, Payload
from sdschat.wire.mvds_codec import MvdsCodec
from tests.catchup.chart import Bar, chart
from tests.catchup.compare import some_keys
from tests.catchup.dependencies import ask_for_all
from tests.catchup.world import World

DELAY = 50
SIZE = 1000
HOUR = 3_600_000
_ENOUGH = 200  # messages in common where it does not matter how many there are
_GROUP = b"g" * 32


class Cost(NamedTuple):
    bytes: int  # beside the messages themselves
    seconds: float


def by_ranges(common: int, lacking: int) -> Cost:
    keys = some_keys(common + lacking)
    world = World({"ann": keys, "bob": keys[:common]}, delay=DELAY)
    for peer in world.peers.values():
        peer.size = SIZE
    world.begin("bob")
    world.present("ann", "bob")
    done = 0
    while world.peers["bob"].exchange.session.active:
        world.run(world.mono + 10)
        if not done and len(world.peers["bob"].order) == lacking:
            done = world.mono
    assert len(world.keys("bob")) == common + lacking
    sent = sum(peer.sent for peer in world.peers.values())
    return Cost(sent - lacking * SIZE, done / 1000)


def by_offers(common: int, lacking: int) -> Cost:
    """Every message that one has is offered to the other, who asks for what it lacks."""
    codec, config = MvdsCodec(), Config(metadata=False, fetch_parents=False, ordering="eventual")
    stores = {name: MemoryStore() for name in ("ann", "bob")}
    engines = {name: Engine(config, name.encode(), stores[name], Now(0, 0)) for name in stores}
    for name, other in (("ann", "bob"), ("bob", "ann")):
        engines[name].join(_GROUP, [other])
    bodies = [hashlib.sha256(b"%d" % number).digest() * (SIZE // 32) for number in range(common + lacking)]
    made = [engines["ann"].send(_GROUP, body, Now(0, 0), to=()) for body in bodies]
    _apply(engines["ann"], stores["ann"])
    for mid in made[:common]:
        stores["bob"].messages[mid] = stores["ann"].messages[mid]
    engines["ann"].share("bob", made, Now(0, 0))
    way: list[tuple[int, str, str, bytes]] = []
    sent, mono = 0, 0
    while len(stores["bob"].messages) < len(made):
        wakes = [when for engine in engines.values() if (when := engine.next_wake()) is not None]
        mono = max(mono, min([*wakes, *(one[0] for one in way[:1])]))
        while way and way[0][0] <= mono:
            _, frm, to, packet = way.pop(0)
            engines[to].receive(frm, codec.decode(packet), Now(mono, mono))
        for name, engine in engines.items():
            engine.advance(Now(mono, mono))
            for peer, payload in _apply(engine, stores[name]):
                packet = codec.encode(payload)
                sent += len(packet)
                way.append((mono + DELAY, name, peer, packet))
    return Cost(sent - lacking * SIZE, mono / 1000)


def _apply(engine: Engine, store: MemoryStore) -> list[tuple[str, Payload]]:
    ready = engine.take()
    store.apply(ready.writes)
    return [(packet.peer, packet.payload) for packet in ready.packets]


def by_dependencies(common: int, lacking: int) -> Cost:
    """Each message names some before it, so only when it is here is it known what to ask for next."""
    return Cost(*ask_for_all(min(common, _ENOUGH), lacking, SIZE, DELAY))


WAYS = (("ranges", by_ranges), ("every id offered", by_offers), ("every dependency asked for", by_dependencies))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000, help="in common")
    parser.add_argument("--svg", type=Path, help="where to draw them")
    options = parser.parse_args()
    bars: list[Bar] = []
    print("| lacking | way | bytes beside the messages | seconds |\n|---|---|---|---|")
    for lacking in (10, 100, 1000):
        for name, way in WAYS:
            cost = way(options.messages, lacking)
            print(f"| {lacking:,} | {name} | {cost.bytes:,} | {cost.seconds:.1f} |", flush=True)
            bars.append(Bar(f"{lacking:,} lacking", name, cost.bytes, cost.seconds))
    if options.svg is not None:
        options.svg.write_text(chart(f"Catching up: {options.messages:,} messages in common", bars))


if __name__ == "__main__":
    main()
