"""Invariants of the world at rest: after convergence, and after old traffic is heard again."""

from __future__ import annotations

from sdschat.sds.events import Delivered
from sdschat.sds.values import Append, Refusal
from sdschat.sim.check_state import check_sizes, check_waiting
from sdschat.sim.scenario import Violation
from sdschat.sim.world import World

_REPLAYED = 24


def check_end(world: World) -> None:
    """Check I1, I2, I6: the same set in the same order, of nothing but what was made, and nothing left over."""
    oracle = world.oracle
    orders: dict[int, list[str]] = {}
    for node in world.nodes:
        if node.gone or node.channel is None:
            continue
        record = oracle.records[node.index]
        entries = node.store.history.newest(len(record.log) + 1)
        ids = [entry.message_id for entry in entries]
        if sorted((lamport, message_id) for message_id, lamport in record.log.items()) != [e[:2] for e in entries]:
            raise Violation("I2", f"the log of {record.name} is not in order, or not what was put into it")
        window = node.channel.state.window.order
        if [entry.message_id for entry in window] != ids[-len(window) :]:
            raise Violation("I2", f"the recent window of {record.name} is not the end of its log")
        lacking = [message_id for message_id in oracle.convergence.required(node.index) if message_id not in record.log]
        if lacking:
            raise Violation("I1", f"{record.name} lacks {len(lacking)} messages")
        orders[node.index] = ids
        check_sizes(record)
        check_waiting(record)
    reference = max(orders.values(), key=len, default=[])
    places = {message_id: place for place, message_id in enumerate(reference)}
    for index, ids in orders.items():
        common = [places[message_id] for message_id in ids if message_id in places]
        if common != sorted(common):
            raise Violation("I2", f"{oracle.records[index].name} has another order")


def check_replay(world: World) -> None:
    """Check I15: what was heard once adds nothing to a log when it is heard again, much later. What waits there may be
    let in: of somebody torn, who waits for own messages that it refuses, old traffic may fill the limits."""
    sent = world.sent
    stride = max(1, len(sent) // _REPLAYED)
    for node in world.nodes[:: max(1, len(world.nodes) - 1)]:
        channel = node.channel
        if channel is None or node.gone:
            continue
        waiting = set(channel.state.incoming.buffered)
        for raw, message in sent[world.scenario.seed % stride :: stride]:
            if isinstance(message, Refusal) or message.sender_id not in world.oracle.participants:
                continue
            if message.content and message.message_id not in world.oracle.records[node.index].log:
                continue  # from before it joined, or of somebody who took it along
            channel.receive_message(node.now(world.time), message, raw)
        ready = channel.take()
        added = {write.row.entry.message_id for write in ready.writes if isinstance(write, Append)}
        added.update(event.message.message_id for event in ready.events if isinstance(event, Delivered))
        if added - waiting:
            raise Violation("I15", f"old traffic changed the log of {node.plan.name}")
        node.store.apply(ready.writes)
