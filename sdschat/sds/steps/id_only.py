"""Messages of which the log has only the id: those that exceed what is kept of their sender, and bodies that come
later.

    receive_id(s, message)                    one message that its caller has verified and does not want in full
    receive_told(s, lamport, id, sender)      one of which another participant keeps no more, and that nobody gave
    receive_body(s, message, raw, source)     one message that its caller has verified and wants in full
    displace_false(s, message, raw, source)   the same, for an id under which there is another message
    forget_bodies(s, ids)                     bodies are deleted on disk, and the ids stay

So the logs of all participants who hear the message stay equal as sets, and their comparisons stay quiet, while nothing
is spent on the message: it does not wait for dependencies, none of them is asked for, nothing that it says about its
sender is reviewed, it is not sent again for anybody, and none of our messages names it. Messages that wait for it are
released.

The message is checked like any other, and a refused one changes nothing. What is no message of the log, or is dated too
far ahead to be in it now, cannot be kept as an id, and is refused; so is what is dated before `IDS_KEPT`, since ids of
that age are deleted everywhere.

A message whose body comes takes its place in the log as one that comes late: it is delivered at once, with the
dependencies that are not here as its gap, and from then on it is a message like any other. If it is dated otherwise
than the id was, it is the id that was wrong. What it says about its sender is old, and is not reviewed.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.sds.events import DuplicateReceived, GapClosed, KeptAsId
from sdschat.sds.ids import recipe_of
from sdschat.sds.limits import IDS_KEPT, out_of_bounds
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.deliver import abandon, deliver_body, learn_hints, release, verify_dependencies
from sdschat.sds.steps.filters import include_received, spoil_filter
from sdschat.sds.steps.owed import heard_copy
from sdschat.sds.steps.repair import received
from sdschat.sds.values import TOLD, WITHOUT_A_BODY, Append, Entry, LogRow, Message, MessageKind, Reason


def receive_id(s: ChannelState, message: Message) -> None:
    """Put the id of a message into the log, unless it is there already."""
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    reason = _refused(s, message, lamport)
    if reason is not None:
        s.reject(reason, message.sender_id, message_id)
        return
    if s.holds(message_id):
        heard_copy(s, message_id)
        s.events.append(DuplicateReceived(message_id, message.sender_id))
        return
    parent = verify_dependencies(s, message, lamport).parent_too_new
    if parent:
        s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, message.sender_id, message_id, parent)
        return
    received(s, message_id)
    _into_log(s, message, lamport, WITHOUT_A_BODY)
    include_received(s, message_id, lamport)
    s.note_arrival(message_id)
    if message_id in s.incoming.waiting_for:
        release(s, s.incoming.meet(message_id, gap=False))


def receive_told(s: ChannelState, lamport: int, message_id: str, sender_id: str, *, of_any_age: bool = False) -> None:
    """Put the id of a message into the log that was never seen here. Nothing happens if it is here, or cannot be.
    `of_any_age`: ids are not deleted, since the messages are not for us."""
    message = Message(sender_id, message_id, s.channel_id, lamport)
    dated = (0 if of_any_age else s.now.wall - IDS_KEPT) <= lamport <= s.now.wall + s.config.max_skew
    if s.holds(message_id) or sender_id == s.participant_id or not dated or out_of_bounds(lamport) is not None:
        return
    received(s, message_id)
    _into_log(s, message, lamport, TOLD)
    include_received(s, message_id, lamport)
    if message_id in s.incoming.waiting_for:
        release(s, s.incoming.meet(message_id, gap=False))


def _refused(s: ChannelState, message: Message, lamport: int) -> Reason | None:
    if message.channel_id != s.channel_id:
        return Reason.OTHER_CHANNEL
    if message.kind is not MessageKind.CONTENT:
        return Reason.OVER_LIMIT
    if message.sender_id == s.participant_id and not s.holds(message.message_id):
        return Reason.OWN_ID_UNKNOWN
    if not s.now.wall - IDS_KEPT <= lamport <= s.now.wall + s.config.max_skew:
        return Reason.OVER_LIMIT
    return out_of_bounds(lamport)


def _into_log(s: ChannelState, message: Message, lamport: int, how: int) -> None:
    message_id = message.message_id
    s.clock.observe(lamport)
    entry = Entry(lamport, message_id, message.sender_id, (), how)
    gone_without = s.window.awaits(message_id)
    if s.window.covers(entry):
        s.window.insert(entry)
    row = LogRow(entry, b"", False, "live", s.now.wall)
    s.unsaved[message_id] = row
    s.writes.append(Append(row))
    if (message_id in s.gaps and s.gaps.close(message_id)) or gone_without:
        s.events.append(GapClosed(message_id))
    s.events.append(KeptAsId(message, how == TOLD))


def receive_body(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """True if the message is in the log in full now. False for one whose id is not saved yet: it is too early for its
    body; and for one that is refused, of which a `Rejected` event tells."""
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    id_only = s.delivered(message_id)
    if id_only is None or not id_only.bare or message_id in s.unsaved:
        return False
    if id_only.generation == TOLD and recipe_of(message) == "foreign":
        return False  # anybody could write it under this id
    reason = _body_refused(s, message, lamport)
    if reason is None and verify_dependencies(s, message, lamport).parent_too_new:
        reason = Reason.CLOCK_NOT_ABOVE_PARENT
    if reason is not None:
        s.reject(reason, message.sender_id, message_id)
        return False
    learn_hints(s, message)
    gap = tuple(entry.message_id for entry in message.causal_history if s.delivered(entry.message_id) is None)
    deliver_body(s, message, raw, source, gap, id_only)
    return True


def forget_bodies(s: ChannelState, ids: Iterable[str]) -> None:
    """Go on with the ids alone of messages whose bodies are no longer kept: from now on we name none of them, because
    nobody could get them from us."""
    for message_id in ids:
        entry = s.window.entries.get(message_id)
        if entry is not None:
            s.window.withdraw(entry)
            s.window.insert(Entry(entry.lamport, message_id, entry.sender_id, (), WITHOUT_A_BODY))


def displace_false(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """Let a message whose id is made of it take the place of one whose id is not, if such a one is here: it was put
    there by somebody who heard the id before. True if it did. What waits for its dependencies just goes."""
    message_id = message.message_id
    if message_id in s.unsaved or not _is_false(s, message):
        return False
    waiting = s.incoming.take(message_id)
    if waiting is not None:  # nothing stands in the way of the true one now; but it may be refused for other reasons
        s.requests.take(message_id)
        abandon(s, message_id, message.sender_id)
        spoil_filter(s)
        return False
    false = s.delivered(message_id)
    reason = _body_refused(s, message, message.lamport_timestamp or 0)
    if false is None or reason is not None:
        return False
    gap = tuple(entry.message_id for entry in message.causal_history if s.delivered(entry.message_id) is None)
    deliver_body(s, message, raw, source, gap, false)
    return True


def _is_false(s: ChannelState, message: Message) -> bool:
    """True if what is here under the id of this message cannot be meant by it, and this one can."""
    ours = s.packet_of(message.message_id)
    known = None if ours is None else s.codec.decode(ours[0])
    return (
        isinstance(known, Message)
        and known.content != message.content
        and recipe_of(known) == "foreign"
        and recipe_of(message) != "foreign"
    )


def _body_refused(s: ChannelState, message: Message, lamport: int) -> Reason | None:
    if message.channel_id != s.channel_id:
        return Reason.OTHER_CHANNEL
    if message.kind is not MessageKind.CONTENT:
        return Reason.NO_KIND
    if lamport > s.now.wall + s.config.max_skew:
        return Reason.OVER_LIMIT
    return out_of_bounds(lamport)
