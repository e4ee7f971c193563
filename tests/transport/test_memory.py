"""The in-memory network, and faults in it: no real time, and every run gives the same result."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sdschat.transport.base import (
    Connected,
    Disconnected,
    Event,
    Failure,
    HandlerFailed,
    Published,
    PublishFailed,
    Received,
    Topics,
    Transport,
    Why,
)
from sdschat.transport.client import MqttTransport
from sdschat.transport.fault_lane import NONE, Faults
from sdschat.transport.faults import FaultyTransport
from sdschat.transport.memory import MemoryNetwork, MemoryTransport
from sdschat.transport.mqtt_options import MqttOptions
from tests.transport.worlds import Mosquitto, Recorder, quick, run


class Clock:
    """A clock that moves only when a test tells it to."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None], /) -> object:
        self._count += 1
        heapq.heappush(self._due, (when, self._count, callback))
        return None

    def run(self, network: MemoryNetwork, until: float = 1e9) -> None:
        """Run everything due until then, with the steps of the network in between."""
        network.run()
        while self._due and self._due[0][0] <= until:
            self.now, _, callback = heapq.heappop(self._due)
            callback()
            network.run()
        self.now = max(self.now, min(until, 1e6))


def joined(network: MemoryNetwork, *filters: str, presence: str | None = None) -> tuple[MemoryTransport, Recorder]:
    transport, facts = network.transport(presence), Recorder()
    transport.listen(facts)
    for topic_filter in filters:
        transport.subscribe(topic_filter)
    transport.start()
    network.run()
    return transport, facts


def payloads(facts: Recorder) -> list[bytes]:
    return [got.payload for got in facts.of(Received)]


def test_every_transport_has_the_same_face() -> None:
    network = MemoryNetwork()
    faces: list[Transport] = [
        network.transport(),
        FaultyTransport(network.transport(), Clock()),
        MqttTransport(MqttOptions()),
    ]
    assert all(face.describe() for face in faces)


def test_packets_presence_and_retained_as_from_a_broker() -> None:
    network = MemoryNetwork()
    alice, alice_facts = joined(network, "t/+", presence="who/alice")
    alice.set_presence(b"here", b"left")
    bob, bob_facts = joined(network, "t/#", "who/+")
    alice.publish("t/1", b"one", tag="x")
    bob.publish("other", b"two")
    network.run()
    assert bob_facts.of(Received) == [Received("who/alice", b"here", True), Received("t/1", b"one", False)]
    assert payloads(alice_facts) == [b"one"]
    assert alice_facts.of(Published) == [Published("x")]
    alice.drop()
    network.run()
    assert bob_facts.of(Received)[-1] == Received("who/alice", b"left", False)
    assert alice_facts.of(Disconnected)[0].why is Why.CONNECTION_LOST
    alice.publish("t/2", b"waits", tag="y")
    alice.publish("t/2", b"never", qos=0, tag="z")
    assert alice.waiting == 1
    alice.retry_now()
    network.run()
    assert payloads(bob_facts)[-2:] == [b"here", b"waits"]
    assert alice_facts.of(PublishFailed)[0].failure is Failure.NOT_CONNECTED
    bob.pause()
    alice.publish("t/3", b"later")
    network.run()
    assert payloads(bob_facts)[-1] == b"waits"
    bob.resume()
    network.run()
    assert payloads(bob_facts)[-1] == b"later"
    bob.unsubscribe("t/#")
    alice.publish("t/4", b"unheard")
    network.run()
    assert payloads(bob_facts)[-1] == b"later"


def test_closing_tells_what_was_not_sent() -> None:
    network = MemoryNetwork(max_payload=10)
    alice, facts = joined(network)
    alice.publish("t", bytes(11), tag="large")
    alice.drop()
    alice.publish("t", b"x", tag="waiting")
    asyncio.run(alice.close())
    assert [(each.tag, each.failure) for each in facts.of(PublishFailed)] == [
        ("large", Failure.TOO_LARGE),
        ("waiting", Failure.CLOSED),
    ]


