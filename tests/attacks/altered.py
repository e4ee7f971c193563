"""Row 1 of the table: `python -m tests.attacks.altered [--size 20]`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.stage import Stage, main

_CODEC = SdsCodec()
_IN_TIME = 30.0  # seconds
_LOG = (
    "SELECT group_concat(lamport || ' ' || message_id || ' ' || dependencies, '; ') "
    "FROM (SELECT * FROM log ORDER BY lamport, message_id)"
)


def altered(stage: Stage, size: int) -> bool:
    """Copies of what was said, at another place in the log, sent again and again.

    Defended if a newcomer who hears them first has the log of everybody within 30 s, and the copies are counted.
    """
    stage.attacker.listen()
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    for number in range(size):
        (ann, bob)[number % 2].say(f"line {number}")
        _copy(stage)
    for pipe in (ann, bob):
        pipe.until(lambda lines: _delivered(lines) >= size, "all lines are delivered")
    carol = stage.pipe("carol")
    began = time.monotonic()
    logs: set[str] = set()
    while time.monotonic() < began + _IN_TIME:
        _copy(stage)
        logs = {stage.text(name, _LOG) for name in ("ann", "bob", "carol")}
        if len(logs) == 1 and _delivered(carol.lines) >= size:
            break
        time.sleep(0.5)
    refused = sum(line["event"] == "rejected" and line["reason"] == "altered" for line in carol.lines)
    stage.saw("altered copies sent", stage.attacker.sent)
    stage.saw("different logs of three members", len(logs))
    stage.saw("seconds until the newcomer had the log", f"{time.monotonic() - began:.1f}")
    stage.saw("copies that the newcomer refused as altered", refused)
    return len(logs) == 1 and refused > 0


def _copy(stage: Stage) -> None:
    """Send altered copies of all packets heard until now."""
    for packet in list(stage.attacker.said.values()):
        for copy in _copies(packet):
            stage.attacker.say(copy)
    stage.attacker.flush()


def _copies(packet: bytes) -> Iterator[bytes]:
    message = _CODEC.decode(packet)
    if not isinstance(message, Message) or not message.content or message.lamport_timestamp is None:
        return
    lamport = message.lamport_timestamp
    for wrong in (
        replace(message, lamport_timestamp=lamport + 5000),
        replace(message, lamport_timestamp=lamport - 5000, causal_history=()),
        replace(message, causal_history=(HistoryEntry("f" * 64, None, message.sender_id),)),
    ):
        yield _CODEC.encode(wrong)


def _delivered(lines: list[dict[str, object]]) -> int:
    return sum(line["event"] == "delivered" for line in lines)


if __name__ == "__main__":
    main(altered, 20, "lines")
