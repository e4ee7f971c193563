"""The states of own messages: what the node said of them, and how the rows that stand for them follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sdschat.node.view.members import MembersConversation
from sdschat.node.view.values import AckState, Conversation, Evidence
from sdschat.tui.model.from_events import phase_of
from sdschat.tui.model.items import Fate, MessageItem, Phase

_KEPT: Final = 512  # acknowledged messages whose states are remembered
_MEMBERS_PHASES: Final = {
    "": Phase.UNACKED,  # not known before the channel is joined
    "queued": Phase.QUEUED,
    "sent": Phase.UNACKED,
    "written": Phase.UNACKED,
    "known": Phase.MAYBE,
    "settled": Phase.ACKED,
}


def members_fate(words: str) -> Fate:
    """Return the state of an own post of a members' channel from its words, such as `known 2 of 3`."""
    return Fate(_MEMBERS_PHASES.get(words.partition(" ")[0], Phase.ACKED), word=words)


def fate_of(phase: Phase, evidence: tuple[Evidence, ...]) -> Fate:
    """Return the state of an own message in the channel, from the evidence for it."""
    known = frozenset(found.sender_id for found in evidence if found.proven)
    perhaps = frozenset(found.sender_id for found in evidence if found.signed) - known
    return Fate(phase, known, perhaps, frozenset(found.sender_id for found in evidence) - known - perhaps)


class OwnFates:
    """The states of own messages by id: of those that are not acknowledged, and of the last acknowledged ones."""

    def __init__(self, members: Callable[[frozenset[str]], frozenset[str]]) -> None:
        """`members`: return those of some participants who take part; a private channel removes members."""
        self._members = members
        self._open: dict[str, Fate] = {}
        self._acked: dict[str, Fate] = {}
        self._present: tuple[str, ...] = ()
        self._addressed: frozenset[str] = frozenset()  # the same ones; the states of all messages of this time share it

    def queued(self, message_id: str) -> None:
        self._open[message_id] = Fate(Phase.QUEUED, addressed=self._addressed)

    def read(self, entry: MessageItem, conversation: Conversation) -> Fate:
        """Return the state of an own message, from the node where it is not known here."""
        known = self.of(entry.message_id)
        if known is not None:
            return known
        if isinstance(conversation, MembersConversation):
            return members_fate(conversation.delivery(entry.message_id))
        assert entry.fate is not None
        own = conversation.remembered(entry.message_id)
        if own is None:  # of before, or written by another device of ours: whoever gave it to us has it
            return entry.fate._replace(phase=Phase.ACKED, past=True)
        phase = phase_of(own.state)
        if own.state is AckState.UNACKED and not own.sends:
            phase = Phase.QUEUED
        fate = fate_of(phase, own.evidence)
        if phase is Phase.ACKED:
            return fate._replace(past=True)
        if fate == Fate(Phase.UNACKED):
            fate = fate._replace(unsure=True)
        self._open[entry.message_id] = fate
        return fate

    def gathered(self, present: tuple[str, ...]) -> list[str]:
        """Take who else is here now, by id. Return the ids of the messages that all of them are known to have now, or
        that waited for somebody who was removed."""
        self._present, self._addressed = present, frozenset(present)
        done = []
        for states in (self._open, self._acked):
            for message_id, fate in states.items():
                moved = fate if fate.full else fate.but_for_removed(self._members).among(present)
                if moved is not fate:
                    states[message_id] = moved
                    done.append(message_id)
        return done

    def unconfirmed(self) -> dict[str, frozenset[str]]:
        """Return the own messages that somebody is known to have, and not all who are here or were when it was written:
        by id, oldest first, who is not known to have it."""
        found = {}
        for message_id, fate in self._acked.items():
            lack = fate.addressed.union(self._present) - fate.known
            if lack and not (fate.full or fate.past or fate.word):
                found[message_id] = lack
        return found

    def of(self, message_id: str) -> Fate | None:
        """Return the state of an own message, if it is remembered."""
        return self._open.get(message_id) or self._acked.get(message_id)

    def move(self, message_id: str, to: Fate, row: MessageItem | None) -> MessageItem | None:
        """Take a state that the node told. Return the row as it is now, or None if it stays as it is."""
        before = self.of(message_id) or Fate(Phase.QUEUED)
        return self._put(message_id, before.moved(to), row)

    def refuse(self, message_id: str, detail: str, row: MessageItem | None) -> MessageItem | None:
        """Take a message that the broker did not accept. Return the row as it is now, or None if it stays."""
        before = self.of(message_id) or Fate(Phase.UNACKED)
        return self._put(message_id, before.refuse(detail), row)

    def _put(self, message_id: str, fate: Fate, row: MessageItem | None) -> MessageItem | None:
        changed = None
        if row is not None and row.fate is not None:
            fate = row.fate.moved(fate)
        fate = fate.among(self._present)
        if row is not None and row.fate is not None and fate != row.fate:
            changed = replace(row, fate=fate)
        if fate.phase is Phase.ACKED:
            self._open.pop(message_id, None)
            self._acked[message_id] = fate
            if len(self._acked) > _KEPT:
                del self._acked[next(iter(self._acked))]
        else:
            self._open[message_id] = fate
        return changed