def test_a_handler_that_raises_even_at_the_report_stops_nothing() -> None:
    network = MemoryNetwork()
    bob = network.transport()
    seen: list[Event] = []

    def handler(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Received | HandlerFailed):
            raise RuntimeError("no")

    bob.listen(handler)
    bob.subscribe("t")
    bob.start()
    network.run()
    alice, _ = joined(network)
    alice.publish("t", b"1")
    alice.publish("t", b"2")
    network.run()
    assert [type(event).__name__ for event in seen[-4:]] == ["Received", "HandlerFailed"] * 2


def test_a_handler_may_answer_from_within_and_a_storm_is_noticed() -> None:
    network = MemoryNetwork()
    bob = network.transport()
    bob.listen(lambda event: bob.publish("t", b"again") if isinstance(event, Received) else None)
    bob.subscribe("t")
    bob.start()
    bob.publish("t", b"first")
    with pytest.raises(RuntimeError, match="still moves"):
        network.run(most=1000)


# Faults.


def faulty(seed: int, faults: Faults) -> tuple[list[bytes], list[bytes], FaultyTransport]:
    """Send a thousand packets out and a thousand in through the faults; return those that came through."""
    network, clock = MemoryNetwork(), Clock()
    bob, bob_facts = joined(network, "out")
    alice = FaultyTransport(network.transport(), clock, faults, seed)
    facts = Recorder()
    alice.listen(facts)
    alice.subscribe("in")
    alice.start()
    clock.run(network, until=1)
    for number in range(1000):
        alice.publish("out", b"%d" % number, tag=number)
        bob.publish("in", b"%d" % number)
        clock.run(network, until=1 + number / 100)
    clock.run(network)
    assert sorted(done.tag for done in facts.of(Published)) == list(range(1000))  # type: ignore[type-var]
    return payloads(bob_facts), payloads(facts), alice


ALL = [b"%d" % number for number in range(1000)]


def test_without_faults_everything_passes_in_order() -> None:
    out, into, alice = faulty(1, NONE)
    assert out == into == ALL
    assert alice.describe() == "memory://network"


def test_loss_duplicates_and_reordering_have_their_shares_both_ways() -> None:
    out, into, alice = faulty(1, Faults(loss=0.3))
    assert all(250 < 1000 - len(side) < 350 for side in (out, into))
    assert out != into
    assert out == sorted(out, key=int)
    assert alice.describe() == "memory://network (faults: loss 30% in/out)"
    out, into, _ = faulty(1, Faults(duplicate=0.1))
    assert all(70 < len(side) - 1000 < 130 and set(side) == set(ALL) for side in (out, into))
    out, into, _ = faulty(1, Faults(reorder=0.2))
    assert all(sorted(side, key=int) == ALL and side != ALL for side in (out, into))


def test_of_a_share_one_bit_is_another_and_nothing_else() -> None:
    out, into, alice = faulty(1, Faults(corrupt=0.2))
    for side in (out, into):
        spoilt = [(was, now) for was, now in zip(ALL, side, strict=True) if was != now]
        assert 150 < len(spoilt) < 250
        for was, now in spoilt:
            assert len(was) == len(now)
            assert sum((one ^ other).bit_count() for one, other in zip(was, now, strict=True)) == 1
    assert str(alice.faults) == "corrupt 20% in/out"
    assert sum(lane.corrupted for lane in alice.lanes.values()) == sum(
        was != now for side in (out, into) for was, now in zip(ALL, side, strict=True)
    )


def test_a_delay_keeps_the_order_and_loses_nothing() -> None:
    out, into, alice = faulty(1, Faults(delay=0.2))
    assert out == into == ALL
    assert str(alice.faults) == "delay 200 ms in/out"


def test_the_same_seed_gives_the_same_faults() -> None:
    faults = Faults(loss=0.2, duplicate=0.1, reorder=0.1, delay=0.05)
    assert faulty(7, faults)[:2] == faulty(7, faults)[:2]
    assert faulty(7, faults)[:2] != faulty(8, faults)[:2]


