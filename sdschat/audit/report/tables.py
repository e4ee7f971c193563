"""Tables and sentences of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sdschat.audit import answers
from sdschat.audit.report.data import NOTHING, Named, ReportData, best_look, duration, escaped, moment, size
from sdschat.audit.schemas import AuditFinding, AuditMissing, Quarantine
from sdschat.audit.verdict import AGREES, ALONE, LOST, Lacking, OfChannel, counted, first_rows, names_of, node_words

_SHOWN: Final = 50


class Html(str):
    """HTML, of which nothing is to be escaped."""

    __slots__ = ()


def short_id(message_id: str) -> Html:
    return Html(f'<code class="id">{escaped(message_id[:12])}</code>')


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, Html) else escaped(str(value))


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], numbers: Iterable[int] = ()) -> str:
    if not rows:
        return ""
    right = set(numbers)
    head = "".join(f"<th{_side(at, right)}>{escaped(name)}</th>" for at, name in enumerate(headings))
    body = "".join(
        "<tr>" + "".join(f"<td{_side(at, right)}>{_cell(cell)}</td>" for at, cell in enumerate(row)) + "</tr>"
        for row in rows[:_SHOWN]
    )
    more = f'<p class="legend">{len(rows) - _SHOWN:,} more rows are not in this page.</p>' if len(rows) > _SHOWN else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _side(at: int, right: set[int]) -> str:
    return ' class="n"' if at in right else ""


def look_at(data: ReportData, row: AuditMissing | AuditFinding, holders: Iterable[str]) -> str | Html:
    """Describe how to see the message at the first of these nodes with a known database, preferably by a command."""
    if row.message_id is None:
        return ""
    sources = [data.sources.get((row.run_id, row.channel, node)) for node in holders]
    best = best_look(filter(None, sources), row.channel, row.message_id)
    return "" if best is None else Html(f"<code>{escaped(best.text)}</code>") if best.runs else best.text


def missing(data: ReportData, rows: Sequence[AuditMissing], named: Named) -> str:
    lacking = Lacking(rows)
    found = []
    for at, row in enumerate(row for row in first_rows(rows) if row.reason == LOST):
        look = look_at(data, row, _holders(data, row, lacking)) if at < _SHOWN else ""
        place = (row.position, moment(row.lamport), short_id(row.message_id))
        found.append([named(row.node), *place, named(row.sender), row.detail, look])
    headings = ("Node", "Place", "Dated (UTC)", "Message", "Of", "What is known", "Look at it")
    return table(headings, found, (1,))


def _holders(data: ReportData, row: AuditMissing, lacking: Lacking) -> list[str]:
    """Return the nodes that have the missing message: its sender, then nodes that agree with the log, then others."""
    key = (row.run_id, row.channel)
    there = [node for node in data.audit.nodes if (node.run_id, node.channel) == key]
    there.sort(key=lambda node: (node.node != row.sender, not node.agrees))
    return [node.node for node in there if not lacking.has(node.node, row.position)]


def findings(data: ReportData, rows: Sequence[AuditFinding], named: Named) -> str:
    found = [
        [
            named(row.node),
            row.kind,
            NOTHING if row.position is None else row.position,
            moment(row.lamport),
            short_id(row.message_id or NOTHING),
            Html(escaped(row.detail) + (f" <code>{escaped(row.other[:12])}</code>" if row.other else "")),
            look_at(data, row, (row.node,)),
        ]
        for row in rows
    ]
    return table(("Node", "What", "Place", "Dated (UTC)", "Message", "In detail", "Look at it"), found, (2,))


def nodes(of: OfChannel, named: Named, alone: bool) -> str:
    """List the nodes. `alone`: there is only one, which agrees with nobody."""
    told = []
    for row in sorted(of.nodes, key=lambda row: (row.agrees, named(row.node))):
        said = node_words(row, of.findings, of.missing)
        said = ALONE if alone and said == AGREES else said
        pill = Html(f'<span class="pill{"" if row.agrees else " bad"}">{escaped(said)}</span>')
        times = f"{moment(row.first_ms)} {NOTHING} {moment(row.last_ms)[11:]}"
        told.append([named(row.node), row.messages, row.owed, Html(f'<span class="t">{times}</span>'), pill])
    return table(("Node", "Messages", "Should have", "Seen (UTC)", "Verdict"), told, (1, 2))


def clocks(rows: Sequence[answers.MetricsClock], named: Named) -> str:
    found = [
        [
            named(row.node),
            named(row.peer),
            f"{row.out:,} / {row.back:,}",
            _ahead(row),
            NOTHING if row.uncertainty_ms is None else f"± {abs(row.uncertainty_ms):,.1f} ms",
        ]
        for row in rows
        if row.node < row.peer
    ]
    return table(("Clock of", "and of", "Messages there / back", "Ahead by", "Uncertainty"), found, (2, 3, 4))


def _ahead(row: answers.MetricsClock) -> str:
    if row.offset_ms is None:
        return "unknown"
    return f"{row.offset_ms:+,.1f} ms" if row.shown else "no difference shown"


def rejected(rows: Sequence[answers.MetricsRejected], named: Named) -> str:
    told = sorted(rows, key=lambda row: -row.packets)
    return table(("Node", "Reason", "Packets"), [[named(row.node), row.reason, row.packets] for row in told], (2,))


def latency_note(rows: Sequence[answers.MetricsDelivery]) -> str:
    negative, after = sum(row.negative for row in rows), sum(row.corrected_negative for row in rows)
    delivered, corrected = sum(row.delivered for row in rows), sum(row.corrected for row in rows)
    return (
        f"{counted(delivered, 'delivery', 'deliveries')}; {corrected:,} of them with clocks corrected, where two are "
        f"shown to differ. By the clocks as they stood {negative:,} arrived before they were sent, after correction "
        f"{after:,}."
    )


def repair_note(rows: Sequence[answers.MetricsRepair]) -> str:
    useful, answered = sum(row.useful for row in rows), sum(row.answered for row in rows)
    wanted, requested = sum(row.wanted for row in rows), sum(row.requested for row in rows)
    slow = [row.heal_p95 for row in rows if row.heal_p95 is not None]
    if answered:
        said = f"{useful:,} of {counted(answered, 'answer was', 'answers were')} of use."
    elif requested:
        said = f"Nobody answered {counted(requested, 'request', 'requests')}."
    else:
        said = "No repair had to be requested." if wanted else "No repair was wanted."
    if not slow:
        return said
    return f"{said} 95 % of what was wanted was there within {duration(max(slow))} at the slowest node."


def repair_bars(rows: Sequence[answers.MetricsRepair]) -> list[tuple[str, float, str]]:
    named = {
        "waited for an earlier message": "buffered",
        "wanted": "wanted",
        "requested": "requested",
        "answered": "answered",
        "delivered by repair": "useful",
        "pushed: sent again where others lacked it": "pushed",
        "delivered by a push or a comparison": "synced",
        "asked of Stores": "store_asked",
        "delivered by Stores": "stored",
        "arrived in the end": "healed",
        "duplicates received": "duplicates",
    }
    totals = ((name, sum(getattr(row, column) for row in rows)) for name, column in named.items())
    return [(name, total, f"{total:,}") for name, total in totals]


def filter_note(rows: Sequence[answers.MetricsFilter]) -> str:
    checks, hits = sum(row.checks for row in rows), sum(row.hits for row in rows)
    expected, claims = sum(row.expected for row in rows), sum(row.claims for row in rows)
    wrong, undecided = sum(row.wrong for row in rows), sum(row.undecided for row in rows)
    return (
        "Each filter that was sent was asked for ids that its sender cannot have had: "
        f"{counted(checks, 'time', 'times')}, {counted(hits, 'was', 'were')} there by chance, {expected:.2f} are "
        "expected. Thin lines span what chance allows. "
        f"Of {counted(claims, 'acknowledgement', 'acknowledgements')} drawn from filters "
        f"{counted(wrong, 'was', 'were')} wrong, and {undecided:,} too close for the clocks to tell."
    )


def spread_of(spread: Sequence[answers.Spread], figure: str) -> answers.Spread | None:
    return next((row for row in spread if row.figure == figure), None)


def everybody_note(spread: Sequence[answers.Spread]) -> str:
    whole, any_node = spread_of(spread, "everybody"), spread_of(spread, "reached")
    reached = 0 if any_node is None else any_node.n
    if whole is None:
        return f"Of {counted(reached, 'message', 'messages')} none is in the journals of all nodes." if reached else ""
    return (
        f"Everybody had {whole.n:,} of {counted(reached, 'message', 'messages')} whose sending and delivery are in the "
        f"journals: half of them within {duration(whole.p50)}, 95 % within {duration(whole.p95)}, the slowest within "
        f"{duration(whole.longest)}."
    )


def wire_note(rows: Sequence[answers.Wire]) -> str:
    text = next((row.text_bytes for row in rows if row.text_bytes), None)
    if text is None:
        return "By all nodes, by why it was sent."
    total = sum(row.bytes for row in rows)
    return f"{size(total)} for {size(text)} of content as it was said: {total / text:,.1f} bytes for each byte."


def truth_note(rows: Sequence[answers.AckCount]) -> str:
    every, wrong = sum(row.n for row in rows), sum(row.wrong for row in rows)
    undecided = sum(row.undecided for row in rows)
    possible = sum(row.wrong for row in rows if row.state == "possibly_acked")
    by = f"{counted(every, 'acknowledgement', 'acknowledgements')} came from nodes that are here."
    untrue = f"{wrong:,} of them" if wrong else "Not one"
    untrue += f" {'were' if wrong > 1 else 'was'} wrong (the node did not have the message yet)"
    if wrong:
        untrue += f", {'all' if possible == wrong else f'{possible:,}'} of these only possible ones"
    close = f" Of {undecided:,} it cannot be told: clocks are not exact enough." if undecided else ""
    return f"{by} {untrue}.{close} A possible acknowledgement may be wrong, by a Bloom filter's chance."


def unproven_note(rows: Sequence[answers.Unproven]) -> str:
    if not rows:
        return ""
    who, claims = len({row.peer for row in rows}), sum(row.messages for row in rows)
    return (
        f"{counted(who, 'participant', 'participants')} said {counted(claims, 'time', 'times')} without a signature to "
        f"have a message: unproven, as anybody may have said it in {'that name' if who == 1 else 'those names'}, and "
        "no acknowledgement."
    )


def last_ones(rows: Sequence[answers.LastOne], named: Named) -> str:
    ordered = sorted(rows, key=lambda row: (-row.messages, row.last_node, row.why))
    found = [[named(row.last_node), row.why, row.messages, duration(row.longest)] for row in ordered]
    return table(("Last to have it", "Why", "Messages", "Longest"), found, (2, 3))


def wire(rows: Sequence[answers.Wire]) -> str:
    ordered = sorted(rows, key=lambda row: -row.bytes)
    cells = [
        [
            row.cause or "other",
            row.packets,
            size(row.bytes),
            NOTHING if row.per_byte is None else f"{row.per_byte:,.2f}",
        ]
        for row in ordered
    ]
    return table(("Sent as", "Packets", "Bytes", "For each byte of text"), cells, (1, 2, 3))


def truth(rows: Sequence[answers.AckCount], untrue: Sequence[answers.Acknowledgement], named: Named) -> str:
    kinds = [[row.state.replace("_", " "), row.how, row.n, row.wrong, row.undecided] for row in rows]
    worst = []
    for one in sorted(untrue, key=lambda row: (row.state, row.said_ms)):
        said = (one.state.replace("_", " "), one.how, named(one.node), named(one.peer))
        there = moment(one.had_ms) if one.had_ms else "never"
        worst.append([short_id(one.message_id), *said, moment(one.said_ms), there])
    headings = ("Message", "Said to be", "By", "At", "By whom", "Then (UTC)", "There (UTC)")
    return table(("State", "Drawn from", "Number", "Wrong", "Undecided"), kinds, (2, 3, 4)) + table(headings, worst)


def unread(rows: Iterable[Quarantine]) -> str:
    told = [[f"{row.source} {row.place}".strip(), row.reason.removeprefix(f"{row.source} ")] for row in rows]
    return table(("Input", "Why"), told)


def provenance(data: ReportData) -> str:
    listed = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in data.provenance.items())
    named, lost = names_of(data.audit.nodes), [row for row in data.audit.journals if row.lost]
    told = [[named(row.node), Html(f"<code>{escaped(row.boot[:8])}</code>"), row.rows, row.lost] for row in lost]
    gaps = table(("Journal of", "Boot", "Events", "Lost"), told, (2, 3))
    return f"<dl>{listed}</dl>{gaps}"
