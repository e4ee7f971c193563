"""The pictures of a report: SVG made from rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sdschat.audit.schemas import AuditFinding, AuditNode, MetricsAck, MetricsFilter, MetricsParts
from sdschat.audit.verdict import counted
from sdschat.pipeline.report.data import COLUMNS, SHARES, Cell, Curve
from sdschat.pipeline.report.svg import LogScale, dot, duration, line, path, picture, rect, size, text

Named = Callable[[str], str]

WIDE: Final = 920
_LEFT: Final = 130
_COLOURS: Final[Mapping[str, str]] = {"live": "c1", "repair": "c2", "sync": "c3", "store": "c4"}
_PARTS: Final = (("content", "c1"), ("filter", "c3"), ("history", "c2"), ("request", "c4"), ("ids and clock", "c5"))
_MOST_NODES: Final = 40
_LABELLED: Final = 16


def convergence(
    nodes: Sequence[AuditNode], messages: int, cells: Sequence[Cell], faults: Sequence[AuditFinding], named: Named
) -> str:
    """Draw nodes by stretches of the canonical log, the worst nodes first."""
    worst = sorted(nodes, key=lambda node: (node.agrees, -node.missing, named(node.node)))[:_MOST_NODES]
    columns = max(1, min(COLUMNS, messages))
    step, high = (WIDE - _LEFT) / columns, 22
    held = messages / columns
    by_place = {(cell.node, cell.column): cell for cell in cells}
    marks: dict[tuple[str, int], str] = {}
    for row in faults:
        if row.position is not None:
            marks[row.node, (row.position - 1) * columns // max(1, messages)] = row.kind
    parts = []
    for index, node in enumerate(worst):
        y = 8 + index * (high + 4)
        parts.append(text(_LEFT - 10, y + 15, named(node.node), "label" if node.agrees else "label bad", "end"))
        for column in range(columns):
            cell = by_place.get((node.node, column))
            x = _LEFT + column * step
            klass, tip = _shade(cell, held, named(node.node))
            parts.append(rect(x, y, step - 1, high, klass, tip, 2))
            if (node.node, column) in marks:
                parts.append(dot(x + step / 2 - 0.5, y + high / 2, 4, "fault", f"{marks[node.node, column]}"))
    bottom = 8 + len(worst) * (high + 4)
    parts += [text(_LEFT, bottom + 14, "first message", "tick"), text(WIDE, bottom + 14, "last message", "tick", "end")]
    what = f"{counted(len(nodes), 'node', 'nodes')} by {counted(messages, 'message', 'messages')}"
    return picture(WIDE, bottom + 22, parts, f"{what}, in the order of the log")


def _shade(cell: Cell | None, held: float, name: str) -> tuple[str, str]:
    if cell is None:
        return "held", ""
    if cell.lost:
        level = 3 if cell.lost >= held * 0.5 else 2 if cell.lost >= held * 0.1 else 1
        return f"lost{level}", f"{name} lacks {cell.lost} here"
    return "excused", f"{cell.excused} were not owed by {name}"


def latency(curves: Sequence[Curve]) -> str:
    """Draw the percentage of deliveries over time."""
    top, bottom, left, right = 16, 270, 60, WIDE - 110
    times = [time for curve in curves for time in curve.times]
    scale = LogScale(min((time for time in times if time >= 1), default=1), max(times, default=10), left, right)
    parts = []
    for share in (0, 25, 50, 75, 95, 100):
        y = bottom - share / 100 * (bottom - top)
        parts += [line(left, y, right, y, "grid"), text(left - 8, y + 4, f"{share} %", "tick", "end")]
    for tick in scale.ticks():
        parts += [line(scale(tick), top, scale(tick), bottom, "grid")]
        parts += [text(scale(tick), bottom + 18, duration(tick), "tick", "middle")]
    labels: list[float] = []
    for curve in sorted(curves, key=lambda curve: curve.times[-1]):
        colour = _COLOURS.get(curve.via, "c5")
        points = [
            (scale(time), bottom - share * (bottom - top)) for share, time in zip(SHARES, curve.times, strict=True)
        ]
        parts.append(path(points, f"curve {colour}"))
        x, y = points[20]
        while any(abs(y - other) < 18 for other in labels):
            y += 18
        labels.append(y)
        parts.append(text(min(x + 12, right - 20), y + 4, f"{curve.via or 'other'} ({curve.n:,})", f"name {colour}"))
    parts.append(text((left + right) / 2, bottom + 38, "from sending to delivery, clocks corrected", "tick", "middle"))
    return picture(WIDE, bottom + 46, parts, "share of deliveries by time, for each way they came")


def acknowledged(rows: Sequence[MetricsAck], named: Named) -> str:
    """Draw the 50th, 95th and 99th percentile of each node."""
    found = [row for row in rows if row.acked_p50 is not None or row.possibly_p50 is not None][:_LABELLED]
    high, left, right = 30, _LEFT, WIDE - 60
    values = [value for row in found for value in (row.acked_p99, row.possibly_p50, row.acked_p50) if value]
    scale = LogScale(min(values, default=1), max(values, default=10), left, right)
    bottom = 10 + len(found) * high
    parts = []
    for tick in scale.ticks():
        parts += [line(scale(tick), 6, scale(tick), bottom, "grid")]
        parts += [text(scale(tick), bottom + 16, duration(tick), "tick", "middle")]
    for index, row in enumerate(found):
        y = 10 + index * high + high / 2
        parts.append(text(left - 10, y + 4, named(row.node), "label", "end"))
        for colour, shift, spread in (
            ("c3", -5, (row.possibly_p50, row.possibly_p95, row.possibly_p99)),
            ("c1", 5, (row.acked_p50, row.acked_p95, row.acked_p99)),
        ):
            p50, p95, p99 = spread
            if p50 is None or p95 is None or p99 is None:
                continue
            tip = f"half {duration(p50)}, 95 % {duration(p95)}, 99 % {duration(p99)}"
            parts += [line(scale(p50), y + shift, scale(p99), y + shift, f"thin {colour}")]
            parts += [line(scale(p50), y + shift, scale(p95), y + shift, f"thick {colour}")]
            parts += [dot(scale(p50), y + shift, 4, colour, tip)]
    return picture(WIDE, bottom + 24, parts, "time to possibly acknowledged and acknowledged, by node")


def bars(rows: Sequence[tuple[str, float, str]], shown: Callable[[float], str], label: str) -> str:
    """Draw one bar for each row of name, value and colour."""
    most = max((value for _, value, _ in rows), default=0) or 1
    left, right, high = 230, WIDE - 110, 30
    parts = []
    for index, (name, value, colour) in enumerate(rows):
        y = 6 + index * high
        parts.append(text(left - 10, y + 17, name, "label", "end"))
        parts.append(rect(left, y + 4, max(2, value / most * (right - left)), 18, colour, f"{name}: {shown(value)}", 3))
        parts.append(text(left + max(2, value / most * (right - left)) + 8, y + 18, shown(value), "tick"))
    return picture(WIDE, 10 + len(rows) * high, parts, label)


def bandwidth(rows: Sequence[MetricsParts]) -> str:
    """Draw the parts of an average packet, by kind."""
    found = [row for row in rows if row.packets and row.content_bytes + row.filter_bytes + row.history_bytes][:6]
    most = max((row.bytes / row.packets for row in found), default=1)
    left, right, high = 230, WIDE - 110, 40
    parts = []
    for index, row in enumerate(found):
        y, x = 6 + index * high, float(left)
        origin = "captured" if row.source == "tap" else "in the logs"
        parts.append(text(left - 10, y + 20, f"{row.kind}, {origin}", "label", "end"))
        known = row.content_bytes + row.filter_bytes + row.history_bytes + row.request_bytes
        sizes = (row.content_bytes, row.filter_bytes, row.history_bytes, row.request_bytes, row.bytes - known)
        for (name, colour), each in zip(_PARTS, sizes, strict=True):
            wide = each / row.packets / most * (right - left)
            if wide >= 0.5:
                parts.append(rect(x, y + 4, wide - 1, 24, colour, f"{name}: {size(each / row.packets)}", 2))
            x += wide
        parts.append(text(x + 8, y + 20, f"{size(row.bytes / row.packets)} \u00d7 {row.packets:,}", "tick"))
    x = float(left)
    for name, colour in _PARTS:
        parts += [rect(x, 16 + len(found) * high, 11, 11, colour, "", 2)]
        parts += [text(x + 17, 26 + len(found) * high, name, "tick")]
        x += 36 + 7 * len(name)
    return picture(WIDE, 38 + len(found) * high, parts, "bytes of an average packet, by part")


def filters(rows: Sequence[MetricsFilter], named: Named) -> str:
    """Draw the found false positives against the expected ones; whiskers show the range of chance (95 %)."""
    found = [row for row in rows if row.checks][:_LABELLED]
    high, left, right = 28, _LEFT, WIDE - 150
    limits = [_span(row.expected) for row in found]
    most = max([1.0, *(float(row.hits) for row in found), *(limit[1] for limit in limits)])
    bottom = 10 + len(found) * high

    def place(value: float) -> float:
        return left + math.sqrt(value / most) * (right - left)

    parts = []
    for tick in sorted({0.0, 1.0, *(round(most * share) for share in (0.25, 1.0))}):
        parts += [line(place(tick), 6, place(tick), bottom, "grid")]
        parts += [text(place(tick), bottom + 16, f"{tick:.0f}", "tick", "middle")]
    for index, (row, (low, up)) in enumerate(zip(found, limits, strict=True)):
        y = 10 + index * high + high / 2
        inside = low <= row.hits <= up
        tip = f"{row.hits} of {counted(row.checks, 'check', 'checks')}; expected {row.expected:.2f}"
        parts += [text(left - 10, y + 4, named(row.node), "label", "end")]
        parts += [
            line(place(low), y, place(up), y, "whisker"),
            line(place(row.expected), y - 7, place(row.expected), y + 7, "thick c5"),
        ]
        parts += [dot(place(row.hits), y, 5, "c1" if inside else "fault", tip)]
        parts += [text(right + 14, y + 4, counted(row.checks, "check", "checks"), "tick")]
    return picture(WIDE, bottom + 24, parts, "false positives of filters, found and expected")


def _span(expected: float) -> tuple[float, float]:
    """Return the range with about 95 % of a Poisson distribution."""
    low = max(0.0, math.floor(expected - 1.96 * math.sqrt(expected)))
    return low, max(1.0, math.ceil(expected + 1.96 * math.sqrt(expected) + 0.5))