def test_loss_takes_packets_and_no_presence() -> None:
    """In the demonstration somebody who talked was not here for up to 45 s."""
    network, clock, facts, topics = MemoryNetwork(), Clock(), Recorder(), Topics("who")
    alice = FaultyTransport(network.transport(), clock, Faults(loss=1))
    alice.listen(facts)
    alice.subscribe(topics.everything)
    alice.start()
    bob, _ = joined(network, presence=topics.who("bob"))
    bob.set_presence(b"here", b"left")
    for topic in (topics.msg, topics.announcement, topics.sync("alice", "bob")):
        bob.publish(topic, b"lost")
    clock.run(network)
    assert payloads(facts) == [b"here"]


def test_offline_and_back() -> None:
    network, clock = MemoryNetwork(), Clock()
    bob, bob_facts = joined(network, "t")
    alice = FaultyTransport(network.transport(), clock)
    facts = Recorder()
    alice.listen(facts)
    alice.subscribe("t")
    alice.start()
    clock.run(network)
    states = [alice.connected]
    alice.set(Faults(offline=True))
    alice.publish("t", b"kept", tag=1)
    alice.publish("t", b"not kept", qos=0, tag=2)
    bob.publish("t", b"unheard")
    clock.run(network)
    states.append(alice.connected)
    assert alice.waiting == 1
    assert "offline" in alice.describe()
    assert facts.of(Disconnected)[-1].why is Why.OFFLINE
    assert facts.of(PublishFailed)[0].failure is Failure.NOT_CONNECTED
    assert payloads(facts) == []
    alice.set(NONE)
    clock.run(network)
    assert [*states, alice.connected] == [True, False, True]
    assert payloads(bob_facts) == [b"unheard", b"kept"]
    assert facts.of(Published) == [Published(1)]
    assert len(facts.of(Connected)) == 2


def test_what_is_on_its_way_when_closing_is_told() -> None:
    network, clock = MemoryNetwork(), Clock()
    alice = FaultyTransport(network.transport(), clock, Faults(delay=10, duplicate=1))
    facts = Recorder()
    alice.listen(facts)
    alice.start()
    clock.run(network)
    alice.publish("t", b"x", tag="held")
    alice.set(Faults(offline=True))
    alice.publish("t", b"x", tag="kept")
    asyncio.run(alice.close())
    assert facts.of(Published) == [Published("held")]
    assert [(each.tag, each.failure) for each in facts.of(PublishFailed)] == [("kept", Failure.CLOSED)]


@pytest.mark.parametrize(("name", "value"), [("loss", 1.1), ("duplicate", -0.1), ("reorder", 2), ("delay", -1)])
def test_shares_that_are_none_are_refused(name: str, value: float) -> None:
    values: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=rf"fault\.{name}"):
        Faults(**values)


def test_every_fault_is_named() -> None:
    everything = Faults(loss=0.3, duplicate=0.1, reorder=0.005, delay=0.2)
    assert str(everything) == "loss 30%, duplicates 10%, reorder 0.5%, delay 200 ms in/out"
    assert str(NONE) == "none"
    assert not NONE.active


def test_faults_over_a_real_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with Mosquitto(tmp_path) as mosquitto:
            alice = FaultyTransport(MqttTransport(quick(mosquitto.url)), loop, Faults(delay=0.02, duplicate=1), 1)
            bob = FaultyTransport(MqttTransport(quick(mosquitto.url)), loop, seed=2)
            told, heard = Recorder(), Recorder()
            alice.listen(told)
            bob.listen(heard)
            bob.subscribe("t")
            for transport, facts in ((alice, told), (bob, heard)):
                transport.start()
                await facts.until(Connected)
            assert "duplicates 100%" in told.of(Connected)[0].address
            for number in range(20):
                alice.publish("t", b"%d" % number, tag=number)
            await heard.until(Received, 40)
            await told.until(Published, 20)
            await alice.close()
            await bob.close()

    run(scenario)
