"""The view of the causal graph, newest first, with lines as `git log --graph` draws them."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final, NamedTuple

from rich.cells import cell_len

from sdschat.tui.lens.view_input import Line, Span, ViewInput, heading, line, paragraph, plain
from sdschat.tui.model.words import ASCII, clock, short

_SHOWN: Final = 120
_LEAST_TEXT: Final = 8  # cells of a text, however narrow the view
_LANE: Final = 2  # letters
_LANES: Final = 12  # side by side; what is further to the right is cut
_CORNERS: Final = {"+": "├┼┤", "'": "╰┴╯", ".": "╭┬╮"}  # with a line to the right, to both sides, to the left
_NODES: Final = str.maketrans("*o|-", "●○│─")


class GraphNode(NamedTuple):
    """A message of the graph; `parents` are the ids in its causal history."""

    message_id: str
    sender_id: str
    lamport: int
    parents: tuple[str, ...]
    state: str  # delivered, buffered, missing

    @property
    def key(self) -> tuple[int, str]:
        return self.lamport, self.message_id


class Row(NamedTuple):
    """One line of the drawing, and the node on it, if any. `authors`: of the messages at the ends of its lanes."""

    rails: str
    node: GraphNode | None
    authors: tuple[str, ...] = ()


def view(view: ViewInput) -> list[Line]:
    found = nodes(view)[:_SHOWN]
    lines = [heading("who wrote knowing of what, newest first")]
    if not found:
        return [*lines, line(("  nothing in this channel yet", "note"))]
    boxes = view.glyphs is not ASCII
    here, waits = ("●", "○") if boxes else ("*", "o")
    legend = f"{here} in the log, {waits} waits, ? not here, ] nobody has named it yet"
    lines += paragraph(legend, view.width, "note", 2)
    for row in rows(found):
        rails = _coloured(boxed(row.rails) if boxes else row.rails, row.authors)
        lines.append(line(*rails) if row.node is None else _shown(view, rails, row.node))
    return lines


def _coloured(rails: str, authors: tuple[str, ...]) -> list[Span]:
    """Return each rail in the colour of the author of the message at its end."""
    lanes = [rails[at : at + _LANE] for at in range(0, len(rails), _LANE)]
    pairs = zip(lanes, [*authors, *[""] * len(lanes)], strict=False)
    return [(" ", ""), *((lane, f"nick:{author}" if author else "gap") for lane, author in pairs)]


def _shown(view: ViewInput, rails: list[Span], node: GraphNode) -> Line:
    style = {"buffered": "late", "missing": "lost"}.get(node.state, "")
    head: list[Span] = [*rails, ("  ", ""), (f"{short(node.message_id)} ", "id")]
    chosen = "mention" if node.message_id == view.selection else style
    if node.state == "missing":
        return line(*head, (f"by {view.who(node.sender_id)}, missing", chosen))
    frontier = " ]" if node.message_id in view.peek.heads else ""
    head += [
        (f"{clock(node.lamport, seconds=False)} ", "time"),
        (f"{view.who(node.sender_id)} ", f"nick:{node.sender_id}"),
    ]
    room = view.width - cell_len(plain(tuple(head))) - len(frontier)
    text = (
        "waits for what it names" if node.state == "buffered" else view.text_of(node.message_id, max(_LEAST_TEXT, room))
    )
    return line(*head, (text, chosen or "text"), (frontier, "acked"))


def nodes(view: ViewInput) -> list[GraphNode]:
    """Return the nodes, newest first: messages of the log, messages that wait, and missing ones that they name."""
    found = {
        entry.message_id: GraphNode(entry.message_id, entry.sender_id, entry.lamport, entry.dependencies, "delivered")
        for entry in view.trace.log.values()
    }
    for waiting in view.peek.buffered:
        found[waiting.message_id] = GraphNode(
            waiting.message_id, waiting.sender_id, waiting.lamport, waiting.dependencies, "buffered"
        )
    for missing in view.peek.missing:
        named_by = [node.lamport for node in found.values() if missing.message_id in node.parents]
        before = min(named_by, default=view.peek.lamport + 1) - 1
        found.setdefault(
            missing.message_id, GraphNode(missing.message_id, missing.sender_id or "", before, (), "missing")
        )
    return sorted(found.values(), key=lambda node: node.key, reverse=True)


def rows(found: list[GraphNode]) -> list[Row]:
    """Lay out the lines. A lane belongs to one message that a newer one names; it ends where that message stands, and
    its place is then free for another one."""
    known = {node.message_id: node.sender_id for node in found}
    lanes: list[str | None] = []
    made: list[Row] = []
    for node in found:
        at = _place(lanes, node.message_id)
        sign = {"buffered": "o", "missing": "?"}.get(node.state, "*")
        drawn = _drawn([sign if place == at else _rail(lane) for place, lane in enumerate(lanes)])
        made.append(Row(drawn, node, tuple(known.get(lane or "", "") for lane in lanes)))
        parents = [parent for parent in dict.fromkeys(node.parents) if parent in known and parent != node.message_id]
        before = list(lanes)
        lanes[at] = None
        targets = {_place(lanes, parent, at) for parent in parents}
        if targets - {at}:
            ends = [new or old for new, old in zip_longest(lanes, before)]
            authors = tuple(known.get(lane or "", "") for lane in ends)
            made.append(Row(_crossing(before, lanes, at, targets), None, authors))
        while lanes and lanes[-1] is None:
            lanes.pop()
    return made


def _place(lanes: list[str | None], message_id: str, wanted: int = 0) -> int:
    """Return the lane of a message; if it has none, make one at the wanted place or the first free one."""
    if message_id in lanes:
        return lanes.index(message_id)
    if wanted < len(lanes) and lanes[wanted] is None:
        at = wanted
    elif None in lanes:
        at = lanes.index(None)
    else:
        at = len(lanes)
        lanes.append(None)
    lanes[at] = message_id
    return at


def _crossing(before: list[str | None], after: list[str | None], at: int, targets: set[int]) -> str:
    """Draw one line from a node to the lanes of its parents; lanes that it crosses go on below it."""
    low, high = min(targets | {at}), max(targets | {at})
    drawn = []
    for place in range(len(after)):
        above = place < len(before) and before[place] is not None
        if place == at or place in targets:
            sign = "+" if above and after[place] is not None else "'" if above else "."
        else:
            sign = _rail(after[place]) if after[place] is not None or not low < place < high else "-"
        drawn.append(sign + ("-" if low <= place < high else " "))
    return _cut("".join(drawn))


def boxed(rails: str) -> str:
    """Return rails in box drawing."""
    found = []
    for place, sign in enumerate(rails):
        left, right = rails[max(0, place - 1) : place] == "-", rails[place + 1 : place + 2] == "-"
        found.append(_CORNERS[sign][left - right + 1] if sign in _CORNERS else sign)
    return "".join(found).translate(_NODES)


def _rail(lane: str | None) -> str:
    return " " if lane is None else "|"


def _drawn(signs: list[str]) -> str:
    return _cut(" ".join(signs))


def _cut(rails: str) -> str:
    return rails.rstrip()[: _LANE * _LANES]
