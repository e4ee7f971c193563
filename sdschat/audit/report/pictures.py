"""The pictures of a report besides time: who has what, spreads, sums and parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from sdschat.audit.answers import Cell, CurvePoint, MetricsAck, MetricsFilter, MetricsParts
from sdschat.audit.report.data import Named, duration, size
from sdschat.audit.report.embed import Picture, data
from sdschat.audit.schemas import AuditFinding, AuditNode

WIDE: Final = 780
STRETCHES: Final = 60  # of the canonical log, as `figures.sql` cuts it
MOST_NODES: Final = 40
_LABELLED: Final = 16
_HELD: Final = {
    "has all": "#8fc7a8",
    "lacks some": "#f2b8a6",
    "lacks more than a tenth": "#e2694f",
    "lacks more than half": "#b3261e",
    "not owed": "#a9b4c0",
}
_PARTS: Final = ("content", "filter", "history", "request", "ids and clock")
_DURATION: Final = (
    "datum.value >= 3600000 ? format(datum.value / 3600000, '.3~r') + ' h' : "
    "datum.value >= 1000 ? format(datum.value / 1000, ',') + ' s' : datum.value + ' ms'"
)


def tips(**titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def node_axis(order: Any = alt.Undefined) -> alt.Y:
    return alt.Y("node:N", sort=order, title=None, axis=alt.Axis(labelLimit=110))


def shades(field: str, colours: Mapping[str, str], orient: Any, title: str | None = None) -> alt.Color:
    """Give each value of a field its colour, with a legend."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, scale=scale, legend=alt.Legend(title=title, orient=orient, symbolType="square"))


def convergence(
    nodes: Sequence[AuditNode], messages: int, cells: Sequence[Cell], faults: Sequence[AuditFinding], named: Named
) -> Picture:
    """Draw nodes by stretches of the canonical log, the worst nodes first."""
    worst = sorted(nodes, key=lambda node: (node.agrees, -node.missing, named(node.node)))[:MOST_NODES]
    columns = max(1, min(STRETCHES, messages))
    held = messages / columns
    by_place = {(cell.node, cell.stretch): cell for cell in cells}
    rows = []
    for node in worst:
        for column in range(columns):
            state, tip = _state(by_place.get((node.node, column)), held)
            place = {"from": round(column * held) + 1, "until": round((column + 1) * held) + 1}
            rows.append({"node": named(node.node), "state": state, "tip": tip} | place)
    shown = {node.node for node in worst}
    marks = [
        {"node": named(row.node), "place": row.position + 0.5, "what": row.kind, "detail": row.detail}
        for row in faults
        if row.position is not None and row.node in shown
    ]
    order = list(dict.fromkeys(named(node.node) for node in worst))
    y, colours = node_axis(order), shades("state:N", _HELD, "bottom")
    scale = alt.Scale(domain=[1, messages + 1], nice=False)
    whole = list(range(1, messages + 1)) if messages <= _LABELLED else alt.Undefined
    x = alt.X(
        "from:Q",
        title="place in the log that all should have (1: the oldest message)",
        scale=scale,
        axis=alt.Axis(format="d", tickMinStep=1, values=whole),
    )
    boxes = alt.Chart(data(rows)).mark_rect(stroke="white", strokeWidth=0.5, strokeOpacity=0.4)
    dots = alt.Chart(data(marks)).mark_point(shape="diamond", size=90, filled=True, color="#b3261e", stroke="white")
    return alt.layer(
        boxes.encode(x=x, x2="until:Q", y=y, color=colours, tooltip=tips(node="node", state="here", tip="in detail")),
        dots.encode(x="place:Q", y=y, tooltip=tips(node="node", what="fault", detail="what is known")),
    ).properties(width=WIDE, height=26 * len(order))


def _state(cell: Cell | None, held: float) -> tuple[str, str]:
    if cell is None:
        return "has all", ""
    if not cell.lost:
        return "not owed", f"{cell.excused} were not owed"
    share = cell.lost / held
    states = list(_HELD)
    return states[3 if share >= 0.5 else 2 if share >= 0.1 else 1], f"lacks {cell.lost} here"


def latency(curve: Sequence[CurvePoint]) -> Picture:
    rows = [
        {
            "way": f"{point.via or 'other'} ({point.n:,})",
            "share": point.step / 40,
            "time": max(1.0, point.took),
            "says": duration(point.took),
        }
        for point in curve
    ]
    return (
        alt.Chart(data(rows))
        .mark_line(point=alt.OverlayMarkDef(size=14), strokeWidth=2.5)
        .encode(
            x=_durations("time:Q", "time from sending to delivery"),
            y=alt.Y(
                "share:Q",
                title="share of the deliveries",
                axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 0.95, 1]),
            ),
            order="share:Q",
            color=alt.Color("way:N", title=None),
            tooltip=[*tips(way="way", says="within"), alt.Tooltip("share:Q", title="share", format=".1%")],
        )
        .properties(width=WIDE, height=250)
    )


def _durations(field: str, title: str | None) -> alt.X:
    return alt.X(field, title=title, scale=alt.Scale(type="log"), axis=duration_axis())


def duration_axis() -> alt.Axis:
    return alt.Axis(values=[10**power for power in range(9)], labelExpr=_DURATION, grid=True)


