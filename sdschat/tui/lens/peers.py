"""The view of the participants: last heard, clock, implementation, and broken rules."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.engine_snapshot import PeerPeek
from sdschat.tui.lens.trace import FOREIGN, UNKNOWN, PeerTrace
from sdschat.tui.lens.view_input import Line, ViewInput, heading, line, paragraph, seconds
from sdschat.tui.model.words import ago, clean, count, short

_SHOWN: Final = 30
_SKEWED: Final = 5_000
_HASTY: Final = 0.4  # sync messages come every half to one and a half of the interval


def view(view: ViewInput) -> list[Line]:
    peers = view.peek.peers
    cut = "" if view.peek.online else ", not connected"
    lines = [heading(f"participants: {count(len(peers), 'other')}{cut}")]
    if not peers:
        lines.append(line(("  nobody else was heard here yet", "note")))
    for peer in peers[:_SHOWN]:
        lines += _peer(view, peer, view.trace.peers.get(peer.sender_id) or PeerTrace())
    strangers = [sender for sender in view.trace.peers if sender not in {peer.sender_id for peer in peers}]
    for sender in strangers[:_SHOWN]:
        if sender != view.peek.me and view.trace.peers[sender].refused:
            lines += [line("  ", (view.who(sender), f"nick:{sender}"), *_refused(view.trace.peers[sender]))]
    return lines


def _peer(view: ViewInput, peer: PeerPeek, trace: PeerTrace) -> list[Line]:
    now = view.peek.now
    heard = f"heard {ago(now - peer.heard_at)}" if peer.heard_at else "not heard yet"
    here = "here" if peer.online else "not here" if view.peek.online else "not known to be here"
    role = f", {clean(peer.role, limit=20)}" if peer.role else ""
    sign = view.glyphs.online if peer.online else view.glyphs.offline
    lines = [
        line(
            f"{sign} ",
            (view.who(peer.sender_id), f"nick:{peer.sender_id}"),
            (f" {short(peer.sender_id, 8)}", "id"),
            (f" {here}{role}, {heard}", "note"),
        )
    ]
    packets = ", ".join(f"{number} {kind}" for kind, number in sorted(trace.packets.items()))
    seen = f"packets since this view opened: {packets or 'none'}"
    lines += paragraph(f"{_program(peer, trace)}; {seen}", view.width, "note", 4)
    lines.append(_clock(trace))
    lines += _timing(view, trace)
    for (rule, what), times in trace.broken.most_common(3):
        lines += paragraph(f"breaks {rule} {times}x: {clean(what, limit=120)}", view.width, "refused", 4)
    if trace.refused:
        lines.append(line("    ", *_refused(trace)))
    return lines


def _program(peer: PeerPeek, trace: PeerTrace) -> str:
    """Return in words the program that this participant seems to run."""
    if trace.packets:
        told = trace.make != UNKNOWN
        return f"program: {trace.make}, as its packets look" if told else "program: cannot be told by its packets"
    filters = {"compact": "sdschat", "waku": FOREIGN}.get(peer.layout)
    return f"program: {filters}, as its filters look" if filters else "program: not known yet"


def _clock(trace: PeerTrace) -> Line:
    offset = trace.offset
    if offset is None:
        return line(("    clock: no fresh packet to tell from", "note"))
    text = f"    clock {round(offset / 1000, 2) + 0.0:+.2f} s by {count(len(trace.offsets), 'packet')}"
    return line((text + (" SKEWED" if abs(offset) > _SKEWED else ""), "refused" if abs(offset) > _SKEWED else "note"))


def _timing(view: ViewInput, trace: PeerTrace) -> list[Line]:
    if not trace.sync_gaps:
        return []
    mean = sum(trace.sync_gaps) / len(trace.sync_gaps)
    ours = view.peek.sync_interval
    text = f"sync messages every {seconds(round(mean))} (ours: {seconds(ours)})"
    hasty = len(trace.sync_gaps) > 3 and not _HASTY <= mean / ours <= 2.5
    return paragraph(text + (": other timers than ours?" if hasty else ""), view.width, "late" if hasty else "note", 4)


def _refused(trace: PeerTrace) -> list[tuple[str, str]]:
    told = ", ".join(f"{reason} {times}x" for reason, times in trace.refused.most_common(3))
    return [(f" refused: {told}", "refused")]
