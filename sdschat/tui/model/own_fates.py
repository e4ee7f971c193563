"""The states of own messages: what the node said of them, and how the rows that stand for them follow."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sdschat.node.view.conversation import Conversation
from sdschat.node.view.members import MembersConversation
from sdschat.node.view.values import AckState
from sdschat.tui.model.from_events import phase_of
from sdschat.tui.model.items import Fate, MessageItem, Phase

_MEMBERS_PHASES: Final = {
    "queued": Phase.QUEUED,
    "sent": Phase.UNACKED,
    "written": Phase.UNACKED,
    "known": Phase.MAYBE,
    "settled": Phase.ACKED,
}


def members_fate(words: str) -> Fate:
    """Return the state of an own post of a members' channel from its words, such as `known 2 of 3`."""
    return Fate(_MEMBERS_PHASES.get(words.partition(" ")[0], Phase.ACKED), word=words)


class OwnFates:
    """The states of own messages that are not acknowledged yet, by message id."""

    def __init__(self) -> None:
        self._open: dict[str, Fate] = {}

    def queued(self, message_id: str) -> None:
        self._open[message_id] = Fate(Phase.QUEUED)

    def read(self, entry: MessageItem, conversation: Conversation) -> Fate:
        """Return the state of an own message, from the node where it is not known here."""
        known = self._open.get(entry.message_id)
        if known is not None:
            return known
        if isinstance(conversation, MembersConversation):
            return members_fate(conversation.delivery(entry.message_id))
        assert entry.fate is not None
        own = conversation.remembered(entry.message_id)
        if own is None:
            return entry.fate
        phase = phase_of(own.state)
        if own.state is AckState.UNACKED and not own.sends:
            phase = Phase.QUEUED
        signed = [found for found in own.evidence if found.signed]
        by = sum(found.proven is (phase is Phase.ACKED) for found in signed)
        fate = Fate(phase, by, len(own.evidence) - len(signed))
        if phase < Phase.ACKED:
            self._open[entry.message_id] = fate
        return fate

    def move(self, message_id: str, to: Fate, row: MessageItem | None) -> MessageItem | None:
        """Take a state that the node told. Return the row as it is now, or None if it stays as it is."""
        before = self._open.get(message_id, Fate(Phase.QUEUED))
        return self._put(message_id, before.moved(to.phase, to.by, to.unproven), row)

    def refuse(self, message_id: str, detail: str, row: MessageItem | None) -> MessageItem | None:
        """Take a message that the broker did not accept. Return the row as it is now, or None if it stays."""
        before = self._open.get(message_id, Fate(Phase.UNACKED))
        return self._put(message_id, before.refuse(detail), row)

    def _put(self, message_id: str, fate: Fate, row: MessageItem | None) -> MessageItem | None:
        changed = None
        if row is not None and row.fate is not None:
            fate = fate.moved(row.fate.phase, row.fate.by, row.fate.unproven)
            if fate != row.fate:
                changed = replace(row, fate=fate)
        if fate.phase is Phase.ACKED:
            self._open.pop(message_id, None)
        else:
            self._open[message_id] = fate
        return changed
