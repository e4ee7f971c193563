"""The view of repair: messages missing here and our requests, messages missing at others and our answers."""

from __future__ import annotations

from typing import Final

from sdschat.node import events
from sdschat.node.events import ev
from sdschat.node.view.engine_snapshot import AnswerPeek, answers_after
from sdschat.node.view.values import MissingMessage, RetrievalState
from sdschat.tui.lens.trace import TimedEvent
from sdschat.tui.lens.view_input import LOST, Line, ViewInput, heading, line, paragraph, seconds
from sdschat.tui.model.words import bar, clean, clock, count, countdown, duration, short, times

_BAR: Final = 16
_PAST: Final = 8  # ended repairs that are shown
_SHOWN: Final = 30
_OUTCOMES: Final = {
    "received": ("arrived", "acked"),
    "arrived_before_due": ("arrived before we asked", "acked"),
    "lost": ("given up", "lost"),
    "unproven": ("given up: only unsigned packets named it", "note"),
    "answered_by_other": ("stood down: another answered", "note"),
    "peer_has_it": ("stood down: who asked has it", "note"),
    "resent": ("sent again before that", "note"),
    "pushed": ("sent again before that", "note"),
    "requested_by_other": ("stood down: another asked", "note"),
    "no_body": ("not answered: not kept any more", "lost"),
}


def _outcome(why: str) -> tuple[str, str]:
    return _OUTCOMES.get(why) or (clean(why, limit=40), "note")


def view(view: ViewInput) -> list[Line]:
    peek = view.peek
    timers = f"T_min {seconds(peek.t_min)}, T_max {seconds(peek.t_max)}, {peek.groups} response group"
    owed = [answer for answer in peek.answers if answer.due or answer.asked]
    lacked = {answer.message_id for answer in owed} | {push.message_id for push in peek.pushes}
    lines = [*paragraph(_matter(view, len(lacked)), view.width), line("")]
    lines += [heading("what we miss"), line((f"  {timers}{'s' if peek.groups > 1 else ''}", "note"))]
    for missing in peek.missing[:_SHOWN]:
        lines += _asking(view, missing)
    if not peek.missing:
        lines.append(line(("  nothing", "acked")))
    if peek.doubted:
        named = " ".join(short(each) for each in peek.doubted[:_SHOWN])
        text = f"asked for, and not counted as missing, since only unsigned packets name it: {named}"
        lines += paragraph(text, view.width, "note", 2)
    lines += [line(""), heading("what others miss")]
    for answer in owed[:_SHOWN]:
        lines += _answering(view, answer)
    for push in peek.pushes[:_SHOWN]:
        whose = ", ".join(view.who(peer) for peer in push.wanted_by[:3])
        left = countdown(push.due - peek.now)
        lines.append(
            line((f"  {short(push.message_id)} ", "id"), (f"not in the filter of {whose}; sent again in {left}", "gap"))
        )
    if not owed and not peek.pushes:
        lines.append(line(("  nothing that we know of", "acked")))
    return lines + _over(view)


def _matter(view: ViewInput, owed: int) -> str:
    """Return one sentence: what is the matter, and when something is done about it."""
    peek = view.peek
    there = f"others lack {count(owed, 'message')} that we have" if owed else "nobody else is known to lack anything"
    if not peek.missing and peek.lost:
        return f"{count(len(peek.lost), 'message')} lost here. {LOST} For the rest, {there}."
    if not peek.missing:
        return f"Nothing is missing here, and {there}."
    here = f"{count(len(peek.missing), 'message')} missing here"
    waits = (RetrievalState.WAITING, RetrievalState.ASKED, RetrievalState.RELYING)
    due = [missing.due for missing in peek.missing if missing.asking in waits]
    if not peek.online:
        return f"{here}, and without a connection nobody can be asked; {there}."
    return f"{here}{f', asked for in {countdown(min(due) - peek.now)}' if due else ''}; {there}."


