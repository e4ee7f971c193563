"""The buffers of a channel as `sdschat inspect` reports them: what waits, what for, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sdschat.cli.json_events import state_name
from sdschat.sds.values import GapRow, IncomingRow, MissingRow, OutgoingRow, Snapshot

_MISSING: Final = "missing"
_WAITING: Final = "waiting"
_DATED_AHEAD: Final = "dated ahead"


def buffers(snapshot: Snapshot) -> dict[str, Any]:
    row, here = snapshot.channel, _not_delivered(snapshot)
    return {
        "lamport": row.lamport,
        "joined_after": row.horizon,
        "filter": {"layout": row.layout, "generation": row.generation, "complete_since": row.floor},
        "next_sync": row.sync_due,
        "outgoing": [outgoing(found) for found in snapshot.outgoing if found.resent],
        "waiting": [_waiting(found, here) for found in snapshot.incoming],
        "missing": [_missing(found) for found in snapshot.missing],
        "answers": [found._asdict() for found in snapshot.answers if found.due],
        "pushes": [found._asdict() for found in snapshot.pushes if found.due],
        "gaps": [_gap(found) for found in snapshot.gaps],
        "peers": [
            {
                "sender_id": peer.sender_id,
                "heard_at": peer.heard_at,
                "last_lamport": peer.last_lamport,
                "layout": peer.layout,
            }
            for peer in snapshot.peers
        ],
    }


def not_in_log(snapshot: Snapshot, prefix: str) -> dict[str, tuple[dict[str, Any], bytes]]:
    """Return a report on each message that is not in the log and whose id begins with `prefix`, with its packet, which
    is empty if it is not here."""
    here = _not_delivered(snapshot)
    found: dict[str, tuple[dict[str, Any], bytes]] = {}
    for gap in snapshot.gaps:
        found[gap.message_id] = ({"status": "given up", **_gap(gap)}, b"")
    for missing in snapshot.missing:
        named_by = [
            row.message.message_id
            for row in snapshot.incoming
            if any(entry.message_id == missing.message_id for entry in row.message.causal_history)
        ]
        found[missing.message_id] = ({"status": _MISSING, **_missing(missing), "awaited_by": named_by}, b"")
    for row in snapshot.incoming:
        found[row.message.message_id] = ({"status": here[row.message.message_id], **_waiting(row, here)}, row.raw)
    return {message_id: report for message_id, report in found.items() if message_id.startswith(prefix)}


def _not_delivered(snapshot: Snapshot) -> dict[str, str]:
    """Return the ids of the dependencies that are not in the log, and of the messages that wait, with their status."""
    found = {missing.message_id: _MISSING for missing in snapshot.missing}
    return found | {row.message.message_id: _DATED_AHEAD if row.release_at else _WAITING for row in snapshot.incoming}


def _waiting(row: IncomingRow, here: Mapping[str, str]) -> dict[str, Any]:
    awaited = [entry.message_id for entry in row.message.causal_history if entry.message_id not in row.gap]
    return {
        "message_id": row.message.message_id,
        "sender_id": row.message.sender_id,
        "received_at": row.received_at,
        "until": row.release_at or None,
        "waits_for": [{"message_id": name, "status": here[name]} for name in awaited if name in here],
    }


def _missing(row: MissingRow) -> dict[str, Any]:
    return {
        "message_id": row.message_id,
        "sender_id": row.sender_id,
        "since": row.since,
        "given_up_at": row.lost_at,
        "request_due": row.t_req,
        "requests": row.attempts,
    }


def _gap(row: GapRow) -> dict[str, Any]:
    return {
        "message_id": row.message_id,
        "why": row.reason,
        "sender_id": row.sender_id,
        "at": row.at,
        "blamed": row.charged_to,
    }


def outgoing(row: OutgoingRow) -> dict[str, Any]:
    return {
        "message_id": row.message_id,
        "lamport": row.lamport,
        "state": state_name(row.state),
        "sends": row.sends,
        "next_send": row.due if row.resent else 0,
        "evidence": [found._asdict() for found in row.evidence],
    }
