"""The first picture of a report: what happened when. All parts have one axis of time, which can be moved and zoomed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt

from sdschat.audit.answers import Absence, Figures
from sdschat.audit.report.data import Named, duration, moment, size
from sdschat.audit.report.embed import Picture, data
from sdschat.audit.report.pictures import MOST_NODES, WIDE, duration_axis, node_axis, shades, tips
from sdschat.audit.schemas import FAULTS, AuditFinding, AuditMissing, AuditNode
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


class Scene(NamedTuple):
    """The content of the pictures of one channel."""

    figures: Figures  # of this channel alone
    nodes: Sequence[AuditNode]
    missing: Sequence[AuditMissing]
    faults: Sequence[AuditFinding]
    named: Named


def timeline(scene: Scene) -> Picture | None:
    """Draw nodes, deliveries, bytes and repairs over time; None if there is no journal to tell of it."""
    if not scene.figures.course:
        return None
    shown = shown_nodes(scene)
    parts = [_lanes(scene, shown), _latency(scene, shown), _bytes(scene), _repairs(scene)]
    whole = alt.vconcat(*(part for part in parts if part is not None), spacing=14)
    # Parts have new names within the whole.
    named = [
        view.name for part in whole.vconcat for view in getattr(part, "layer", [part]) if isinstance(view.name, str)
    ]
    receivers = [name for name in named if name.startswith(_CHOOSE)]
    whole.params = [_move(named), *([_chosen(receivers)] if receivers else [])]  # without views, it would be in all
    return whole.resolve_scale(color="independent")


def shown_nodes(scene: Scene) -> list[AuditNode]:
    """Return the nodes that are drawn: those with faults, then those that were away longest."""
    away: dict[str, int] = defaultdict(int)
    for row in scene.figures.away:
        away[row.node] += row.to_ms - row.from_ms
    worst = sorted(scene.nodes, key=lambda row: (row.agrees, -row.missing, -away[row.node], row.node))[:MOST_NODES]
    return sorted(worst, key=lambda row: (scene.named(row.node), row.node))


def _span(scene: Scene) -> tuple[int, int]:
    ends = [row.at_ms for row in scene.figures.course] + [row.last_ms for row in scene.nodes]
    starts = [row.at_ms for row in scene.figures.course] + [row.first_ms for row in scene.nodes if row.first_ms]
    return min(starts), max(ends) + scene.figures.grain


def _time(scene: Scene, title: str | None = None) -> alt.X:
    scale = alt.Scale(type="utc", domain=list(_span(scene)), nice=False)
    return alt.X("at:T", scale=scale, axis=alt.Axis(title=title, grid=True, tickCount=8))


def _move(views: list[str]) -> alt.TopLevelSelectionParameter:
    """Let a person drag the time, and zoom with shift and the wheel, so that the page itself can be scrolled."""
    interval = alt.IntervalSelectionConfig(type="interval", encodings=["x"], zoom="wheel![event.shiftKey]")
    return alt.TopLevelSelectionParameter(name="time", select=interval, bind="scales", views=views)


def _chosen(views: list[str]) -> alt.TopLevelSelectionParameter:
    point = alt.PointSelectionConfig(type="point", fields=["node"])
    return alt.TopLevelSelectionParameter(name="receiver", select=point, bind="legend", views=views)


def _lanes(scene: Scene, shown: Sequence[AuditNode]) -> Picture:
    """Draw a lane for each node: when it was there, when it was not, its deliveries and its faults."""
    lanes = {row.node: scene.named(row.node) for row in shown}
    y = node_axis(list(dict.fromkeys(lanes.values())))
    away = [_away_row(row, lanes) for row in scene.figures.away if row.node in lanes]
    there = [
        {"at": row.first_ms, "until": row.last_ms, "node": lanes[row.node]}
        for row in shown
        if row.last_ms > row.first_ms
    ]
    lane = alt.Chart(data(there)).mark_bar(height=16, color="#8795a5", opacity=0.25, cornerRadius=3)
    gap = alt.Chart(data(away)).mark_bar(height=16, cornerRadius=2, opacity=0.85)
    words = alt.Chart(data(with_room(away, *_span(scene))))
    gaps = tips(node="node", kind="was", lasted="for", since="from (UTC)")
    whole = alt.layer(
        lane.encode(x=_time(scene), x2="until:T", y=y).properties(name="lanes"),
        _ticks(scene, lanes).encode(x=_time(scene), y=y),
        gap.encode(x=_time(scene), x2="until:T", y=y, color=shades("kind:N", _AWAY, "top"), tooltip=gaps),
        words.mark_text(dy=-14, fontSize=11, align="left", fontWeight=600).encode(x=_time(scene), y=y, text="words:N"),
        _marks(scene, lanes).encode(x=_time(scene), y=y),
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


def _ticks(scene: Scene, lanes: Mapping[str, str]) -> Picture:
    rows = [
        {
            "at": row.at_ms + scene.figures.grain / 2,
            "node": lanes[row.node],
            "via": row.what.removeprefix("delivered "),
            "n": row.n,
            "when": moment(row.at_ms),
        }
        for row in scene.figures.course
        if row.node in lanes and row.what.startswith("delivered ")
    ]
    colours = shades("via:N", _VIAS, "top", "delivered")
    told = tips(node="node", n="delivered", via="by", when="from (UTC)")
    return alt.Chart(data(rows)).mark_tick(height=12, thickness=2).encode(color=colours, tooltip=told)


def _marks(scene: Scene, lanes: Mapping[str, str]) -> Picture:
    """Draw what is missing and what is wrong, at the time of the message."""
    rows = [
        {"at": row.lamport, "node": lanes[row.node], "what": f"lacks {row.message_id[:12]}", "detail": row.detail}
        for row in scene.missing
        if row.node in lanes and row.reason == LOST
    ]
    rows += [
        {"at": row.lamport, "node": lanes[row.node], "what": row.kind, "detail": row.detail}
        for row in scene.faults
        if row.node in lanes and row.lamport and row.kind in FAULTS
    ]
    first = min((row.first_ms for row in scene.nodes if row.first_ms), default=0)
    last = max((row.last_ms for row in scene.nodes), default=0)
    inside = [row for row in rows if first <= int(str(row["at"])) <= last]  # a forged date would stretch the axis
    return (
        alt.Chart(data(inside))
        .mark_point(shape="diamond", size=90, filled=True, color="#b3261e", opacity=1, stroke="white", strokeWidth=1)
        .encode(tooltip=tips(node="node", what="fault", detail="what is known"))
    )


def _latency(scene: Scene, shown: Sequence[AuditNode]) -> Picture | None:
    lanes = {row.node: scene.named(row.node) for row in shown}
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
        for row in scene.figures.spread
        if row.figure == "pace" and row.node in lanes
    ]
    if not rows:
        return None
    base = alt.Chart(data(rows)).encode(
        x=_time(scene),
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


def _bytes(scene: Scene) -> Picture | None:
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in scene.figures.course:
        if row.what.startswith("sent "):
            at = sums[row.at_ms, row.what.removeprefix("sent ") or "other"]
            at[0] += row.bytes
            at[1] += row.n
    rows = [
        _Part(at, cause, total, f"{size(total)} in {counted(packets, 'packet', 'packets')}")
        for (at, cause), (total, packets) in sorted(sums.items())
    ]
    return _columns(scene, rows, "bytes", "Bytes sent by all nodes, by cause")


def _repairs(scene: Scene) -> Picture | None:
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for row in scene.figures.course:
        if row.what in _REPAIRS:
            sums[row.at_ms, _REPAIRS[row.what]] += row.n
    rows = [_Part(at, what, n, f"{n:,}") for (at, what), n in sorted(sums.items())]
    return _columns(scene, rows, "repairs", "Repairs, duplicates and refused packets")


class _Part(NamedTuple):
    """A part of the column of one stretch of time."""

    at: int
    what: str
    value: int
    says: str


def _columns(scene: Scene, parts: Sequence[_Part], name: str, title: str) -> Picture | None:
    """Draw a column for each stretch of time; its parts stand on each other."""
    if not parts:
        return None
    rows, tops = [], defaultdict[int, int](int)
    for part in parts:
        low, tops[part.at] = tops[part.at], tops[part.at] + part.value
        place = {"low": low, "high": tops[part.at], "until": part.at + scene.figures.grain, "when": moment(part.at)}
        rows.append({"at": part.at, "what": part.what, "says": part.says} | place)
    return (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(
            x=_time(scene, title="UTC"),
            x2="until:T",
            y=alt.Y("low:Q", title=None, axis=alt.Axis(format="~s", tickCount=4)),
            y2="high:Q",
            color=alt.Color("what:N", title=None, legend=alt.Legend(orient="right")),
            tooltip=tips(what="what", says="how much", when="from (UTC)"),
        )
        .properties(width=WIDE, height=110, title=title, name=name)
    )