def _asking(view: ViewInput, missing: MissingMessage) -> list[Line]:
    peek, now = view.peek, view.peek.now
    author = view.who(missing.sender_id)
    lines = [
        line((f"  {short(missing.message_id)} ", "id"), (f"by {author}, for {duration(now - missing.since)}", "gap"))
    ]
    total = max(1, missing.due - missing.counts_from)
    left = missing.due - now
    if missing.asking in (RetrievalState.WAITING, RetrievalState.ASKED, RetrievalState.RELYING):
        what = {
            RetrievalState.WAITING: "asking",
            RetrievalState.ASKED: "asking again",
            RetrievalState.RELYING: "asking ourselves",
        }
        clocked = f"  {bar(1 - left / total, _BAR, view.glyphs)} T_req: {what[missing.asking]} in {countdown(left)}"
        lines.append(line("  ", (clocked, "gap")))
    if missing.asking is RetrievalState.RELYING:
        lines.append(line(("      relying on the request of another", "note")))
    elif missing.asking is RetrievalState.DUE:
        lines.append(line(("      T_req is over: goes with our next packet (a message or a sync message)", "maybe")))
    elif missing.asking is RetrievalState.OFF:
        lines.append(line(("      not asked for: there is no connection, or repair is off", "note")))
    if missing.attempts:
        lines.append(line((f"      asked {times(missing.attempts)}", "note")))
    lines += _steps(view, missing.message_id)
    lines += _who_answers(view, missing)
    lines.append(line((f"      given up in {duration(missing.lost_at - now)} of connection", "note")))
    waiting = " ".join(short(each.message_id) for each in missing.named_by[:4])
    if waiting:
        lines.append(line((f"      held up by it: {waiting}", "note")))
    return lines if peek.online else lines[:1] + lines[-1:]


def _who_answers(view: ViewInput, missing: MissingMessage) -> list[Line]:
    """Return the participants that would answer, and after how long, by the rules of SDS-R."""
    if not missing.sender_id:
        return []
    found = []
    for peer in missing.answerers:
        after = answers_after(view.peek, peer, missing.sender_id, missing.message_id)
        if after is not None:
            found.append((after, f"{view.who(peer)} {seconds(after)}"))
    if not found:
        return [line(("      nobody is here who may answer", "note"))]
    listed = ", ".join(text for _, text in sorted(found)[:4])
    return paragraph(f"T_resp, where a participant has it: {listed}", view.width, "note", 6)


def _steps(view: ViewInput, message_id: str) -> list[Line]:
    lines: list[Line] = []
    for timed in list(view.trace.steps.get(message_id, ()))[-6:]:
        text = _step(view, timed)
        if text:
            lines.append(line((f"      {clock(timed.at)} ", "time"), (text, "note")))
    return lines


def _step(view: ViewInput, timed: TimedEvent) -> str:
    match timed.body:
        case ev.DependenciesMissing(message_id=by):
            return f"{view.packet(by)} names it"
        case ev.RepairWanted(due=due):
            return f"to be asked for at {clock(due)}"
        case ev.RepairRequested(carrier=carrier):
            return f"asked, carried by {view.packet(carrier)}"
        case ev.RepairCancelled(reason=why):
            return _outcome(why)[0]
    return ""


def _answering(view: ViewInput, answer: AnswerPeek) -> list[Line]:
    who, now = view.who(answer.requested_by), view.peek.now
    lines = [line((f"  {short(answer.message_id)} ", "id"), (f"asked for by {who}", "gap"))]
    if answer.due:
        total = max(1, answer.due - answer.at)
        left = answer.due - now
        lines.append(
            line((f"    {bar(1 - left / total, _BAR, view.glyphs)} T_resp: answering in {countdown(left)}", "maybe"))
        )
    elif not answer.in_group:
        lines.append(line(("      not in our response group; if it is asked for again we may answer", "note")))
    return lines


def _over(view: ViewInput) -> list[Line]:
    """Return the last repairs that ended, with success or without."""
    ended: list[Line] = []
    for timed in reversed(view.trace.events):
        if len(ended) == _PAST:
            break
        shown = _ended(view, timed)
        if shown is not None:
            ended.append(line((f"  {clock(timed.at)} ", "time"), shown))
    return [line(""), heading("lately"), *ended] if ended else []


def _ended(view: ViewInput, timed: TimedEvent) -> tuple[str, str] | None:
    match timed.body:
        case events.MessageDelivered(via="repair", said=said):
            return f"{short(said.message.message_id)} repaired, by {view.who(said.message.sender_id)}", "acked"
        case ev.RepairResponded(message_id=answered):
            return f"{short(answered)} answered by us", "acked"
        case ev.RepairCancelled(message_id=ended, reason=why):
            text, style = _outcome(why)
            return f"{short(ended)} {text}", style
        case ev.Pushed(message_id=pushed):
            return f"{short(pushed)} sent again for a filter that lacked it", "note"
        case ev.DependenciesLost(dependencies=lost):
            return f"{' '.join(map(short, lost[:3]))} lost", "lost"
    return None
