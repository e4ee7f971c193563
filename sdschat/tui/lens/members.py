"""The views of members' channels: operations, clocks, checkpoint, committee."""

from __future__ import annotations

from typing import Final

from sdschat.node.members.saved import answering
from sdschat.node.view.members import MembersPeek
from sdschat.tui.lens.view_input import Line, ViewInput, columns, heading, line, paragraph
from sdschat.tui.model.words import UNICODE, count, duration

_SHOWN: Final = 60  # operations
_TREE: Final = (2, 14, 7, 8)  # columns of a row
_MISSING_SHOWN: Final = 5
_NONE: Final = "This is no members' channel: it has no committee, and its log is that of SDS."


def tree(view: ViewInput) -> list[Line]:
    """Show the operations in front of the compaction, in their order."""
    peek = view.members
    if peek is None:
        return paragraph(_NONE, view.width)
    rows = peek.tree[-_SHOWN:]
    lines = [heading(f"{count(len(peek.tree), 'operation')} not compacted yet, oldest first")]
    if rows:
        lines.append(columns(_TREE, "", *((name, "note") for name in ("writer", "number", "carries", "state"))))
    boxes = view.glyphs is UNICODE
    straight, branch = ("│", "╲") if boxes else ("|", "\\")
    for row in rows:
        state = "settled" if row.settled else "without effect" if row.dead else "open"
        lines.append(
            columns(
                _TREE,
                (f" {branch if row.branches else straight}", "gap"),
                (view.who(row.writer), f"nick:{row.writer}"),
                str(row.seq),
                row.what or "answer",
                (state, "note"),
            )
        )
    if any(row.branches for row in rows):
        words = f"{branch} is a branch: an operation that does not hang below the one above it."
        lines += [line(""), *paragraph(words, view.width, indent=2)]
    return lines


def clock(view: ViewInput) -> list[Line]:
    """Show the operations that each member is known to have, by their writers: the members, since of those who are gone
    nothing more comes."""
    peek = view.members
    if peek is None:
        return paragraph(_NONE, view.width)
    slots = [member.slot for member in peek.committee]
    widths = (14, *(8 for _ in slots))
    newest = {slot: max(member.clock.get(slot, 0) for member in peek.committee) for slot in slots}
    behind = [
        view.who(member.sender_id)
        for member in peek.committee
        if any(member.clock.get(s, 0) < newest[s] for s in slots)
    ]
    told = "All members have shown that they have everything that is here."
    if behind:
        told = f"Not shown yet to have everything that is here: {', '.join(behind)}."
    lines = [
        *paragraph(told, view.width),
        line(""),
        heading("newest operation of each writer (columns) that each member (rows) is known to have"),
        columns(widths, "", *(view.who(member.sender_id) for member in peek.committee)),
    ]
    for member in peek.committee:
        cells = (str(member.clock.get(slot, 0)) for slot in slots)
        lines.append(columns(widths, (view.who(member.sender_id), f"nick:{member.sender_id}"), *cells))
    return lines


def checkpoint(view: ViewInput) -> list[Line]:
    """Return the checkpoint, and the members whose word is waited for."""
    peek = view.members
    if peek is None:
        return paragraph(_NONE, view.width)
    front = [row for row in peek.tree if not row.settled]
    bare = f", which {'carries' if len(front) == 1 else 'carry'} nothing to settle"
    bare = bare if front and not any(row.what for row in front) else ""
    lines = [
        heading(f"checkpoint: {count(peek.number, 'operation')} behind it, {count(peek.posts, 'post')} alive"),
        line("  hash ", (peek.hash[:32], "id")),
        *paragraph(f"in front of it: {count(len(front), 'operation')}{bare}", view.width, "", 2),
        line("  data set ", (peek.data_set, "id")),
    ]
    if peek.waiting_for:
        lines += paragraph(
            f"It waits for {', '.join(map(view.who, peek.waiting_for))} to show that they have what comes next.",
            view.width,
            "note",
            2,
        )
    else:
        lines += paragraph("Nothing is waited for: all that was said is settled, for everybody.", view.width, "note", 2)
    for one in peek.missing[:_MISSING_SHOWN]:
        waits = f"; {count(one.waiting, 'operation')} wait for it" if one.waiting else ""
        text = f"Operation {one.seq} of {view.who(one.writer)} has been missing for {duration(one.millis)}{waits}."
        lines += paragraph(text, view.width, "unacked", 2)
    if peek.missing:
        text = "It was named, so it exists: it is lost on its way, or its writer keeps it back."
        lines += paragraph(text, view.width, "note", 2)
    if peek.refused:
        counts = ", ".join(f"{number} {words}" for words, number in sorted(peek.refused.items()))
        lines += paragraph(f"refused since the start: {counts}", view.width, "note", 2)
    return lines


def committee(view: ViewInput) -> list[Line]:
    """Show the members, how they answer, and the ballot."""
    peek = view.members
    if peek is None:
        return paragraph(_NONE, view.width)
    lines = [heading(f"committee: {count(len(peek.committee), 'member')}")]
    for member in peek.committee:
        answers = answering(member.missed, member.limit, len(peek.committee))
        lines.append(columns((14,), (view.who(member.sender_id), f"nick:{member.sender_id}"), (answers, "note")))
    if not peek.is_member:
        lines += paragraph("You are no member: a member has to invite you.", view.width)
    return lines + _ballot(view, peek)


def _ballot(view: ViewInput, peek: MembersPeek) -> list[Line]:
    if peek.ballot is None:
        return paragraph("No ballot is under way.", view.width)
    removed, agree, need = peek.ballot
    names = ", ".join(map(view.who, removed))
    return paragraph(f"removing {names}: {agree} of {need} agree", view.width)
