"""Invariants of what a step publishes, after its writes are true."""

from __future__ import annotations

from sdschat.sds.state import Packet
from sdschat.sds.values import Message, MessageKind, Refusal
from sdschat.sim.oracle import NodeRecord, Oracle
from sdschat.sim.scenario import START, Violation


def check_packet(oracle: Oracle, record: NodeRecord, packet: Packet, message: Message | Refusal) -> None:
    if isinstance(message, Refusal):
        raise Violation("I13", f"{record.name} sent a packet that is {message.reason}")
    if not record.node.online:
        raise Violation("I14", f"{record.name} sent a packet without a transport")
    kind = message.kind
    if kind is MessageKind.SYNC:
        _made(oracle, record, message, fresh=True)
    elif kind is MessageKind.CONTENT:
        _content(oracle, record, packet, message)
    if packet.message_id != message.message_id:
        raise Violation("I13", f"{record.name} sent a packet under another id than its own")


def _content(oracle: Oracle, record: NodeRecord, packet: Packet, message: Message) -> None:
    message_id = message.message_id
    what = f"{message_id[:8]} by {record.name}"
    origin = oracle.origins.get(message_id)
    if origin is None or packet.raw != origin.raw:
        raise Violation("I4", f"{what} ({packet.kind}) differs from what its author made")
    if message_id not in record.log and message_id not in record.buffered and message_id not in record.future_dated:
        raise Violation("I6", f"{what} ({packet.kind}) was sent before it was saved")
    channel = record.node.channel
    s = None if channel is None else channel.state
    if s is not None and (message_id in s.answers.timers or message_id in s.pushes.timers):
        raise Violation("I14", f"{what} ({packet.kind}) was sent, and is to be sent once more")
    if packet.kind == "message":
        _made(oracle, record, message, fresh=message_id == record.made_now)


def _made(oracle: Oracle, record: NodeRecord, message: Message, fresh: bool) -> None:
    """Everything that a packet of our own making claims is on our disk."""
    what = f"{message.message_id[:8]} by {record.name}"
    lamport = message.lamport_timestamp or 0
    if fresh and abs(lamport - START - oracle.time) > oracle.clock_bound and not record.wrong_clock:
        raise Violation("I9", f"{what} is dated {lamport - START - oracle.time} ms from now")
    if not message.content:
        if lamport <= record.last_own:
            raise Violation("I9", f"the clock of {record.name} went back")
        record.last_own = lamport
    log = record.log
    history = message.causal_history
    if fresh and len(history) > record.node.config.causal_history:
        raise Violation("I8", f"{what} names {len(history)} messages")
    for entry in history:
        if entry.message_id not in log:
            raise Violation("I7", f"{what} mentions {entry.message_id[:8]}, which is not saved")
    if fresh:
        if len(message.repair_request) > record.node.config.max_requests:
            raise Violation("I8", f"{what} asks for {len(message.repair_request)} messages")
        for entry in message.repair_request:
            if entry.message_id in log or entry.message_id in record.buffered:
                raise Violation("I14", f"{what} asks for {entry.message_id[:8]}, which is here")
    if message.bloom_filter is None:
        raise Violation("I7", f"{what} has no filter")
    if wrong := record.masks.judge(message.bloom_filter, fresh):
        raise Violation("I7", f"the filter of {what} {wrong}")


def check_made(oracle: Oracle, record: NodeRecord, lamport: int) -> None:
    if lamport <= record.last_own:
        raise Violation("I9", f"the clock of {record.name} went back")
