"""The view that explains the state of a message: every step of its acknowledgement, with the cause."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from sdschat.node import events
from sdschat.node.events import ev
from sdschat.node.view.values import AckState, Evidence, Message, MessageKind, Shown
from sdschat.tui.lens.trace import UNPROVEN, PacketSeen, TimedEvent
from sdschat.tui.lens.view_input import LOST, Line, ViewInput, heading, line, paragraph, seconds
from sdschat.tui.model.delivery import delivery_sentence, journey_sentence
from sdschat.tui.model.words import clean, clock, count, countdown, duration, ordinal, short, times

_STATES: Final = {AckState.UNACKED: "unacked", AckState.POSSIBLY_ACKED: "maybe", AckState.ACKED: "acked"}
_WORDS: Final = {
    AckState.UNACKED: "unacked",
    AckState.POSSIBLY_ACKED: "perhaps",
    AckState.ACKED: "acked",
}
_NOT_SURE: Final = {  # why our own message is sent again, by its state
    AckState.UNACKED: "for nobody has acknowledged it",
    AckState.POSSIBLY_ACKED: "for it is acknowledged only perhaps",
    AckState.ACKED: "for it was not acknowledged",
}
_WAYS: Final = {
    "live": "received as it was sent",
    "repair": "came by repair, as the answer to a request",
    "sync": "came by sync",
    "store": "came by store, from a Store",
}
_QUIET: Final = 60_000
_LATER: Final = 16  # messages of a participant that are looked at
_STEPS: Final = 200  # messages in between that are followed
_NO_ANSWER: Final = {  # why a planned answer of ours was not sent
    "answered_by_other": "another sent it",
    "peer_has_it": "who asked has it by now",
    "resent": "we sent it again",
    "pushed": "we sent it again",
    "no_body": "its packet is not kept any more",
}
_NO_REQUEST: Final = {  # why a planned request of ours was not sent, or is not repeated
    "received": ("arrived: we ask no more", "acked"),
    "arrived_before_due": ("arrived before we had to ask", "acked"),
    "requested_by_other": ("another asked for it first", "note"),
    "lost": ("given up: we ask no more", "lost"),
    "unproven": ("given up: only unsigned packets named it", "lost"),
}


def view(view: ViewInput) -> list[Line]:
    chosen = view.selection or _newest_own(view)
    if chosen is None:
        return paragraph("Select a message (Alt+Up), or name one: /why a3f9. Of yours none is here.", view.width)
    shown = view.message(chosen)
    head = f"message {short(chosen, 8)}"
    lines = [heading(head if shown is None else f"{head} by {view.who(shown.sender_id)}")]
    if shown is not None and (text := view.text_of(chosen, view.width - 4)):
        lines.append(line((f"  {text}", "quote")))
    lines += _own(view, shown) if shown is not None and shown.own else _foreign(view, chosen, shown)
    return lines


def _newest_own(view: ViewInput) -> str | None:
    """Return the newest message of ours that the trace remembers."""
    own = (entry for entry in view.trace.log.values() if entry.sender_id == view.peek.me)
    newest = max(own, key=lambda entry: (entry.lamport, entry.message_id), default=None)
    return None if newest is None else newest.message_id


def _own(view: ViewInput, shown: Shown) -> list[Line]:
    if view.journey is not None:
        peek = view.peek
        sentence = journey_sentence(view.journey(shown.message_id), shown.received_at, peek.now, connected=peek.online)
        return paragraph(sentence, view.width, indent=2)
    message_id, fate = shown.message_id, view.fate(shown.message_id)
    if fate is None:
        return paragraph("Nothing is remembered of its acknowledgement.", view.width)
    sign = {AckState.UNACKED: view.glyphs.unacked, AckState.POSSIBLY_ACKED: view.glyphs.maybe}
    signed = f"{sign.get(fate.state, view.glyphs.acked)} {_WORDS[fate.state]}"
    taken = _is_taken(view, message_id)
    queued = fate.state is AckState.UNACKED and not (fate.sends and taken)
    sent = f"sent {times(fate.sends)}" if taken else "not taken by the broker yet"
    sentence = delivery_sentence(
        fate,
        view.people(),
        shown.received_at,
        view.peek.now,
        only_member=view.only_member,
        connected=view.peek.online,
        taken=taken,
    )
    lines = [
        *paragraph(sentence, view.width, indent=2),
        line(
            "  ",
            (f"{view.glyphs.queued} queued".lstrip() if queued else signed.lstrip(), _STATES[fate.state]),
            (f", {sent}" if fate.sends else ", not sent yet", "note"),
        ),
    ]
    lines += _timeline(view, message_id, fate.evidence)
    lines += _why_only_perhaps(view, message_id, fate.evidence)
    now = view.peek.now
    if fate.state is AckState.ACKED:
        return lines
    if fate.due and view.peek.online:
        again = f"next: sent again in {countdown(fate.due - now)} unless acknowledged"
        lines += paragraph(again, view.width, "note", 2)
    return lines + _what_is_needed(view)


def _is_taken(view: ViewInput, message_id: str) -> bool:
    """Return False for a message that was written in this run, and that the broker did not take yet."""
    steps = [timed.body for timed in view.trace.steps.get(message_id, ())]
    written = any(isinstance(body, events.MessageDelivered) for body in steps)
    return not written or any(isinstance(body, events.HandedOver) for body in steps)


def _why_only_perhaps(view: ViewInput, message_id: str, evidence: tuple[Evidence, ...]) -> list[Line]:
    """Explain why a later message, which somebody is known to have, is no proof that they have the one before it."""
    for piece in evidence:
        trace = view.trace.peers.get(piece.sender_id)
        if piece.proven or trace is None:
            continue
        has = (one for one, how in reversed(trace.proven.items()) if how != UNPROVEN)
        later = next((one for one in islice(has, _LATER) if _comes_after(view, one, message_id)), None)
        if later is not None:
            who = view.who(piece.sender_id)
            text = (
                f"{who} is known to have {short(later)}, which follows it. This proves nothing here: a program that "
                "joined in between, or gave this one up as lost, has the later one without it."
            )
            return paragraph(text, view.width, indent=2)
    return []


def _comes_after(view: ViewInput, later: str, message_id: str) -> bool:
    """True if a message depends on another one, as far as the trace remembers the messages in between."""
    waiting, seen = [later], {later}
    while waiting and len(seen) < _STEPS:
        found = view.trace.log.get(waiting.pop())
        for before in () if found is None else found.dependencies:
            if before == message_id:
                return True
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return False


def _what_is_needed(view: ViewInput) -> list[Line]:
    """Explain, for a message that is not acknowledged, why no acknowledgement comes."""
    peek = view.peek
    if not peek.online:
        return paragraph(
            "There is no connection. It is saved here, and goes out when there is one.", view.width, indent=2
        )
    heard = max((peer.heard_at for peer in peek.peers), default=0)
    if not heard:
        return paragraph(
            "Nobody else was heard in this channel yet: there is nobody to acknowledge it.", view.width, indent=2
        )
    silent = peek.now - heard
    text = f"Acknowledgements come with others' packets. Last heard one {duration(silent)} ago."
    if silent > _QUIET:
        text += f" In a silent channel everybody speaks about every {seconds(peek.sync_interval)}."
    return paragraph(text, view.width, indent=2)


def _timeline(view: ViewInput, message_id: str, evidence: tuple[Evidence, ...]) -> list[Line]:
    """Return the steps seen in this run, and the evidence saved by earlier ones, by time."""
    steps = list(view.trace.steps.get(message_id, ()))
    seen = {
        (timed.body.evidence.sender_id, timed.body.evidence.how)
        for timed in steps
        if isinstance(timed.body, ev.StateChanged) and timed.body.evidence is not None
    }
    found = [(timed.at, step) for timed in steps if (step := _step(view, timed))]
    found += [(piece.at, _witness(view, None, piece)) for piece in evidence if (piece.sender_id, piece.how) not in seen]
    return _by_time(sorted(found, key=lambda step: step[0]), view.width)


def _by_time(found: list[tuple[int, tuple[str, str]]], width: int) -> list[Line]:
    """Return a line for each step; steps in the same words that follow one another are one line, with their number."""
    lines: list[Line] = []
    for (text, style), same in groupby(found, key=itemgetter(1)):
        when = [at for at, _ in same]
        again = f" ({times(len(when))}, the last at {clock(when[-1])})" if len(when) > 1 else ""
        lines += _stamped(when[0], text + again, style, width)
    return lines


def _stamped(at: int, text: str, style: str, width: int) -> list[Line]:
    stamp = f"  {clock(at)}.{at % 1000:03d} "
    rest = paragraph(text, width, style, len(stamp))
    first = rest[0][0][0][len(stamp) :]
    return [line((stamp, "time"), (first, style)), *rest[1:]]


def _step(view: ViewInput, timed: TimedEvent) -> tuple[str, str] | None:
    match timed.body:
        case events.MessageDelivered():
            return "written: saved here, in the log", "note"
        case events.HandedOver():
            return "handed to the broker; it is not known yet who has it", "note"
        case events.NotPublished(detail=detail):
            return f"not sent: {clean(detail, limit=200)}", "refused"
        case ev.MessageResent(state=state, sends=sends):
            return f"sent again, the {ordinal(sends)} time: a resend, {_NOT_SURE[state]}", "note"
        case ev.StateChanged(state=state, evidence=evidence) if evidence is not None:
            return _witness(view, state, evidence)
        case ev.RepairScheduled(requested_by=asker, due=due):
            return f"{view.who(asker)} asks for it; we answer in {seconds(due - timed.at)}", "gap"
        case ev.RepairResponded():
            return "sent again: the answer to a request", "gap"
        case ev.RepairCancelled(reason=why):
            return _NO_REQUEST.get(why) or (f"no answer of ours: {_NO_ANSWER.get(why) or clean(why, limit=40)}", "note")
        case ev.PushScheduled(wanted_by=peer):
            return f"the filter of {view.who(peer)} lacks it", "gap"
        case ev.Pushed():
            return "sent again: a push, for a filter that lacked it", "note"
    return None


def _witness(view: ViewInput, state: AckState | None, evidence: Evidence) -> tuple[str, str]:
    who, packet = view.who(evidence.sender_id), view.packet(evidence.packet_id)
    if evidence.how == "mention":
        cause, style = (
            f"{who} names it in {f'the causal history of {packet}' if packet else 'a causal history'}",
            "acked",
        )
    elif evidence.how == "range":
        cause, style = f"the log of {who} equals ours over a range with it", "acked"
    else:
        rate = evidence.error_rate  # 0, and no packet, in what is played from a page: it has neither
        wrong = f"wrong once in {_once(rate)}" if rate else "how often that is wrong is not known here"
        where = f"the filter that {who} sent with {packet}" if packet else f"a filter of {who}"
        cause = f"it is in {where} ({wrong})"
        style = "maybe"
    if not evidence.signed:
        return f"unproven: {cause}, and nobody signed that", "maybe"
    if state is None:  # from an earlier run: take the state that this evidence alone leads to
        state = AckState.POSSIBLY_ACKED if style == "maybe" else AckState.ACKED
    return f"{_WORDS[state]}: {cause}", style


def _once(rate: float) -> str:
    return f"{1 / rate:,.0f}" if rate > 1e-12 else "never"


def _foreign(view: ViewInput, message_id: str, shown: Shown | None) -> list[Line]:
    """Explain a message of another participant, or one that is not here."""
    lines: list[Line] = []
    if shown is not None:
        way = _WAYS.get(shown.via, f"came by {shown.via}")
        cause = f": {unasked(view, shown)}" if shown.via == "sync" else ""
        when = clock(shown.received_at or view.peek.now)
        lines += paragraph(f"{way}, {when}{cause}", view.width, indent=2)
        if shown.dependencies:
            names = " ".join(short(each) for each in shown.dependencies)
            lines += paragraph(f"names {names} as what came before it", view.width, indent=2)
    missing = next((each for each in view.peek.missing if each.message_id == message_id), None)
    if missing is not None:
        lines += paragraph("missing here: see /lens repair", view.width, "gap", 2)
    lines += _waiting(view, message_id)
    if message_id in view.peek.lost:
        lines += paragraph(LOST, view.width, "lost", 2)
    steps = _causes_first(view.trace.steps.get(message_id, ()))
    found = [(timed.at, step) for timed in steps if (step := _arrival(view, message_id, timed))]
    return lines + _by_time(found, view.width)


def _waiting(view: ViewInput, message_id: str) -> list[Line]:
    """Say what keeps a message, which is here, out of the log."""
    held = next((each for each in view.peek.buffered if each.message_id == message_id), None)
    if held is None:
        return []
    if held.release_at:
        text = f"dated too far ahead: kept back until {clock(held.release_at)}"
    else:
        text = f"not in the log yet: waits for {' '.join(short(each) for each in held.unmet)}"
    return paragraph(text, view.width, "gap", 2)


def unasked(view: ViewInput, shown: Shown) -> str:
    """Return why a message came that nobody here had asked for, as far as the packets show it: a copy that its author
    resends and one that is pushed are the same bytes."""
    packets = view.trace.packets
    came = next((each for each in packets if not each.out and _content_of(each) == shown.message_id), None)
    if came is None:
        return "nobody here had asked for it"
    if came.why == "sync":
        return "a comparison of the logs showed that it was missing here"
    ahead = view.trace.peer(shown.sender_id).offset or 0
    written = shown.lamport - max(0, ahead)
    if packets[0].at < written and not any(each.out and written <= each.at <= came.at for each in packets):
        others = any(peer.sender_id != shown.sender_id for peer in view.peek.peers)
        also = ", or sent again for another participant" if others else ""
        return f"a resend of its author{also}; no filter of ours went out meanwhile that could have lacked it"
    return "sent again without a request of ours: a resend of its author, or a push, for a filter lacked it"


def _content_of(seen: PacketSeen) -> str:
    """Return the id of the message with content in a packet; empty for other packets."""
    message = seen.message
    return message.message_id if isinstance(message, Message) and message.kind is MessageKind.CONTENT else ""


def _causes_first(steps: Iterable[TimedEvent]) -> list[TimedEvent]:
    """Return the steps by time; of those at one moment, the packet that names a message before what follows from that.
    An end of asking that the event of the same moment tells too is left out."""
    listed = sorted(steps, key=lambda timed: (timed.at, not isinstance(timed.body, ev.DependenciesMissing)))
    told = {timed.at for timed in listed if isinstance(timed.body, events.MessageDelivered | ev.DependenciesLost)}
    ends = ("received", "lost")
    return [
        timed
        for timed in listed
        if not (isinstance(timed.body, ev.RepairCancelled) and timed.body.reason in ends and timed.at in told)
    ]


def _arrival(view: ViewInput, message_id: str, timed: TimedEvent) -> tuple[str, str] | None:
    match timed.body:
        case events.MessageDelivered(late=late, gap=gap):
            text = "took its place in the log" + (", before what was there already" if late else "")
            return text + (f", without {count(len(gap), 'message')} that nobody gave us" if gap else ""), "acked"
        case ev.DependenciesMissing(message_id=by):
            if by == message_id:
                return "waits: what it names is not here", "gap"
            return f"{view.packet(by)} names it, and it is not here", "gap"
        case ev.DependenciesLost():
            return "given up", "lost"
        case ev.GapClosed():
            return "came after it had been given up", "acked"
        case ev.DuplicateReceived():
            return "came once more", "note"
        case ev.RepairWanted(due=due):
            return f"we ask in {seconds(due - timed.at)} (T_req) unless it comes or another asks", "gap"
        case ev.RepairRequested(carrier=carrier):
            return f"asked for, with our packet {view.packet(carrier)}", "gap"
        case ev.MessageDeferred(due=due):
            return f"dated ahead: waits until {clock(due)}", "late"
    return _step(view, timed)
