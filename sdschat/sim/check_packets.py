"""Invariants of what a step publishes, after its writes are true."""

from __future__ import annotations

from sdschat.sds.state import Packet
from sdschat.sds.values import Message, MessageKind, Refusal
from sdschat.sim.oracle import NodeRecord, Oracle
from sdschat.sim.scenario import START, Violation


def check_packet(ledger: Oracle, seen: NodeRecord, packet: Packet, message: Message | Refusal) -> None:
    if isinstance(message, Refusal):
        raise Violation("I13", f"{seen.name} sent a packet that is {message.reason}")
    if not seen.node.online:
        raise Violation("I14", f"{seen.name} sent a packet without a transport")
    kind = message.kind
    if kind is MessageKind.SYNC:
        _made(ledger, seen, message, fresh=True)
    elif kind is MessageKind.CONTENT:
        _content(ledger, seen, packet, message)
    if packet.message_id != message.message_id:
        raise Violation("I13", f"{seen.name} sent a packet under another id than its own")


def _content(ledger: Oracle, seen: NodeRecord, packet: Packet, message: Message) -> None:
    message_id = message.message_id
    what = f"{message_id[:8]} by {seen.name}"
    origin = ledger.origins.get(message_id)
    if origin is None or packet.raw != origin.raw:
        raise Violation("I4", f"{what} ({packet.kind}) differs from what its author made")
    if message_id not in seen.log and message_id not in seen.held and message_id not in seen.parked:
        raise Violation("I6", f"{what} ({packet.kind}) was sent before it was saved")
    channel = seen.node.channel
    s = None if channel is None else channel.state
    if s is not None and (message_id in s.answers.timers or message_id in s.pushes.timers):
        raise Violation("I14", f"{what} ({packet.kind}) was sent, and is to be sent once more")
    if packet.kind == "message":
        _made(ledger, seen, message, fresh=message_id == seen.made_now)


def _made(ledger: Oracle, seen: NodeRecord, message: Message, fresh: bool) -> None:
    """Everything that a packet of our own making claims is on our disk."""
    what = f"{message.message_id[:8]} by {seen.name}"
    lamport = message.lamport_timestamp or 0
    if fresh and abs(lamport - START - ledger.time) > ledger.clock_bound and not seen.wrong_clock:
        raise Violation("I9", f"{what} is dated {lamport - START - ledger.time} ms from now")
    if not message.content:
        if lamport <= seen.last_own:
            raise Violation("I9", f"the clock of {seen.name} went back")
        seen.last_own = lamport
    log = seen.log
    history = message.causal_history
    if fresh and len(history) > seen.node.config.causal_history:
        raise Violation("I8", f"{what} names {len(history)} messages")
    for entry in history:
        if entry.message_id not in log:
            raise Violation("I7", f"{what} mentions {entry.message_id[:8]}, which is not saved")
    if fresh:
        if len(message.repair_request) > seen.node.config.max_requests:
            raise Violation("I8", f"{what} asks for {len(message.repair_request)} messages")
        for entry in message.repair_request:
            if entry.message_id in log or entry.message_id in seen.held:
                raise Violation("I14", f"{what} asks for {entry.message_id[:8]}, which is here")
    if message.bloom_filter is None:
        raise Violation("I7", f"{what} has no filter")
    if wrong := seen.masks.judge(message.bloom_filter, fresh):
        raise Violation("I7", f"the filter of {what} {wrong}")


def check_made(ledger: Oracle, seen: NodeRecord, lamport: int) -> None:
    if lamport <= seen.last_own:
        raise Violation("I9", f"the clock of {seen.name} went back")
