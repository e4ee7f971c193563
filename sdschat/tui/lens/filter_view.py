"""The view of the filters: fill, range and error rate of ours, and the last filters of others."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.engine_snapshot import filter_holds, filter_seen
from sdschat.tui.lens.view_input import Line, ViewInput, columns, heading, line, paragraph
from sdschat.tui.model.words import bar, clock, day, duration, short

_BAR: Final = 20  # cells at most
_NEVER: Final = 1e-15  # an error rate that is none


def view(view: ViewInput) -> list[Line]:
    own = view.peek.filter
    half = max(1, own.capacity // 2)
    cells = min(_BAR, max(4, view.width - 26))
    lines = [
        heading("our filter"),
        line(f"  {own.layout}, {own.bits} bits, {own.hashes} hashes, {own.size} bytes"),
        line("  ", (f"{bar(own.fill, cells, view.glyphs)}", "maybe"), f" {own.fill:.1%} of the bits set"),
        line(
            "  ",
            (f"{bar(own.ids / max(1, own.capacity), cells, view.glyphs)}", "maybe"),
            f" {own.ids} of {own.capacity} ids",
        ),
    ]
    lines += paragraph(
        f"{_by_chance(own.error_rate)}. That is why a filter alone only says perhaps.",
        view.width,
        "note",
        2,
    )
    lines += paragraph(
        f"Its younger half has {own.young} of {half} ids; when it is full, the older half is forgotten "
        f"(so far {own.generation} times).",
        view.width,
        "note",
        2,
    )
    if own.floor:
        since = f"{day(own.floor)} {clock(own.floor)}"
        lines += paragraph(
            f"It is complete from {since} on: what is dated later and not in it is not here.", view.width, "note", 2
        )
    return lines + _others(view) + _test(view)


def _by_chance(rate: float) -> str:
    """Return how often a filter errs, in words."""
    if rate <= _NEVER:
        return "Ids that are not in a fuller filter may look as if they were"
    return f"One in {_once(rate)} ids that are not in it looks as if it were"


def _once(rate: float) -> str:
    return f"{1 / rate:,.0f}" if rate > _NEVER else "never, so far"


def _others(view: ViewInput) -> list[Line]:
    lines = [line(""), heading("filters of others")]
    found = [(sender, peer) for sender, peer in view.trace.peers.items() if peer.filter]
    if not found:
        return [*lines, line(("  none came since the Lens began to look", "note"))]
    lines.append(
        columns((10, 8, 6, 8), *((name, "note") for name in ("  from", "layout", "full", "age", "wrong once in")))
    )
    for sender, peer in found:
        seen = filter_seen(peer.filter)
        age = duration(view.peek.now - peer.filter_at)
        wrong = seen.problem or _once(seen.error_rate)
        who = (f"  {view.who(sender)}", f"nick:{sender}")
        lines.append(columns((10, 8, 6, 8), who, seen.layout, f"{seen.fill:.0%}", age, wrong))
    return lines


def _test(view: ViewInput) -> list[Line]:
    """Return a line with the result of testing the selected message on the filters of others."""
    chosen = view.selection
    if chosen is None:
        return []
    tried = [
        f"{view.who(sender)} {'yes' if filter_holds(peer.filter, chosen) else 'no'}"
        for sender, peer in view.trace.peers.items()
        if peer.filter
    ]
    return [line(""), line(f"  {short(chosen)} in it? ", (", ".join(tried) or "no filter to try", "maybe"))]
