"""The page of a report: first the verdict, then its evidence, channel by channel, and tables that answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sdschat.audit.report import pictures, tables
from sdschat.audit.report.data import (
    NOTHING,
    ChannelPart,
    ReportData,
    duration,
    escaped,
    of_channel,
    shown_channels,
    size,
)
from sdschat.audit.report.embed import Pictures, document
from sdschat.audit.report.tables import table
from sdschat.audit.report.timeline import timeline
from sdschat.audit.schemas import FAULTS, FIELD
from sdschat.audit.verdict import ALONE, by_channel, channel_sentence, counted, names_of, sentence

_MOVE: Final = (
    "A row for each node, with a tick for each delivery, and a bar where it was not running, was silent or had ended. "
    "Drag a picture sideways to move in time, turn the wheel with Shift to zoom, double-click to go back. Point at "
    "anything for its figures; click a name in the legend to see one receiver alone."
)


def page(data: ReportData, cache: Path | None = None) -> str:
    audit = data.audit
    bad = "" if audit.agreed and not data.unread else " bad"
    alone = bool(audit.channels) and all(channel.nodes == 1 for channel in audit.channels)
    result = "not agreed" if not audit.agreed else ALONE if alone else "agreed"
    if data.unread:
        result += f"; {counted(data.unread_inputs, 'input was', 'inputs were')} not read"
    shown = shown_channels(audit)
    body = [
        '<p class="kicker">sdschat · report</p>',
        f'<div class="verdict{bad}"><h1>{escaped(sentence(audit.channels))}</h1>'
        f'<span class="pill">{result}</span></div>',
        section("Not read", "The verdict does not know what is in them.", tables.unread(data.unread)),
    ]
    drawn, of = Pictures(cache), by_channel(audit)
    for channel in shown:
        key = (channel.run_id, channel.channel)
        part = ChannelPart(data, channel, of(channel), of_channel(data.figures, key), names_of(audit.nodes))
        body += _channel(part, drawn, alone=len(audit.channels) == 1)
    if len(audit.channels) > len(shown):
        left = counted(len(audit.channels) - len(shown), "more channel is", "more channels are")
        body.append(f'<p class="note">{left} not in this page; an audit with --json has all of them.</p>')
    body.append(section("Where this comes from", "", tables.provenance(data)))
    return document(f"sdschat report: {result}", "".join(body), drawn)


def section(heading: str, note: str, inner: str) -> str:
    said = f'<p class="note">{escaped(note)}</p>' if note else ""
    return f"<section><h2>{escaped(heading)}</h2>{said}{inner}</section>\n" if inner else ""


def _channel(part: ChannelPart, drawn: Pictures, alone: bool) -> Iterator[str]:
    channel = part.channel
    name = channel.channel if channel.run_id == FIELD else f"{channel.channel} of {channel.run_id}"
    if not alone:
        yield f'<h3>{escaped(name)}</h3><p class="note">{escaped(channel_sentence(channel))}</p>'
    yield _tiles(part)
    yield from _course(part, drawn)
    yield from _agreement(part, drawn)
    yield from _answers(part)
    yield from _figures(part, drawn)


def _tiles(part: ChannelPart) -> str:
    channel, figures = part.channel, part.figures
    delivered = tables.spread_of(figures.spread, "delivered")
    heal = [row.heal_p95 for row in figures.repair if row.heal_p95 is not None]
    duplicates, deliveries = sum(row.duplicates for row in figures.repair), delivered.n if delivered else 0
    tiles = [
        (f"{channel.nodes:,}", "nodes"),
        (f"{channel.messages:,}", "messages"),
        (f"{channel.missing:,}", "missing"),
        (duration(delivered.p50) if delivered else NOTHING, "half delivered within"),
        (duration(max(heal, default=None)), "95 % of gaps closed within, slowest node"),
        (size(sum(row.bytes for row in figures.traffic) / (channel.messages or 1)), "sent for each message"),
        (f"{duplicates / max(1, deliveries):.2f}", "duplicates for each delivery"),
    ]
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile"><b>{escaped(value)}</b><span>{escaped(what)}</span></div>' for value, what in tiles
        )
        + "</div>"
    )


def _course(part: ChannelPart, drawn: Pictures) -> Iterator[str]:
    if part.channel.messages <= 1 and not (part.figures.curve or part.faults or part.rows.missing):
        return  # one message that nobody else has makes empty lanes
    picture = timeline(part)
    if picture is not None:
        yield section("What happened when", _MOVE, drawn.place(picture))


def _agreement(part: ChannelPart, drawn: Pictures) -> Iterator[str]:
    data, named, faults = part.data, part.named, part.faults
    nodes, missing, findings = part.rows
    if nodes and part.channel.messages:
        yield section(
            "Who has what",
            "Each row is a node, each cell a stretch of the log that all should have, the oldest messages at the left. "
            "Not owed: said before the node joined, too late for it, or dated ahead. Diamonds are faults.",
            drawn.place(pictures.convergence(nodes, part.channel.messages, part.figures.cell, faults, named)),
        )
    yield section("Missing", "What a node should have and has not.", tables.missing(data, missing, named))
    yield section("Faults", "What breaks a promise.", tables.findings(data, faults, named))
    told = [row for row in findings if row.kind not in FAULTS]
    yield section(
        "Declared gaps", "What nodes say themselves that they do not have.", tables.findings(data, told, named)
    )
    yield section("Nodes", "", tables.nodes(part.rows, named, part.channel.nodes == 1))


def _answers(part: ChannelPart) -> Iterator[str]:
    found, named = part.figures, part.named
    note = tables.everybody_note(found.spread)
    yield section("How long until everybody had it", note, tables.last_ones(found.last, named))
    yield section("What text cost on the wire", tables.wire_note(found.wire), tables.wire(found.wire))
    told = tables.truth(found.acknowledged, found.untrue, named)
    yield section("Did acknowledgements tell the truth?", tables.truth_note(found.acknowledged), told)
    rows = [[named(row.node), named(row.peer), row.messages] for row in found.unproven]
    listed = table(("Messages of", "Said by", "Number"), rows, (2,))
    yield section("Unproven", tables.unproven_note(found.unproven), listed)


def _figures(part: ChannelPart, drawn: Pictures) -> Iterator[str]:
    figures, named = part.figures, part.named
    if figures.curve:
        note = tables.latency_note(figures.delivery)
        yield section("How long delivery took", note, drawn.place(pictures.latency(figures.curve)))
    acks = [row for row in figures.ack if row.sent]
    if any(row.acked or row.possibly_acked for row in acks):
        note = "From the first sending, on the sender's own clock: half, 95 % (thick) and 99 % (thin) of its messages."
        yield section("How long until it was known", note, drawn.place(pictures.acknowledged(acks, named)))
    repair = figures.repair
    if any(row.wanted or row.pushed or row.duplicates for row in repair):
        yield section("Repair", tables.repair_note(repair), drawn.place(pictures.bars(tables.repair_bars(repair))))
    if figures.parts:
        yield section("What packets are made of", "An average packet.", drawn.place(pictures.bandwidth(figures.parts)))
    checked = [row for row in figures.filter if row.checks or row.claims]
    if checked:
        yield section(
            "Filters against the truth", tables.filter_note(checked), drawn.place(pictures.filters(checked, named))
        )
    yield section("Refused packets", "", tables.rejected(figures.rejected, named))
    yield section(
        "Clocks",
        "How far the second clock is ahead of the first, from the fastest messages each way that came as they were "
        "sent, and how sure that is. Times are corrected only where the difference is larger than its uncertainty.",
        tables.clocks(figures.clock, named),
    )
