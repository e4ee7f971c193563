"""Invariants of the world at rest: after convergence, after quiet, and after old traffic is heard again."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.sds.events import Delivered
from sdschat.sds.rows import Append
from sdschat.sds.values import Refusal
from sdschat.sim.ledger import Seen
from sdschat.sim.on_state import check_sizes, check_waiting
from sdschat.sim.scenario import Violation
from sdschat.sim.world import World

_REPLAYED = 24


def check_finals(world: World) -> None:
    """I1, I2, I6: the same set in the same order, of nothing but what was made, and nothing left over."""
    ledger = world.ledger
    orders: dict[int, list[str]] = {}
    for node in world.nodes:
        if node.gone or node.channel is None:
            continue
        seen = ledger.seen[node.index]
        entries = node.store.history.newest(len(seen.log) + 1)
        ids = [entry.message_id for entry in entries]
        if sorted((lamport, message_id) for message_id, lamport in seen.log.items()) != [e[:2] for e in entries]:
            raise Violation("I2", f"the log of {seen.name} is not in order, or not what was put into it")
        window = node.channel.state.window.order
        if [entry.message_id for entry in window] != ids[-len(window) :]:
            raise Violation("I2", f"the recent window of {seen.name} is not the end of its log")
        lacking = [message_id for message_id in ledger.convergence.required(node.index) if message_id not in seen.log]
        if lacking:
            raise Violation("I1", f"{seen.name} lacks {len(lacking)} messages")
        orders[node.index] = ids
        check_sizes(seen)
        check_waiting(seen)
    reference = max(orders.values(), key=len, default=[])
    places = {message_id: place for place, message_id in enumerate(reference)}
    for index, ids in orders.items():
        common = [places[message_id] for message_id in ids if message_id in places]
        if common != sorted(common):
            raise Violation("I2", f"{ledger.seen[index].name} has another order")


class Quiet(NamedTuple):
    """What each had sent, and was not sure of, when everything had been said; and how much had been asked for, and
    shown."""

    packets: list[int]
    unsure: list[int]
    asked_for: int
    delivered: int


def quiet_begins(world: World) -> Quiet:
    ledger = world.ledger
    unsure = [_unsure(seen) + _for_the_gone(world, seen) for seen in ledger.seen]
    return Quiet([seen.packets for seen in ledger.seen], unsure, len(ledger.asked_for), ledger.delivered)


def check_quiet(world: World, quiet: Quiet, turns: int) -> None:
    """I14: with nothing to say, nearly nothing is said: about one packet a sync interval, here two. Beyond that,
    whatever of its own one is not sure of is still resent, ever more rarely; what somebody who has left seemed to lack
    is still pushed, once; and what somebody asks for, though it is from before that one's joining and so not owed, is
    asked for and answered. Where something is still shown, because what it waited for is given up only now, it is not
    quiet yet."""
    ledger = world.ledger
    if ledger.delivered != quiet.delivered:
        return
    asked_for = len(ledger.asked_for) - quiet.asked_for
    for seen, before, unsure in zip(ledger.seen, quiet.packets, quiet.unsure, strict=True):
        sent = seen.packets - before
        if sent > 2 * turns + 2 + unsure + 2 * asked_for:
            raise Violation("I14", f"{seen.name} sent {sent} packets in {turns} quiet sync intervals")


def _unsure(seen: Seen) -> int:
    """Own messages that nobody has acknowledged for certain are still resent, ever more rarely."""
    channel = seen.node.channel
    return 0 if channel is None else len(channel.state.outgoing.open)


def _for_the_gone(world: World, seen: Seen) -> int:
    """Pushes that are due for somebody who has left, and so will never say that they came."""
    channel = seen.node.channel
    if channel is None:
        return 0
    gone = {node.plan.name for node in world.nodes if node.gone}
    pushes = channel.state.pushes.entries.values()
    return sum(push.due is not None and not gone.isdisjoint(push.wanted_by) for push in pushes)


def check_replay(world: World) -> None:
    """I15: what was heard once changes no log when it is heard again, much later."""
    sent = world.sent
    stride = max(1, len(sent) // _REPLAYED)
    for node in world.nodes[:: max(1, len(world.nodes) - 1)]:
        channel = node.channel
        if channel is None or node.gone:
            continue
        for raw, message in sent[world.scenario.seed % stride :: stride]:
            if isinstance(message, Refusal) or message.sender_id not in world.ledger.index:
                continue
            if message.content and message.message_id not in world.ledger.seen[node.index].log:
                continue  # from before it joined, or of somebody who took it along
            channel.receive_message(node.now(world.time), message, raw)
        ready = channel.take()
        if any(isinstance(write, Append) for write in ready.writes) or any(
            isinstance(event, Delivered) for event in ready.events
        ):
            raise Violation("I15", f"old traffic changed the log of {node.plan.name}")
        node.store.apply(ready.writes)
