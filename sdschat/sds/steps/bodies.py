"""Bodies of messages that the log has by their ids alone.

    receive_body(s, message, raw, source)     one message that its caller has verified and wants in full
    displace_false(s, message, raw, source)   the same, for an id under which there is another message
    put_off(s, message, raw, source)          either, for what is not saved yet
    doubt(s, message_id)                      another message than is here is said to have this id
    forget_bodies(s, ids)                     bodies are deleted on disk, and the ids stay

The message takes its place in the log as one that comes late: it is delivered at once, with the dependencies that are
not here as its gap, and from then on it is a message like any other. If it is dated otherwise than the id was, it is
the id that was wrong. What it says about its sender may be old: only the messages that it names are acknowledged, if
its author signed it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.sds.ids import recipe_of
from sdschat.sds.limits import DOUBTED_AT_A_TIME, DOUBTED_TRIES, EARLY
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.acks import review_mentions
from sdschat.sds.steps.deliver import abandon, deliver_body, gap_now, verify_dependencies
from sdschat.sds.steps.due_sends import heard_copy
from sdschat.sds.steps.filters import spoil_filter
from sdschat.sds.values import TOLD, WITHOUT_A_BODY, Entry, HistoryEntry, Message, Reason


def receive_body(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """True if the message is in the log in full now. False for one whose id is not saved yet: it is too early for its
    body; and for one that is refused, of which a `Rejected` event tells."""
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    id_only = s.delivered(message_id)
    if id_only is None or not id_only.bare or message_id in s.unsaved:
        return False
    if id_only.generation == TOLD and recipe_of(message) == "foreign":
        return False  # anybody could write it under this id
    reason, parent = _refused(s, message, lamport), ""
    if reason is None and (parent := verify_dependencies(s, message, lamport).parent_too_new):
        reason = Reason.CLOCK_NOT_ABOVE_PARENT
    if reason is not None:
        s.reject(reason, message.sender_id, message_id, parent)
        return False
    _take_place(s, message, raw, source, id_only)
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
    waiting = s.incoming.pop(message_id)
    if waiting is not None:  # nothing stands in the way of the true one now; but it may be refused for other reasons
        s.requests.pop(message_id)
        abandon(s, message_id, message.sender_id)
        spoil_filter(s)
        return False
    false = s.delivered(message_id)
    reason = _refused(s, message, message.lamport_timestamp or 0)
    if false is None or reason is not None:
        return False
    heard_copy(s, message_id)
    _take_place(s, message, raw, source, false)
    return True


def _take_place(s: ChannelState, message: Message, raw: bytes, source: str, instead_of: Entry) -> None:
    note_old(s, message)
    deliver_body(s, message, raw, source, gap_now(s, message), instead_of)
    s.refetch.remove(message.message_id)


def put_off(s: ChannelState, message: Message, raw: bytes, source: str) -> bool:
    """True if a message is to take the place of one that is not saved yet, and waits for that: its copies may never
    come."""
    row = s.unsaved.get(message.message_id)
    if row is None or recipe_of(message) == "foreign" or not (row.entry.generation == TOLD or _is_false(s, message)):
        return False
    if len(s.early) < EARLY:
        s.early[message.message_id] = message, raw, source, s.unproven
    return True


def note_old(s: ChannelState, message: Message) -> None:
    """Take what holds for good of an old message: the acknowledgements in its causal history, if its author signed it,
    and its hints."""
    review_mentions(s, message)
    s.learn_hints(message)


def doubt(s: ChannelState, message_id: str) -> bool:
    """Ask for the message of which an id is made, if what is here under it is not that one. Everybody takes us to have
    it, so that nobody sends it unless asked. False: too many are asked for."""
    if not s.refetch.has_room(DOUBTED_AT_A_TIME):
        return False
    entry, ours = s.delivered(message_id), s.packet_of(message_id)
    if entry is None or not s.config.repair_enabled:
        return True
    known = None if ours is None else s.codec.decode(ours[0])
    false = entry.generation == TOLD if ours is None else isinstance(known, Message) and s.may_be_of_another(known)
    if false and message_id not in s.refetch:
        s.refetch.make_room(DOUBTED_AT_A_TIME)
        s.refetch.want(HistoryEntry(message_id, None, entry.sender_id), s.now.mono + s.config.t_min, DOUBTED_TRIES)
    return True


def conflicts(s: ChannelState, message: Message, raw: bytes) -> bool:
    """True if a duplicate has other content than the message we hold under its id. The first one stands.

    A body that is gone cannot be compared; others rebroadcast with other bytes but the same content.
    """
    ours = s.packet_of(message.message_id)
    if ours is None or ours[0] == raw:
        return False
    known = s.codec.decode(ours[0])
    return isinstance(known, Message) and known.content != message.content


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


def _refused(s: ChannelState, message: Message, lamport: int) -> Reason | None:
    reason = s.never_in_log(message)
    if reason is None and lamport > s.now.wall + s.config.max_skew:
        reason = Reason.OVER_LIMIT
    return reason
