"""The messages of a private channel that are shown, and the lines of its operations. Both may change when the members
do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from sdschat.identity.content import ContentKind, OpenedContent, Verdict
from sdschat.identity.private.roster import Position, Roster, SignedOperation
from sdschat.node.channel.content import ContentGate, indexed
from sdschat.node.channel.extension import ExtendedChannel
from sdschat.node.events import MessageDelivered, MessageWithheld, OperationsReworded, Said
from sdschat.node.private.operations import (
    NO_KEY,
    has_present_key,
    is_unanswered,
    operation_words,
    position_of,
    withholds_key,
)
from sdschat.sds.values import Message
from sdschat.store.transaction import IndexedText

if TYPE_CHECKING:
    from sdschat.node.events import EventBody

_JUDGED_AGAIN: Final = 10_000  # messages of the log behind a change of the members
_WITHHELD: Final = 1000  # ids of messages that may be shown later


class ShownMessages:
    """`in_log` has the operations of the log by message id; `withheld` the ids of the messages that are not shown.

    `only_operations`: what is said in a members' channel is an event of its data set.
    """

    def __init__(
        self,
        gate: ContentGate,
        in_log: Mapping[str, SignedOperation],
        withheld: tuple[str, ...],
        name_of: Callable[[bytes], str],
        emit: Callable[[EventBody], None],
        *,
        only_operations: bool,
    ) -> None:
        self.withheld = withheld
        self.roster = Roster()
        self._gate = gate
        self._in_log = in_log
        self._name_of = name_of
        self._emit = emit
        self._only_operations = only_operations
        self._reworded: set[str] = set()  # operations of the log that count now, or do not any more
        self._judge_from: Position | None = None  # texts from this place on are to be judged again

    def attach(self, session: ExtendedChannel) -> None:
        self._session = session

    def may_speak(self, message: Message, opened: OpenedContent) -> bool:
        """True if the text of a message is shown at its place in the log."""
        if self._only_operations:
            return False
        if opened.author_key == self._gate.identity.public_key:
            return True  # whoever wrote it sees it
        return opened.verdict.signed and self.roster.speaks_at(opened.author_key, position_of(message))

    def worded(self, said: Said, signed: SignedOperation) -> Said:
        """Return an operation as it reads now."""
        problem, key = self.roster.outcomes.get(signed.message_id, ""), signed.author_key
        others = key != self._gate.identity.public_key and has_present_key(self.roster, signed)
        reader = (said.nick or self._name_of(key)) if others else ""
        unanswered = is_unanswered(self.roster, self._gate.identity.public_key, signed.operation, problem)
        keyless = not problem and withholds_key(self._gate.identity, signed.operation)
        words = operation_words(signed.operation, problem, self._name_of, reader=reader, unanswered=unanswered)
        text = f"{words}{NO_KEY if keyless else ''}"
        return said._replace(opened=said.opened._replace(text=text))

    def withhold(self, said: Said) -> IndexedText:
        """Return the row of a message that is not shown, and say that there is one."""
        message = said.message
        self.withheld = (*self.withheld, message.message_id)[-_WITHHELD:]
        self._emit(MessageWithheld(message.message_id, message.sender_id, said.nick))
        return indexed(said._replace(opened=said.opened._replace(verdict=Verdict.NOT_MEMBER, text="")))

    # When the members change.

    def members_changed(self, before: Roster, since: Position) -> None:
        """Note what is to be judged again, because of an operation at the place `since`."""
        outcomes = self.roster.outcomes
        self._reworded |= {one for one in self._in_log if before.outcomes.get(one, "") != outcomes.get(one, "")}
        if self.roster.changes != before.changes:  # otherwise everybody speaks where they spoke
            own, why = self._gate.identity.public_key, before.outcomes
            self._reworded |= {
                one
                for one, each in self._in_log.items()
                if is_unanswered(before, own, each.operation, why.get(one, ""))
            }
            self._judge_from = since if self._judge_from is None else min(self._judge_from, since)

    @property
    def waits(self) -> bool:
        """True if something is to be judged again, once the turn is over: it must be in the log."""
        return self._judge_from is not None or bool(self._reworded)

    def changed(self) -> list[IndexedText]:
        """Return the rows of what reads differently now, and tell it."""
        return [*self._judged_again(), *self._worded_again()]

    def _judged_again(self) -> list[IndexedText]:
        """Return the texts behind a change of the members that are shown only now, or are not shown any more."""
        since, self._judge_from = self._judge_from, None
        if since is None:
            return []
        history, found = self._session.channel.state.history, list[IndexedText]()
        for entry in history.between(since[0], (1 << 62), _JUDGED_AGAIN):
            row = history.row(entry.message_id) if (entry.lamport, entry.message_id) > since else None
            message = None if row is None else self._session.read(row.raw).message
            if row is None or not isinstance(message, Message):
                continue
            said = self._gate.read(message, row.own)
            if said.opened.kind == ContentKind.OPERATION:
                continue
            shown = self.may_speak(message, said.opened)
            if shown == (message.message_id not in self.withheld):
                continue
            if shown:
                self.withheld = tuple(one for one in self.withheld if one != message.message_id)
                found.append(indexed(said))
                self._emit(MessageDelivered(said, True, (), row.source))
            else:
                found.append(self.withhold(said))
        return found

    def _worded_again(self) -> list[IndexedText]:
        """Return new lines for operations that were not known to count, because what they build upon came later."""
        reworded, self._reworded = [one for one in self._in_log if one in self._reworded], set()
        found: list[IndexedText] = []
        for message_id in reworded:
            row = self._session.channel.state.history.row(message_id)
            message = None if row is None else self._session.read(row.raw).message
            if row is not None and isinstance(message, Message):
                found.append(indexed(self.worded(self._gate.read(message, row.own), self._in_log[message_id])))
        if found:
            self._emit(OperationsReworded(tuple(text.message_id for text in found)))
        return found
