"""Check of a message's causal dependencies (spec: Receive Message), and the buffer for messages with unmet ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sdschat.sds.events import DependenciesMissing
from sdschat.sds.incoming import BufferedMessage
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.deliver import abandon, deliver_message, end_waiting, may_wait
from sdschat.sds.steps.filters import spoil_filter
from sdschat.sds.steps.requests import note_missing
from sdschat.sds.values import HistoryEntry, Message, Reason


class Dependencies:
    """State here of the messages in a causal history."""

    __slots__ = ("buffered", "gap", "parent_too_new", "unknown")

    def __init__(self) -> None:
        self.buffered: list[str] = []  # here, but not delivered
        self.gap: list[str] = []  # not waited for
        self.unknown: list[HistoryEntry] = []
        self.parent_too_new = ""

    @property
    def unmet(self) -> bool:
        return bool(self.unknown or self.buffered)


_ALL_MET: Final = Dependencies()  # never changed


def verify_dependencies(s: ChannelState, message: Message, lamport: int) -> Dependencies:
    """Dependencies are met if they appear in the local history. Nothing is changed here.

    What an old message depends on is older still: below the join horizon nothing is waited for, which ends every
    walk into the past at the first message from before our joining.
    """
    near, buffered = s.window.entries, s.incoming.buffered
    for entry in message.causal_history:  # nearly always all are here, and older
        parent = near.get(entry.message_id)
        if parent is None or parent.lamport >= lamport:
            break
    else:
        return _ALL_MET
    found = Dependencies()
    for entry in message.causal_history:
        message_id = entry.message_id
        parent = near.get(message_id) or s.delivered(message_id)
        if parent is not None:
            if parent.lamport >= lamport:
                found.parent_too_new = message_id
        elif message_id in buffered and not (
            buffered[message_id].release_at and buffered[message_id].lamport >= lamport
        ):
            if buffered[message_id].lamport >= lamport:
                found.parent_too_new = message_id
            found.buffered.append(message_id)
        elif lamport <= s.horizon or message_id in s.gaps or s.requests.only_asked_for(message_id):
            found.gap.append(message_id)
        else:
            found.unknown.append(entry)
    return found


def learn_hints(s: ChannelState, message: Message) -> None:
    """Learn the Store hints of this message. Only once the message is accepted: a refused one changes nothing."""
    for entry in message.causal_history:
        if entry.retrieval_hint is not None:
            s.learn_hint(entry.message_id, entry.retrieval_hint)


def wait_for_none(s: ChannelState, message: Message, found: Dependencies) -> bool:
    """The first message of a log: what it depends on is most likely from before our joining, so it and what follows it
    are not held up. But it may also be lost, so it is asked for, and without anti-entropy, which finds what was lost
    since we joined whoever asks, it is waited for after all."""
    if s.window.order or not s.config.push_enabled or found.buffered:
        return False
    new: list[str] = []
    for entry in reversed(found.unknown):
        message_id = entry.message_id
        known = s.requests.missing.get(message_id)
        if known is not None:  # a sync message named it
            s.requests.awaits_none(known)
        elif note_missing(s, entry, message.sender_id, ask=message_id not in s.incoming.buffered, awaited=False):
            new.append(message_id)
    found.gap = [*found.gap, *(entry.message_id for entry in found.unknown)]
    found.unknown = []
    if new:
        s.events.append(DependenciesMissing(message.message_id, tuple(new)))
    return True


def make_room(s: ChannelState, message: Message, size: int) -> bool:
    """Room in the incoming buffer, at the expense of whoever fills it; false, with nothing changed, if that is this
    message: it is its sender's newest, or nobody holds more than its sender."""
    victims = s.incoming.to_give_up(message, size)
    if victims is None:
        s.reject(Reason.BUFFER_QUOTA, message.sender_id, message.message_id)
        return False
    for victim in victims:
        gone = s.incoming.take(victim)
        assert gone is not None
        s.reject(Reason.BUFFER_QUOTA, gone.message.sender_id, victim)
        abandon(s, victim, gone.message.sender_id)
        spoil_filter(s)
    return True


def name_gap(message: Message, gap: Collection[str]) -> tuple[str, ...]:
    """Return the ids that the message goes without, in the order in which it names them."""
    if not gap:
        return ()
    return tuple(entry.message_id for entry in message.causal_history if entry.message_id in gap)


def buffer_message(
    s: ChannelState, message: Message, raw: bytes, source: str, found: Dependencies, received_at: int
) -> None:
    """Unmet dependencies: into the incoming buffer. Where a sender names more than its share of unknown ids, this one
    message goes without the rest."""
    buffered = BufferedMessage(message, raw, source, received_at)
    buffered.generation = s.filter.generation
    buffered.gap = list(name_gap(message, found.gap))
    buffered.unmet = dict.fromkeys(found.buffered)
    new: list[str] = []
    waits = may_wait(s, message.sender_id)
    for entry in reversed(found.unknown):  # the newest first: the oldest are the likeliest to be gone
        message_id, known = entry.message_id, entry.message_id in s.requests.missing
        has_room = note_missing(s, entry, message.sender_id, ask=message_id not in s.incoming.buffered)
        if has_room and waits:
            buffered.unmet[message_id] = None
        else:
            buffered.gap.append(message_id)
        if has_room and not known:
            new.append(message_id)
    if new:
        s.events.append(DependenciesMissing(message.message_id, tuple(new)))
    if buffered.unmet:
        s.incoming.put(buffered)
        refuse_older_children(s, buffered)
    else:
        gap = name_gap(message, buffered.gap)
        deliver_message(s, message, raw, source, gap, buffered.generation, received_at)
    if waits:
        end_waiting(s, message.sender_id)


def refuse_older_children(s: ChannelState, parent: BufferedMessage) -> None:
    """Refuse what waits for a buffered message and is not dated after it: sooner than when the parent is delivered,
    because the parent may itself wait for such a child, and then neither would ever be delivered."""
    message_id = parent.message.message_id
    for child_id in list(s.incoming.waiting_for.get(message_id, ())):
        child = s.incoming.buffered.get(child_id)
        if child is None or child.lamport > parent.lamport:
            continue
        s.incoming.take(child_id)
        s.reject(Reason.CLOCK_NOT_ABOVE_PARENT, child.message.sender_id, child_id, message_id)
        abandon(s, child_id, child.message.sender_id)
        spoil_filter(s)