def acknowledged(rows: Sequence[MetricsAck], named: Named) -> Picture:
    """Draw the 50th, 95th and 99th percentile of each node."""
    found: list[dict[str, Any]] = []
    for row in [row for row in rows if row.acked_p50 is not None or row.possibly_p50 is not None][:_LABELLED]:
        for state, spread in (
            ("possibly acknowledged", (row.possibly_p50, row.possibly_p95, row.possibly_p99)),
            ("acknowledged", (row.acked_p50, row.acked_p95, row.acked_p99)),
        ):
            p50, p95, p99 = (None if each is None else max(1.0, each) for each in spread)
            if p50 is None or p95 is None or p99 is None:
                continue
            tip = f"half {duration(p50)}, 95 % {duration(p95)}, 99 % {duration(p99)}"
            found.append({"node": named(row.node), "state": state, "half": p50, "most": p95, "all": p99, "tip": tip})
    base = alt.Chart(data(found)).encode(
        y=node_axis(),
        yOffset="state:N",
        color=alt.Color("state:N", title=None, legend=alt.Legend(orient="bottom")),
        tooltip=tips(node="node", state="state", tip="within"),
    )
    nodes = len({row["node"] for row in found})
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x=_durations("half:Q", "time from the first sending"), x2="all:Q"),
        base.mark_rule(strokeWidth=5).encode(x="half:Q", x2="most:Q"),
        base.mark_circle(size=60, opacity=1).encode(x="half:Q"),
    ).properties(width=WIDE, height=34 * max(1, nodes))


def bars(rows: Sequence[tuple[str, float, str]]) -> Picture:
    found = [{"name": name, "value": value, "says": says} for name, value, says in rows]
    base = alt.Chart(data(found)).encode(
        x=alt.X("value:Q", axis=None),
        y=alt.Y("name:N", sort=[name for name, _, _ in rows], title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=tips(name="what", says="how much"),
    )
    return alt.layer(
        base.mark_bar(color="#5b8def", cornerRadius=2),
        base.mark_text(align="left", dx=5).encode(text="says:N"),
    ).properties(width=WIDE - 160, height=26 * len(found))


def bandwidth(rows: Sequence[MetricsParts]) -> Picture:
    found: list[Mapping[str, Any]] = []
    for row in [row for row in rows if row.packets and row.content_bytes + row.filter_bytes + row.history_bytes][:6]:
        origin = "captured" if row.source == "tap" else "in the logs"
        name = f"{row.kind}, {origin}: {size(row.bytes / row.packets)} \u00d7 {row.packets:,}"
        known = row.content_bytes + row.filter_bytes + row.history_bytes + row.request_bytes
        sizes = (row.content_bytes, row.filter_bytes, row.history_bytes, row.request_bytes, row.bytes - known)
        for at, (part, total) in enumerate(zip(_PARTS, sizes, strict=True)):
            each = total / row.packets
            found.append({"packet": name, "part": part, "at": at, "value": each, "says": size(each)})
    return (
        alt.Chart(data(found))
        .mark_bar(cornerRadius=2)
        .encode(
            x=alt.X("value:Q", title="bytes of an average packet"),
            y=alt.Y("packet:N", title=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("part:N", sort=list(_PARTS), title=None, legend=alt.Legend(orient="bottom")),
            order="at:Q",
            tooltip=tips(packet="packet", part="part", says="on average"),
        )
        .properties(width=WIDE - 160, height=32 * len({row["packet"] for row in found}))
    )


def filters(rows: Sequence[MetricsFilter], named: Named) -> Picture:
    """Draw the found false positives against the expected ones; lines show the range of chance (95 %)."""
    found = []
    for row in [row for row in rows if row.checks][:_LABELLED]:
        low, up = _span(row.expected)
        state = "within chance" if low <= row.hits <= up else "beyond chance"
        tip = f"{row.hits:,} of {row.checks:,} checks; {row.expected:.2f} expected"
        found.append(
            {"node": named(row.node), "hits": row.hits, "low": low, "up": up, "of": row.expected, "state": state}
            | {"tip": tip}
        )
    base = alt.Chart(data(found)).encode(y=node_axis(), tooltip=tips(node="node", tip="found"))
    scale = alt.Scale(type="sqrt")
    colours = alt.Scale(domain=["within chance", "beyond chance"], range=["#5b8def", "#d64545"])
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(
            x=alt.X(
                "low:Q", title="ids that the filters seem to have, by chance (dot: found, tick: expected)", scale=scale
            ),
            x2="up:Q",
        ),
        base.mark_tick(thickness=3, size=14, color="#8795a5").encode(x="of:Q"),
        base.mark_circle(size=80, opacity=1).encode(
            x="hits:Q", color=alt.Color("state:N", title=None, scale=colours, legend=alt.Legend(orient="bottom"))
        ),
    ).properties(width=WIDE, height=26 * len(found))


def _span(expected: float) -> tuple[float, float]:
    """Return the range with about 95 % of a Poisson distribution."""
    low = max(0.0, math.floor(expected - 1.96 * math.sqrt(expected)))
    return low, max(1.0, math.ceil(expected + 1.96 * math.sqrt(expected) + 0.5))
