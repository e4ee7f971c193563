"""The view of holders: the last messages against the participants known to have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len

from sdschat.node.view.engine_snapshot import filter_holds, filter_seen
from sdschat.node.view.values import by_name
from sdschat.tui.lens.trace import UNPROVEN
from sdschat.tui.lens.view_input import Line, Span, ViewInput, columns, heading, line, paragraph
from sdschat.tui.model.words import count, short

_MESSAGES: Final = 20
_ID: Final = 5
_CELL: Final = 6  # of a name: no fewer
_WORDS: Final = 8  # columns from which the first words of a message have room
_MOST_FILL: Final = 0.6  # a fuller filter is not believed


def view(view: ViewInput) -> list[Line]:
    entries = sorted(view.trace.log.values(), key=lambda entry: (entry.lamport, entry.message_id))[-_MESSAGES:]
    author = _width([view.who(entry.sender_id) for entry in entries], view.width // 4)
    room = max(1, (view.width - _ID - author - 2) // (_CELL + 1))
    peers = sorted((peer.sender_id for peer in view.peek.peers[:room]), key=lambda peer: by_name(view.who(peer)))
    says = "A row for each of the last messages, a column for each of the others: who has it, as far as is known here."
    lines = [heading("who is known to hold what"), *paragraph(says, view.width, "note")]
    if not peers or not entries:
        return [*lines, line(("  nobody else was heard here yet" if entries else "  no messages yet", "note"))]
    cell = _width([view.who(peer) for peer in peers], (view.width - _ID - author - 3 - _WORDS) // len(peers) - 1)
    widths = (_ID, author, *(cell for _ in peers))
    left = view.width - sum(widths) - len(widths)  # for the first words
    lines += [line(""), columns(widths, "", ("author", "note"), *((view.who(peer), f"nick:{peer}") for peer in peers))]
    for entry in reversed(entries):
        wrote = (view.who(entry.sender_id), f"nick:{entry.sender_id}")
        cells = [_cell(view, peer, entry.message_id) for peer in peers]
        chosen = "mention" if entry.message_id == view.selection else "id"
        words = (view.text_of(entry.message_id, left) if left >= _WORDS else "", "note")
        lines.append(columns(widths, (short(entry.message_id), chosen), wrote, *cells, words))
    more = len(view.peek.peers) - len(peers)
    if more:
        says = f"{count(more, 'other')} without room here. Select a message (Alt+Up): all who have it are named."
        lines += [line(""), *paragraph(says, view.width, "note", 2)]
    return [*lines, *_holders(view), line(""), *_signs(view)]


def _width(names: list[str], room: int) -> int:
    """Return the columns for names: as many as the longest one has, if there are so many."""
    return max(_CELL, min(room, max(map(cell_len, names), default=0)))


def known(view: ViewInput, peer: str, message_id: str) -> str:
    """Return the evidence that a participant holds a message: author, mention, range, filter, unproven; empty if
    none."""
    trace = view.trace.peers.get(peer)
    fate = view.fate(message_id)
    evidence = next((each for each in fate.evidence if each.sender_id == peer), None) if fate is not None else None
    if trace is not None and message_id in trace.proven:
        return trace.proven[message_id]
    if evidence is not None:
        return evidence.how if evidence.signed else UNPROVEN
    if trace is not None and trace.filter and filter_seen(trace.filter).fill <= _MOST_FILL:
        return "filter" if filter_holds(trace.filter, message_id) else ""
    return ""


def _cell(view: ViewInput, peer: str, message_id: str) -> Span:
    how = known(view, peer, message_id)
    if not how:
        return view.glyphs.nothing, "time"
    if how == UNPROVEN:
        return view.glyphs.unproven, "maybe"
    return (view.glyphs.maybe, "maybe") if how == "filter" else (view.glyphs.known, "acked")


def _signs(view: ViewInput) -> Iterator[Line]:
    """Yield what the signs mean: below the table, which a low screen would have no room for otherwise."""
    glyphs = view.glyphs
    for sign, style, meaning in (
        (glyphs.known, "acked", "known: wrote it, named it, or has an equal log"),
        (glyphs.maybe, "maybe", "perhaps: seems to be in a filter"),
        (glyphs.unproven, "maybe", "unproven: it says so, and did not sign that"),
        (glyphs.nothing, "time", "nothing yet: said nothing of it"),
    ):
        first, *rest = paragraph(meaning, view.width, "note", 4)
        yield line("  ", (sign, style), (f" {first[0][0][4:]}", "note"))
        yield from rest


def _holders(view: ViewInput) -> list[Line]:
    """Return the holders of the selected message in words."""
    chosen = view.selection
    if chosen is None:
        return []
    words = {"author": "wrote it", "mention": "named it", "range": "has an equal log", "filter": "has it in a filter"}
    words[UNPROVEN] = "says so unsigned"
    told = [
        f"{view.who(peer.sender_id)} {words[how]}"
        for peer in view.peek.peers
        if (how := known(view, peer.sender_id, chosen))
    ]
    text = f"{short(chosen)}: {', '.join(told) if told else 'nobody else is known to hold it'}"
    return [line(""), *paragraph(text, view.width, "note", 2)]
