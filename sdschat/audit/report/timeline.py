"""The first picture of a report: what happened when. All parts have one axis of time, which can be moved and zoomed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt

from sdschat.audit.answers import Absence
from sdschat.audit.report.data import ChannelPart, duration, moment, size
from sdschat.audit.report.embed import Picture, data
from sdschat.audit.report.pictures import MOST_NODES, WIDE, duration_axis, node_axis, shades, tips
from sdschat.audit.schemas import FAULTS, AuditNode
from sdschat.audit.verdict import LOST, counted

_LANE: Final = 40
_LETTER: Final = 7  # points of a letter above a lane, at most
_CHOOSE: Final = "latency"  # the view in whose legend a receiver is chosen
_AWAY: Final = {"not running": "#d64545", "silent": "#e0a030", "ended before others": "#8795a5"}
_REPAIRS: Final = {
    "repair_wanted": "repair wanted",
    "repair_requested": "repair requested",
    "duplicate": "duplicate received",
    "rejected": "packet refused",
}
_VIAS: Final = {"live": "#5b8def", "repair": "#e8963a", "sync": "#2aa89a", "store": "#9a6bd8"}


def timeline(part: ChannelPart) -> Picture | None:
    """Draw nodes, deliveries, bytes and repairs over time; None if there is no journal to tell of it."""
    if not part.figures.course:
        return None
    shown = shown_nodes(part)
    views = [_lanes(part, shown), _latency(part, shown), _bytes(part), _repairs(part)]
    whole = alt.vconcat(*(view for view in views if view is not None), spacing=14)
    # Parts have new names within the whole.
    named = [
        view.name for each in whole.vconcat for view in getattr(each, "layer", [each]) if isinstance(view.name, str)
    ]
    receivers = [name for name in named if name.startswith(_CHOOSE)]
    whole.params = [_move(named), *([_chosen(receivers)] if receivers else [])]  # without views, it would be in all
    return whole.resolve_scale(color="independent")


def shown_nodes(part: ChannelPart) -> list[AuditNode]:
    """Return the nodes that are drawn: those with faults, then those that were away longest."""
    away: dict[str, int] = defaultdict(int)
    for row in part.figures.away:
        away[row.node] += row.to_ms - row.from_ms
    worst = sorted(part.rows.nodes, key=lambda row: (row.agrees, -row.missing, -away[row.node], row.node))[:MOST_NODES]
    return sorted(worst, key=lambda row: (part.named(row.node), row.node))


def _span(part: ChannelPart) -> tuple[int, int]:
    ends = [row.at_ms for row in part.figures.course] + [row.last_ms for row in part.rows.nodes]
    starts = [row.at_ms for row in part.figures.course] + [row.first_ms for row in part.rows.nodes if row.first_ms]
    return min(starts), max(ends) + part.figures.grain


def _time(part: ChannelPart, title: str | None = None) -> alt.X:
    scale = alt.Scale(type="utc", domain=list(_span(part)), nice=False)
    return alt.X("at:T", scale=scale, axis=alt.Axis(title=title, grid=True, tickCount=8))


def _move(views: list[str]) -> alt.TopLevelSelectionParameter:
    """Let a person drag the time, and zoom with shift and the wheel, so that the page itself can be scrolled."""
    interval = alt.IntervalSelectionConfig(type="interval", encodings=["x"], zoom="wheel![event.shiftKey]")
    return alt.TopLevelSelectionParameter(name="time", select=interval, bind="scales", views=views)


def _chosen(views: list[str]) -> alt.TopLevelSelectionParameter:
    point = alt.PointSelectionConfig(type="point", fields=["node"])
    return alt.TopLevelSelectionParameter(name="receiver", select=point, bind="legend", views=views)


def _lanes(part: ChannelPart, shown: Sequence[AuditNode]) -> Picture:
    lanes = {row.node: part.named(row.node) for row in shown}
    y = node_axis(list(dict.fromkeys(lanes.values())))
    away = [_away_row(row, lanes) for row in part.figures.away if row.node in lanes]
    there = [
        {"at": row.first_ms, "until": row.last_ms, "node": lanes[row.node]}
        for row in shown
        if row.last_ms > row.first_ms
    ]
    lane = alt.Chart(data(there)).mark_bar(height=16, color="#8795a5", opacity=0.25, cornerRadius=3)
    gap = alt.Chart(data(away)).mark_bar(height=16, cornerRadius=2, opacity=0.85)
    words = alt.Chart(data(with_room(away, *_span(part))))
    gaps = tips(node="node", kind="was", lasted="for", since="from (UTC)")
    whole = alt.layer(
        lane.encode(x=_time(part), x2="until:T", y=y).properties(name="lanes"),
        _ticks(part, lanes).encode(x=_time(part), y=y),
        gap.encode(x=_time(part), x2="until:T", y=y, color=shades("kind:N", _AWAY, "top"), tooltip=gaps),
        words.mark_text(dy=-14, fontSize=11, align="left", fontWeight=600).encode(x=_time(part), y=y, text="words:N"),
        _marks(part, lanes).encode(x=_time(part), y=y),
    ).properties(width=WIDE, height=max(2, len(shown)) * _LANE, title="Nodes: there, away, and faults")
    return whole.resolve_scale(color="independent")


def _away_row(row: Absence, lanes: Mapping[str, str]) -> dict[str, Any]:
    lasted = duration(row.to_ms - row.from_ms)
    return {
        "at": row.from_ms,
        "until": row.to_ms,
        "node": lanes[row.node],
        "kind": row.kind,
        "lasted": lasted,
        "since": moment(row.from_ms),
        "words": f"{row.kind} for {lasted}",
    }


def with_room(away: Sequence[Mapping[str, Any]], begin: int, end: int) -> list[dict[str, Any]]:
    """Return the absences whose words have room in their lane, each moved to where the words are."""
    each = (end - begin) / WIDE  # milliseconds of a point
    taken: dict[str, list[tuple[float, float]]] = defaultdict(list)
    found = []
    for row in sorted(away, key=lambda row: row["at"] - row["until"]):
        wide = len(row["words"]) * _LETTER * each
        first = min(row["at"], end - wide)
        free = all(first >= right or first + wide <= left for left, right in taken[row["node"]])
        if row["kind"] != "ended before others" and free and first >= begin:
            taken[row["node"]].append((first, first + wide))
            found.append({**row, "at": first})
    return found


def _ticks(part: ChannelPart, lanes: Mapping[str, str]) -> Picture:
    rows = [
        {
            "at": row.at_ms + part.figures.grain / 2,
            "node": lanes[row.node],
            "via": row.what.removeprefix("delivered "),
            "n": row.n,
            "when": moment(row.at_ms),
        }
        for row in part.figures.course
        if row.node in lanes and row.what.startswith("delivered ")
    ]
    colours = shades("via:N", _VIAS, "top", "delivered")
    told = tips(node="node", n="delivered", via="by", when="from (UTC)")
    return alt.Chart(data(rows)).mark_tick(height=12, thickness=2).encode(color=colours, tooltip=told)


def _marks(part: ChannelPart, lanes: Mapping[str, str]) -> Picture:
    rows = [
        {"at": row.lamport, "node": lanes[row.node], "what": f"lacks {row.message_id[:12]}", "detail": row.detail}
        for row in part.rows.missing
        if row.node in lanes and row.reason == LOST
    ]
    rows += [
        {"at": row.lamport, "node": lanes[row.node], "what": row.kind, "detail": row.detail}
        for row in part.faults
        if row.node in lanes and row.lamport and row.kind in FAULTS
    ]
    first = min((row.first_ms for row in part.rows.nodes if row.first_ms), default=0)
    last = max((row.last_ms for row in part.rows.nodes), default=0)
    inside = [row for row in rows if first <= int(str(row["at"])) <= last]  # a forged date would stretch the axis
    return (
        alt.Chart(data(inside))
        .mark_point(shape="diamond", size=90, filled=True, color="#b3261e", opacity=1, stroke="white", strokeWidth=1)
        .encode(tooltip=tips(node="node", what="fault", detail="what is known"))
    )


def _latency(part: ChannelPart, shown: Sequence[AuditNode]) -> Picture | None:
    lanes = {row.node: part.named(row.node) for row in shown}
    rows = [
        {
            "at": row.at_ms,
            "node": lanes[row.node],
            "half": max(1.0, row.p50),
            "longest": max(1.0, row.longest),
            "when": moment(row.at_ms),
            "says": duration(row.longest),
            "says_half": duration(row.p50),
            "n": row.n,
        }
        for row in part.figures.spread
        if row.figure == "pace" and row.node in lanes
    ]
    if not rows:
        return None
    base = alt.Chart(data(rows)).encode(
        x=_time(part),
        color=alt.Color("node:N", title="receiver", legend=alt.Legend(orient="right", labelLimit=110, symbolLimit=20)),
        opacity=alt.condition(alt.selection_point(name="receiver"), alt.value(0.9), alt.value(0.08)),
    )
    y = alt.Y("longest:Q", scale=alt.Scale(type="log"), title=None, axis=duration_axis())
    told = tips(node="receiver", when="sent from (UTC)", n="deliveries", says_half="half within", says="longest")
    return alt.layer(
        base.mark_line(strokeWidth=1, interpolate="linear").encode(y=alt.Y("half:Q", scale=alt.Scale(type="log"))),
        base.mark_circle(size=36).encode(y=y, tooltip=told).properties(name=_CHOOSE),
    ).properties(
        width=WIDE, height=190, title="Time from sending to delivery, by receiver: the longest (dots), half (line)"
    )


def _bytes(part: ChannelPart) -> Picture | None:
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in part.figures.course:
        if row.what.startswith("sent "):
            at = sums[row.at_ms, row.what.removeprefix("sent ") or "other"]
            at[0] += row.bytes
            at[1] += row.n
    rows = [
        _Piece(at, cause, total, f"{size(total)} in {counted(packets, 'packet', 'packets')}")
        for (at, cause), (total, packets) in sorted(sums.items())
    ]
    return _columns(part, rows, "bytes", "Bytes sent by all nodes, by cause")


def _repairs(part: ChannelPart) -> Picture | None:
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for row in part.figures.course:
        if row.what in _REPAIRS:
            sums[row.at_ms, _REPAIRS[row.what]] += row.n
    rows = [_Piece(at, what, n, f"{n:,}") for (at, what), n in sorted(sums.items())]
    return _columns(part, rows, "repairs", "Repairs, duplicates and refused packets")


class _Piece(NamedTuple):
    """A part of the column of one stretch of time."""

    at: int
    what: str
    value: int
    says: str


def _columns(part: ChannelPart, pieces: Sequence[_Piece], name: str, title: str) -> Picture | None:
    """Draw a column for each stretch of time; its parts stand on each other."""
    if not pieces:
        return None
    rows, tops = [], defaultdict[int, int](int)
    for piece in pieces:
        low, tops[piece.at] = tops[piece.at], tops[piece.at] + piece.value
        place = {"low": low, "high": tops[piece.at], "until": piece.at + part.figures.grain, "when": moment(piece.at)}
        rows.append({"at": piece.at, "what": piece.what, "says": piece.says} | place)
    return (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(
            x=_time(part, title="UTC"),
            x2="until:T",
            y=alt.Y("low:Q", title=None, axis=alt.Axis(format="~s", tickCount=4)),
            y2="high:Q",
            color=alt.Color("what:N", title=None, legend=alt.Legend(orient="right")),
            tooltip=tips(what="what", says="how much", when="from (UTC)"),
        )
        .properties(width=WIDE, height=110, title=title, name=name)
    )
