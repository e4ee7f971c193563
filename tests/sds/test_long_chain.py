"""A long chain of messages that arrives in any order is delivered by a loop, at a cost that grows with its length."""

from __future__ import annotations

import cProfile
import random

from sdschat.sim.generate import limits
from tests.sds.group import START, Group, forge

# So that all of it can wait at once: by default a sender has 256 messages waiting, and a channel 2,048.
_NO_LIMITS = tuple(
    (name, 1 << 40)
    for name in (
        "BUFFERED_PER_SENDER",
        "BUFFERED_BYTES_PER_SENDER",
        "BUFFERED_PER_CHANNEL",
        "BUFFERED_BYTES_PER_CHANNEL",
        "MISSING_PER_SENDER",
        "MISSING_PER_CHANNEL",
    )
)


def receive_in_any_order(length: int) -> Group:
    chain = [forge("b", f"m{at}", START + at, *([f"m{at - 1}"] if at else [])) for at in range(length)]
    random.Random(length).shuffle(chain)
    group = Group("a", settle=2000)
    node = group["a"]
    now = node.shifted(group.now)
    with limits(_NO_LIMITS):
        for place, message in enumerate(chain):
            node.channel.receive_message(now, message, b"packet")
            if place % 500 == 0:
                node.store.apply(node.channel.take().writes)
        node.store.apply(node.channel.take().writes)
    return group


def test_a_chain_of_30_000_in_any_order_is_delivered_whole() -> None:
    group = receive_in_any_order(30_000)
    assert group["a"].log == [f"m{at}" for at in range(30_000)]


def test_a_chain_four_times_as_long_takes_four_times_the_work() -> None:
    def calls(length: int) -> int:
        profile = cProfile.Profile()
        profile.runcall(receive_in_any_order, length)
        return sum(int(entry.callcount) for entry in profile.getstats())

    assert calls(12_000) < 4.4 * calls(3_000)
