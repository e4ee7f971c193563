"""Drive a participant of `@waku/sds`, an implementation in TypeScript, by hand in a channel of a broker.

    npm ci --prefix tests/peers/node
    python -m tests.peers [--broker mqtt://127.0.0.1:1883] [--channel lobby] [--name waku-peer]

Commands on standard input, one a line: send TEXT, ephemeral TEXT, sync, sweep. Its events are printed, one JSON object
a line; its packets are not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from sdschat.node.stdin import lines
from sdschat.transport.address import parse_url
from sdschat.transport.mqtt_options import MqttOptions
from tests.peers.live import LivePeer, live_peer

_GOODBYE = 1.0  # seconds to wait for the last answers


async def _print_news(peer: LivePeer) -> None:
    told = 0
    while True:
        while told < len(peer.events):
            print(json.dumps(peer.events[told]), flush=True)
            told += 1
        await asyncio.sleep(0.05)


async def _meet(options: MqttOptions, channel: str, name: str) -> None:
    async with live_peer(options, channel, name) as peer:
        news = asyncio.create_task(_print_news(peer))
        async for some in lines(sys.stdin.fileno()):
            for line in some:
                peer.command(line.decode())
        await asyncio.sleep(_GOODBYE)
        news.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--broker", default="mqtt://127.0.0.1:1883")
    parser.add_argument("--channel", default="lobby")
    parser.add_argument("--name", default="waku-peer")
    given = parser.parse_args()
    address, password = parse_url(given.broker)
    asyncio.run(_meet(MqttOptions(address, password), given.channel, given.name))


if __name__ == "__main__":
    main()
