"""A session that the broker keeps: what we receive is acknowledged by us, in the order in which it came."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sdschat.transport.address import LOCAL
from sdschat.transport.base import Connected, Disconnected, Published, Received
from sdschat.transport.mqtt import PahoLink
from sdschat.transport.session import LinkEvents, LinkOptions, LinkTraffic
from tests.transport.test_mqtt import BROKERS, broker
from tests.transport.worlds import connected, quick, run


@pytest.mark.parametrize("kind", BROKERS)
def test_the_broker_does_not_hang_up_whatever_order_we_are_done_in(kind: str, tmp_path: Path) -> None:
    """The probe is among what comes, at some brokers with the quality of the subscription."""

    async def scenario() -> None:
        async with (
            broker(kind, tmp_path) as url,
            connected(quick(url), "sds/1/!echo/+") as (sender, sent),
            connected(quick(url, session="tap", session_kept=60, probe_every=0.1), "t") as (tap, facts),
        ):
            for turn in range(3):
                # The next probe goes out after an answer to the one before.
                await sent.until(Received, 2 * (turn + 1), where=lambda got: got.topic == tap._echo)
                for number in range(4):
                    sender.publish("t", b"%d" % number, tag=(turn, number))
                got = await facts.until(Received, 4 * (turn + 1))
                await sent.until(Published, 4 * (turn + 1))
                for receipt in (each.receipt for each in reversed(facts.of(Received)[-4:])):
                    assert receipt is not None
                    receipt.acknowledge()
            assert got.payload == b"3"
            assert (len(facts.of(Connected)), facts.of(Disconnected)) == (1, [])

    run(scenario)


def test_what_comes_first_in_a_resumed_session_may_have_come_before() -> None:
    """Not every broker marks what it sends again, and a recorder has some of it on disk."""

    async def scenario() -> None:
        options = LinkOptions(LOCAL, "tap", 5, 20, 10.0, 1 << 20, session_kept=60)
        link = PahoLink(options, cast(LinkEvents, None), cast(LinkTraffic, None), asyncio.get_running_loop())
        came = [cast(Any, SimpleNamespace(mid=mid, dup=dup)) for mid, dup in ((1, False), (2, True), (1, False))]
        assert [link._receipt(each).again for each in came] == [False, True, False]
        link._resumed, link._numbers = True, set()
        assert [link._receipt(each).again for each in came] == [True, True, False]

    run(scenario)
