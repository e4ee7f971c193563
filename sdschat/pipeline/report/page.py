"""The page of a report: first the verdict, then its evidence, channel by channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from sdschat.audit.schemas import FAULTS, FIELD, AuditChannel
from sdschat.audit.verdict import channel_sentence, counted, sentence
from sdschat.pipeline.report import answers, pictures, tables
from sdschat.pipeline.report.data import Channel, ReportData
from sdschat.pipeline.report.embed import POLICY, Pictures
from sdschat.pipeline.report.style import CSS
from sdschat.pipeline.report.timeline import Scene, timeline
from sdschat.pipeline.report.units import NOTHING, duration, size

_MOST_CHANNELS: Final = 12


def page(data: ReportData) -> str:
    """Return the page as one self-contained file."""
    audit = data.audit
    bad = "" if audit.agreed else " bad"
    worst = sorted(audit.channels, key=lambda row: (row.converged, -row.missing - row.faults, row.run_id, row.channel))
    body = [
        '<p class="kicker">sdschat · report</p>',
        f'<div class="verdict{bad}"><h1>{escape(sentence(audit.channels))}</h1>'
        f'<span class="pill">{"agreed" if audit.agreed else "not agreed"}</span></div>',
    ]
    drawn = Pictures()
    for channel in worst[:_MOST_CHANNELS]:
        body += _channel(data, channel, drawn, alone=len(worst) == 1)
    if len(worst) > _MOST_CHANNELS:
        left = counted(len(worst) - _MOST_CHANNELS, "more channel is", "more channels are")
        body.append(f'<p class="note">{left} in the tables of the lake.</p>')
    body.append(section("Where this comes from", "", tables.provenance(data)))
    title = "sdschat report: " + ("agreed" if audit.agreed else "not agreed")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{CSS}</style></head>\n<body><main>{''.join(body)}</main>{drawn.scripts()}</body></html>\n"
    )


def section(heading: str, note: str, inner: str) -> str:
    said = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(heading)}</h2>{said}{inner}</section>\n" if inner else ""


def _channel(data: ReportData, channel: AuditChannel, drawn: Pictures, alone: bool) -> Iterator[str]:
    key = (channel.run_id, channel.channel)
    name = channel.channel if channel.run_id == FIELD else f"{channel.channel} of {channel.run_id}"
    if not alone:
        yield f'<h3>{escape(name)}</h3><p class="note">{escape(channel_sentence(channel))}</p>'
    yield _tiles(data, channel)
    yield from _course(data, key, drawn)
    yield from _agreement(data, channel, key, drawn)
    yield from _answers(data, key)
    yield from _figures(data, key, drawn)


def of(rows: Iterable[tables.R], key: Channel) -> list[tables.R]:
    return [row for row in rows if (row.run_id, row.channel) == key]


def _tiles(data: ReportData, channel: AuditChannel) -> str:
    key = (channel.run_id, channel.channel)
    figures = data.metrics
    curves = [curve for curve in data.curves if curve.channel == key]
    every = next((curve for curve in data.all_ways if curve.channel == key), None)
    repair, sent = of(figures.repair, key), of(figures.traffic, key)
    messages, deliveries = channel.messages or 1, sum(curve.n for curve in curves)
    heal = [row.heal_p95 for row in repair if row.heal_p95 is not None]
    tiles = [
        (f"{channel.nodes:,}", "nodes"),
        (f"{channel.messages:,}", "messages"),
        (f"{channel.missing:,}", "missing"),
        (duration(every.times[20]) if every else NOTHING, "half of the deliveries"),
        (duration(max(heal, default=None)), "95 % healed, slowest node"),
        (size(sum(row.bytes for row in sent) / messages), "sent for each message"),
        (f"{sum(row.duplicates for row in repair) / max(1, deliveries):.2f}", "duplicates for each delivery"),
    ]
    return (
        '<div class="tiles">'
        + "".join(f'<div class="tile"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in tiles)
        + "</div>"
    )


def _course(data: ReportData, key: Channel, drawn: Pictures) -> Iterator[str]:
    if data.figures is None:
        return
    nodes, missing = of(data.audit.nodes, key), of(data.audit.missing, key)
    faults = [row for row in of(data.audit.findings, key) if row.kind in FAULTS]
    scene = Scene(answers.of_channel(data.figures, *key), nodes, missing, faults, tables.naming(data))
    picture = timeline(scene)
    if picture is not None:
        yield section("What happened when", _MOVE, drawn.place(picture))


_MOVE: Final = (
    "Drag a picture sideways to move in time, turn the wheel with Shift to zoom, double-click to go back. Point at "
    "anything for its figures; click a name in the legend to see one receiver alone."
)


def _answers(data: ReportData, key: Channel) -> Iterator[str]:
    if data.figures is None:
        return
    named, found = tables.naming(data), answers.of_channel(data.figures, *key)
    note = answers.everybody_note(found.spread, len(found.reached))
    yield section("How long until everybody had it", note, answers.last_ones(found.last, named))
    yield section("What text cost on the wire", answers.wire_note(found.wire), answers.wire(found.wire))
    told = answers.truth(found.acknowledged, found.untrue, named)
    yield section("Did acknowledgements tell the truth?", answers.truth_note(found.acknowledged), told)


def _agreement(data: ReportData, channel: AuditChannel, key: Channel, drawn: Pictures) -> Iterator[str]:
    named = tables.naming(data)
    nodes, missing = of(data.audit.nodes, key), of(data.audit.missing, key)
    findings = of(data.audit.findings, key)
    faults = [row for row in findings if row.kind in FAULTS]
    cells = [cell for cell in data.cells if cell.channel == key]
    if nodes and channel.messages:
        yield section(
            "Who has what",
            "Each row is a node, each cell a stretch of the canonical log. Diamonds are faults.",
            drawn.place(pictures.convergence(nodes, channel.messages, cells, faults, named)),
        )
    yield section("Missing", "What a node should have and has not.", tables.missing(data, missing, named))
    yield section("Faults", "What breaks a promise.", tables.findings(data, faults, named))
    told = [row for row in findings if row.kind not in FAULTS]
    yield section(
        "Declared gaps", "What nodes say themselves that they do not have.", tables.findings(data, told, named)
    )
    yield section("Nodes", "", tables.nodes(nodes, findings, named))


def _figures(data: ReportData, key: Channel, drawn: Pictures) -> Iterator[str]:
    named, figures = tables.naming(data), data.metrics
    curves = [curve for curve in data.curves if curve.channel == key]
    clocks = of(figures.clock, key)
    if curves:
        note = tables.latency_note(of(figures.delivery, key)) + tables.curve_note(curves)
        yield section("How long delivery took", note, drawn.place(pictures.latency(curves)))
    acks = [row for row in of(figures.ack, key) if row.sent]
    if any(row.acked or row.possibly_acked for row in acks):
        note = "From the first sending, on the sender's own clock: half, 95 % (thick) and 99 % (thin) of its messages."
        yield section("How long until it was known", note, drawn.place(pictures.acknowledged(acks, named)))
    repair = of(figures.repair, key)
    if any(row.wanted or row.pushed or row.duplicates for row in repair):
        yield section("Repair", tables.repair_note(repair), drawn.place(pictures.bars(tables.repair_bars(repair))))
    traffic = of(figures.traffic, key)
    if traffic and data.figures is None:
        picture = drawn.place(pictures.bars(tables.traffic_bars(traffic)))
        yield section("What was sent", "By all nodes, by why it was sent.", picture)
    if of(figures.parts, key):
        picture = drawn.place(pictures.bandwidth(of(figures.parts, key)))
        yield section("What packets are made of", "An average packet.", picture)
    checked = [row for row in of(figures.filter, key) if row.checks or row.claims]
    if checked:
        yield section(
            "Filters against the truth", tables.filter_note(checked), drawn.place(pictures.filters(checked, named))
        )
    yield section("Refused packets", "", tables.rejected(of(figures.rejected, key), named))
    yield section(
        "Clocks",
        "How far the second clock is ahead of the first, from the fastest messages each way, and how sure that is.",
        tables.clocks(clocks, named),
    )
