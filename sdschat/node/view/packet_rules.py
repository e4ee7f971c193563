"""The rules of the specification that one packet alone can break.

Rules are numbered S-001 to S-087 in the order in which the specification states them; tests/spec proves each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sdschat.sds.timers import out_of_bounds
from sdschat.sds.values import Message, MessageKind, Reason, Refusal
from sdschat.wire.dialects import SPEC, DialectReading

# Reasons that the fields do not show once they are read.
_RULES: Final[dict[Reason, str]] = {
    Reason.UNREADABLE: "S-001",
    Reason.DUPLICATE_FIELD: "S-001",
    Reason.CLOCK_ZERO: "S-010",
    Reason.CLOCK_TOO_LARGE: "S-010",
}
_LEAST_MS: Final = 10**11  # an epoch time below is in seconds: in milliseconds it would be before 1974
_MANY_REQUESTS: Final = 3
Broken = tuple[str, str]  # a rule, and what of the packet breaks it


def broken_rules(reading: DialectReading, refusal: Refusal | None = None) -> list[Broken]:
    """List every rule that a packet breaks. `refusal`: the reason why a reader of the specification drops it."""
    found = [("S-001", what) for what in reading.departures] + message_rules(reading.message)
    if refusal is not None and reading.dialect == SPEC:
        rule = _RULES.get(refusal.reason)
        if rule is not None and rule not in [known for known, _ in found]:
            found.insert(0, (rule, refusal.detail or str(refusal.reason)))
    return found


def message_rules(message: Message) -> list[Broken]:
    """List the rules that the values of a message break."""
    return [*_of_ids(message), *_of_kind(message), *_of_entries(message)]


def _of_ids(message: Message) -> Iterator[Broken]:
    for rule, name, text in (
        ("S-002", "sender_id", message.sender_id),
        ("S-003", "message_id", message.message_id),
        ("S-004", "channel_id", message.channel_id),
    ):
        if not text:
            yield rule, f"{name} is missing"


def _of_kind(message: Message) -> Iterator[Broken]:
    lamport, kind = message.lamport_timestamp, message.kind
    if kind is MessageKind.NEITHER:
        yield "S-009", "the message has neither content nor a Lamport timestamp"
    if lamport is not None:
        if (reason := out_of_bounds(lamport)) is not None:
            yield _RULES[reason], f"lamport_timestamp is {lamport}, which no clock shows"
        elif lamport < _LEAST_MS:
            yield "S-010", f"lamport_timestamp is {lamport}, which is not epoch milliseconds"
    if kind in (MessageKind.CONTENT, MessageKind.SYNC) and message.bloom_filter is None:
        yield "S-024" if kind is MessageKind.CONTENT else "S-051", "bloom_filter is missing"
    if kind is MessageKind.EPHEMERAL and (message.causal_history or message.bloom_filter is not None):
        yield "S-061", "an ephemeral message has a causal history or a filter"


def _of_entries(message: Message) -> Iterator[Broken]:
    for name, entries in (("causal_history", message.causal_history), ("repair_request", message.repair_request)):
        for place, entry in enumerate(entries):
            if not entry.message_id:
                yield "S-001", f"{name}[{place}].message_id is missing, for which nim-sds 0.4 drops the whole message"
    if message.message_id and any(entry.message_id == message.message_id for entry in message.causal_history):
        yield "S-021", "the message names itself in its causal history"
    if len(message.repair_request) > _MANY_REQUESTS:
        yield "S-075", f"repair_request has {len(message.repair_request)} entries; 3 are recommended"
