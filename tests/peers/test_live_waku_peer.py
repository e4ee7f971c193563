"""A node of sdschat and a live participant of `@waku/sds` 0.0.8 in a channel of a real broker, in both directions.

Behaviour of the package found by these tests, and its consequences for them:

- It reads every filter as one of its own size, and fails on a shorter one, with the whole message. So it cannot read
  the messages with a compact filter that a node sends before it has received a packet of such a peer: see the test of
  the format.
- It has no event for received ephemeral messages. The tests can only check that it recognises one.
- Two events of its repair have other names than in its list of events: see `live_peer.mjs`.
- It asks for a message only once, and sends nothing by itself: its application, here the test, calls it.
- A message that waits for its dependencies counts as present there: a message that depends on it is delivered before
  it. The tests of causal order therefore go one level deep on its side.
- Two filters that hold a message acknowledge it there, even two of one participant; sdschat wants two participants.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sdschat.identity.content import Verdict
from sdschat.node.events import ConnectionChanged, EphemeralSaid, MessageDelivered
from sdschat.node.network import MqttNetwork
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import Value, make_settings
from sdschat.sds import events as ev
from sdschat.sds.values import AckState, Message
from sdschat.transport.mqtt_options import MqttOptions
from sdschat.wire.sds_codec import SdsCodec
from tests.cli.processes import Pipe
from tests.node.worlds import Member
from tests.peers.live import LivePeer, live_peer
from tests.peers.packets import WAKU_FILTER_BYTES
from tests.transport.worlds import Mosquitto, embedded, quick

CODEC = SdsCodec()
NEVER = 600_000  # milliseconds: longer than any test
# Timers and features that could bring a message across without the test's doing are off.
QUIET: dict[str, Value] = {
    "sds.sync_interval": NEVER,
    "sds.resend_unacked": NEVER,
    "sds.resend_possibly_acked": NEVER,
    "sds.resend_max": NEVER,
    "push.enabled": False,
    "push.delay_min": 1,
    "push.delay_max": 10,
    "trust.unsigned": "count",  # it signs nothing
}


class Meeting(NamedTuple):
    """A node of sdschat and a peer that has sent a first message."""

    ann: Member
    peer: LivePeer
    options: MqttOptions
    hello: str

    def send(self, text: str) -> Message:
        return self.ann.node.send("lobby", text)

    async def delivered(self, message_id: str) -> MessageDelivered:
        return await self.ann.until(MessageDelivered, lambda told: told.said.message.message_id == message_id)

    async def evidence(self, message_id: str, packet_id: str) -> ev.StateChanged:
        """Return the acknowledgement state of our message after this packet of the peer."""
        return await self.ann.until(
            ev.StateChanged,
            lambda told: (
                told.message_id == message_id and told.evidence is not None and told.evidence.packet_id == packet_id
            ),
        )

    def order(self) -> list[str]:
        return [told.said.message.message_id for told in self.ann.of(MessageDelivered)]


@contextlib.asynccontextmanager
async def our_node(folder: Path, options: MqttOptions, changes: dict[str, Value]) -> AsyncIterator[Member]:
    settings = make_settings(changes, "demo")
    profile = open_profile(database_path(folder, "ann"), settings)
    ann = Member(Node(profile, "ann", settings, MqttNetwork(options, settings, embedded=False)))
    try:
        ann.node.join("lobby")
        await ann.until(ConnectionChanged, lambda told: told.state == "connected")
        await ann.until(ev.SyncSent)  # the first one, sent at the start; the next one comes by the timer
        yield ann
    finally:
        await ann.node.close(0.1)


@contextlib.asynccontextmanager
async def meeting(folder: Path, changes: dict[str, Value]) -> AsyncIterator[Meeting]:
    async with embedded() as broker:
        options = quick(f"mqtt://127.0.0.1:{broker.config.port}")
        # Deaf from the start: a sync message with a compact filter, which it cannot read, may go out at any time.
        joining = live_peer(options, "lobby", "waku-peer", deaf=True)
        async with our_node(folder, options, changes) as ann, joining as peer:
            with peer.holding_given() as held:
                met = Meeting(ann, peer, options, await peer.send("hello"))
                await met.delivered(met.hello)
                # It does not receive the packets before this point, and packets keep their order.
                mark = ann.node.send("lobby", "now", ephemeral=True).message_id
                await peer.until_true(lambda: mark in ids(held), "the mark arrives")
            yield met
            assert peer.of("error") == []
            assert ann.of(ev.Rejected) == []


def tell(folder: Path, story: Callable[[Meeting], Awaitable[None]], changes: dict[str, Value] | None = None) -> None:
    async def told() -> None:
        async with meeting(folder, QUIET if changes is None else changes) as met:
            await story(met)

    asyncio.run(told())


def read(packet: bytes) -> Message:
    message = CODEC.decode(packet)
    assert isinstance(message, Message)
    return message


def ids(packets: list[bytes]) -> list[str]:
    return [read(packet).message_id for packet in packets]


def said_by(member: Member, packets: list[bytes]) -> list[Message]:
    """Return the member's packets, without the peer's own ones, which some brokers send back to it."""
    return [message for message in map(read, packets) if message.sender_id == member.node.sender_id]


def mentions(messages: Iterable[Message]) -> set[str]:
    return {entry.message_id for message in messages for entry in message.causal_history}


def test_a_pipe_and_the_peer_talk_and_acknowledge(tmp_path: Path) -> None:
    async def story() -> None:
        async with Mosquitto(tmp_path) as broker, live_peer(quick(broker.url), "lobby", "waku-peer") as peer:
            options = ("--broker", broker.url, "--timing", "demo", "--set", "trust.unsigned=count")
            ann = Pipe(tmp_path, "lobby", "--name", "ann", *options)
            try:
                await asyncio.to_thread(ann.until_event, "connection", state="connected")
                hello = await peer.send("hello from the peer")
                await asyncio.to_thread(ann.until_texts, "hello from the peer")
                ann.say("hello from the pipe")
                await peer.until("acknowledged", id=hello)
                await peer.until_true(lambda: len(peer.delivered()) == 1, "delivered there")
                peer.command("sync")
                await asyncio.to_thread(ann.until_event, "state", state="acked", message_id=peer.delivered()[0])
            finally:
                await asyncio.to_thread(ann.kill, signal.SIGKILL)
            # The pipe may have sent its first sync message before it received a packet of the peer.
            assert all("RangeError" in line["error"] for line in peer.of("error"))

    asyncio.run(story())


_WITHOUT_PYTEST = """
import runpy, sys
sys.modules["pytest"] = None
runpy.run_module("tests.peers", run_name="__main__", alter_sys=True)
"""


def test_by_hand_it_needs_no_pytest_and_tells_of_a_command_that_it_has_not(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path)
    asyncio.run(broker.start())
    try:
        program = (sys.executable, "-c", _WITHOUT_PYTEST, "--broker", broker.url)
        done = subprocess.run(program, input=b"bogus\nsend hello\n", capture_output=True, timeout=60, check=True)
    finally:
        broker.stop()
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["event"] for each in found] == ["ready", "error", "sent"]
    assert found[1]["error"].startswith("there is no such command; there are send, ")


def test_messages_arrive_as_they_were_sent(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        theirs = await met.peer.send("grüße, 你好")
        said = (await met.delivered(theirs)).said
        assert (said.opened.text, said.opened.verdict) == ("grüße, 你好", Verdict.UNSIGNED)
        assert said.message.sender_id == "waku-peer"
        assert theirs == sha256("grüße, 你好".encode()).hexdigest()
        ours = met.send("and to you")
        assert ours.content is not None
        await met.peer.until("delivered", id=ours.message_id)
        await met.peer.until("received", id=ours.message_id, content=ours.content.hex())

    tell(tmp_path, story)


def test_a_child_waits_here_for_its_parent(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        with met.peer.holding_said() as held:
            parent = await met.peer.send("parent")
        child = await met.peer.send("child")
        await met.ann.until(ev.DependenciesMissing, lambda told: told == (child, (parent,)))
        assert met.order() == [met.hello]
        met.peer.publish(held[0])
        await met.delivered(child)
        assert met.order() == [met.hello, parent, child]

    tell(tmp_path, story)


def test_a_child_of_ours_waits_there_for_its_parent(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        with met.peer.holding_given() as held:
            parent = met.send("parent").message_id
            await met.peer.until_true(lambda: parent in ids(held), "the parent is held back")
        child = met.send("child").message_id
        await met.peer.until("missing", ids=[parent])
        assert met.peer.delivered() == []
        met.peer.give(held[ids(held).index(parent)])
        await met.peer.until("delivered", id=parent)
        met.peer.command("sweep")
        await met.peer.until("delivered", id=child)
        assert met.peer.delivered() == [parent, child]

    tell(tmp_path, story)


def test_a_mention_acknowledges(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        ours = met.send("who has this?").message_id
        await met.peer.until("acknowledged", id=met.hello)  # our message names it
        assert met.peer.of("possibly") == []
        await met.peer.until("delivered", id=ours)
        theirs = await met.peer.send("I have")
        told = await met.evidence(ours, theirs)
        assert told.state is AckState.ACKED
        assert told.evidence is not None
        assert (told.evidence.how, told.evidence.sender_id) == ("mention", "waku-peer")

    tell(tmp_path, story)


def test_our_filters_acknowledge_there(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        chain = [await met.peer.send(f"{number} of three") for number in range(3)]
        await met.delivered(chain[-1])
        met.send("one")
        await met.peer.until("possibly", id=chain[0], count=1)
        met.send("two")
        await met.peer.until("acknowledged", id=chain[0])
        assert chain[0] not in mentions(said_by(met.ann, met.peer.given))

    tell(tmp_path, story)


def test_filters_of_two_peers_acknowledge_here(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        async with live_peer(met.options, "lobby", "second-peer") as second:
            peers = (met.peer, second)
            first, *others = (met.send(f"{number} of three").message_id for number in range(3))
            for peer in peers:
                await peer.until("received", id=others[-1])
            # The second peer joined after the first message, and must get it first.
            assert second.of("missing")[0]["ids"] == [met.hello]
            second.give(met.peer.said[0])
            second.command("sweep")
            await second.until("delivered", id=others[-1])
            states = []
            for peer in peers:
                said = await peer.send(f"said by {peers.index(peer)}")
                states.append(await met.evidence(first, said))
            assert [told.state for told in states] == [AckState.POSSIBLY_ACKED, AckState.ACKED]
            assert [told.evidence.how for told in states if told.evidence] == ["filter", "filter"]
            assert first not in mentions(map(read, met.peer.said + second.said))

    tell(tmp_path, story)


def test_sync_messages_are_understood(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        met.peer.command("sync")
        told = await met.ann.until(ev.SyncReceived)
        assert told.sender_id == "waku-peer"
        heard = await met.peer.until("sync_received", sender=met.ann.node.sender_id)
        assert heard["id"] in {told.message_id for told in met.ann.of(ev.SyncSent)}
        await met.peer.until("acknowledged", id=met.hello)  # our message names it
        assert met.order() == [met.hello]
        assert met.peer.delivered() == []

    tell(tmp_path, story, QUIET | {"sds.sync_interval": 150})


def test_ephemeral_messages(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        met.peer.command("ephemeral psst")
        said = (await met.ann.until(EphemeralSaid)).said
        assert (said.opened.text, said.message.sender_id) == ("psst", "waku-peer")
        ours = met.ann.node.send("lobby", "psst yourself", ephemeral=True)
        assert ours.content is not None
        await met.peer.until("ephemeral", id=ours.message_id, content=ours.content.hex())
        after = met.send("this is for the log").message_id
        await met.peer.until("delivered", id=after)
        assert met.peer.delivered() == [after]
        assert met.order() == [met.hello, after]

    tell(tmp_path, story)


def test_our_filter_takes_the_peers_format_once_it_is_heard(tmp_path: Path) -> None:
    async def story() -> None:
        async with embedded() as broker:
            options = quick(f"mqtt://127.0.0.1:{broker.config.port}")
            async with our_node(tmp_path, options, QUIET) as ann, live_peer(options, "lobby", "waku-peer") as peer:
                early = ann.node.send("lobby", "is anybody there?").message_id
                failed = await peer.until("error")
                assert "RangeError" in failed["error"]
                hello = await peer.send("hello")
                await ann.until(MessageDelivered, lambda told: told.said.message.message_id == hello)
                later = ann.node.send("lobby", "now you hear me").message_id
                assert (await ann.until(ev.FilterFormatChanged)).filter_format == "waku"
                await peer.until("acknowledged", id=hello)  # the peer reads the filter before it checks dependencies
                sizes = {each.message_id: len(each.bloom_filter or b"") for each in said_by(ann, peer.given)}
                assert sizes[early] < sizes[later] == WAKU_FILTER_BYTES == 18_752
                assert len(peer.of("error")) == 1
                # The child waits at the peer for the first message.
                await peer.until("missing", ids=[early])
                assert peer.delivered() == []

    asyncio.run(story())


def test_the_peer_answers_our_repair_request(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        with met.peer.holding_said():
            lost = await met.peer.send("lost on the way")
        child = await met.peer.send("its child")
        requested = await met.ann.until(ev.RepairRequested)
        assert requested.message_ids == (lost,)
        await met.peer.until("asked", ids=[lost], sender=met.ann.node.sender_id)
        await met.peer.until("answer_due", id=lost)
        met.peer.command("sweep")
        await met.peer.until("answered", id=lost)
        assert (await met.delivered(lost)).via == "repair"
        await met.delivered(child)
        assert met.order() == [met.hello, lost, child]

    tell(tmp_path, story, QUIET | {"repair.t_min": 50, "repair.t_max": 300})


def test_we_answer_the_peers_repair_request(tmp_path: Path) -> None:
    async def story(met: Meeting) -> None:
        with met.peer.holding_given() as held:
            lost = met.send("lost on the way").message_id
            await met.peer.until_true(lambda: lost in ids(held), "the message is lost")
        child = met.send("its child").message_id
        await met.peer.until("request_due", id=lost)
        met.peer.command("sync")
        await met.peer.until("requested", ids=[lost])
        scheduled = await met.ann.until(ev.RepairScheduled)
        assert (scheduled.message_id, scheduled.requested_by) == (lost, "waku-peer")
        await met.ann.until(ev.RepairResponded, lambda told: told.message_id == lost)
        await met.peer.until("delivered", id=lost)
        met.peer.command("sweep")
        await met.peer.until("delivered", id=child)
        assert met.peer.delivered() == [lost, child]

    tell(tmp_path, story, QUIET | {"repair.t_min": 50, "repair.t_max": 300})
