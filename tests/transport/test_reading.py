"""The limit on reading: during a flood of packets the loop can still do other work."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from sdschat.transport import mqtt
from sdschat.transport.address import LOCAL
from sdschat.transport.mqtt import PahoLink
from sdschat.transport.session import LinkEvents, LinkOptions, LinkTraffic


class Flood:
    """A connection that always has more to read; a stand-in for paho and its socket."""

    dry = False

    def __init__(self, *, counted: bool) -> None:
        self.read = 0
        self.counted = counted
        self.link: PahoLink | None = None

    def loop_read(self) -> None:
        assert self.link is not None
        self.read += 1
        assert self.read < 1000
        self.link._handled += self.counted


@pytest.mark.parametrize("counted", [True, False])
def test_in_a_turn_of_the_loop_a_flood_gets_no_more_than_its_share(*, counted: bool) -> None:
    """The limit holds although the socket can be read in every turn, and the rest of an input is read by itself.

    Answers to pings, and acknowledgements of what nobody sent, call nothing that counts: a broker that sent them
    without end had the whole program, so that no key was read any more."""

    async def story() -> None:
        flood = Flood(counted=counted)
        options = LinkOptions(LOCAL, "reader", 5, 20, 10.0, 1 << 20)
        link = PahoLink(options, cast(LinkEvents, None), cast(LinkTraffic, None), asyncio.get_running_loop())
        link._stream, link._client, flood.link = cast(Any, flood), cast(Any, flood), link
        for _ in range(10):
            before = flood.read
            link._readable()
            await asyncio.sleep(0)
            assert 0 < flood.read - before <= 2 * mqtt._PACKETS_AT_A_TIME
        assert flood.read <= 11 * mqtt._PACKETS_AT_A_TIME
        link._paused = True

    asyncio.run(story())
