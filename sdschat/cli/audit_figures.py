"""The figures of an audit, for people and as JSON: who was last, what text cost, untrue acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sdschat.audit.conform import Channel, Silver
from sdschat.audit.figures import figures
from sdschat.audit.report.answers import everybody_note, truth_note, wire_note
from sdschat.audit.report.data import of_channel
from sdschat.audit.tables.figures import Figures
from sdschat.audit.verdict import Audit
from sdschat.cli.text import safe

ByChannel = Mapping[Channel, Figures]


def figures_of(audit: Audit, silver: Silver) -> ByChannel:
    """Return the figures of the channels of this audit."""
    found = figures(silver)
    return {(row.run_id, row.channel): of_channel(found, (row.run_id, row.channel)) for row in audit.channels}


def figures_object(by_channel: ByChannel) -> dict[str, list[dict[str, Any]]]:
    """Return the figures as one JSON object. Its names are stable: those of `figures.sql`."""
    every = list(by_channel.values())
    return {
        name: [row._asdict() for each in every for row in getattr(each, name)]
        for name in ("reached", "last", "wire", "acknowledged", "untrue")
    }


def figures_lines(by_channel: ByChannel) -> Iterator[str]:
    """Describe the figures of each channel."""
    for (_, channel), found in by_channel.items():
        yield ""
        yield f"Figures of {safe(channel)}:"
        notes = (
            everybody_note(found.spread),
            wire_note(found.wire),
            truth_note(found.acknowledged),
        )
        yield from (f"  {note}" for note in notes if note)
