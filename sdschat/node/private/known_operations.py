"""The operations of one private channel that are here: those of its log, and those heard before their place in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.identity.private.roster import Roster, SignedOperation, fold, idle_reason
from sdschat.wire.private_codec import Genesis, Join

_HEARD: Final = 64  # operations that are here and not in the log yet
_USELESS: Final = 512  # joinings that do not count, though they may yet
_IDLE: Final = 1024  # joinings that count for nothing and are not in the log yet


class KnownOperations:
    """`in_log`: operations by message id, in the order in which they took their place in the log."""

    def __init__(self, genesis: Genesis, operations: Iterable[SignedOperation]) -> None:
        self._genesis = genesis
        self.in_log = {each.message_id: each for each in operations}
        self._heard: dict[str, tuple[SignedOperation, bytes]] = {}
        self._idle: dict[str, str] = {}  # joinings that count for nothing, by message id, and why
        self._unsaved: list[SignedOperation] = []
        self._gone: list[str] = []  # ids of operations that are forgotten, and still on disk

    def holds(self, message_id: str) -> bool:
        return message_id in self.in_log or message_id in self._heard

    def heard(self, message_id: str) -> tuple[SignedOperation, bytes] | None:
        """Return an operation that is not in the log yet, with its packet."""
        return self._heard.get(message_id)

    def find(self, message_id: str) -> SignedOperation | None:
        """Return an operation that is here, in the log or not."""
        heard = self._heard.get(message_id)
        return self.in_log.get(message_id) if heard is None else heard[0]

    def every(self) -> list[SignedOperation]:
        """Return all operations that are here, in the log or not."""
        return [*self.in_log.values(), *(signed for signed, _ in self._heard.values())]

    def folded(self, *more: SignedOperation) -> Roster:
        """Return the members that follow from the operations, and from these besides."""
        return fold(self._genesis, [*self.every(), *more])

    def hear(self, signed: SignedOperation, packet: bytes, roster: Roster) -> bool:
        """Keep an operation that has no place in the log yet. False for one that counts for nothing whatever else
        comes: then only the reason is kept."""
        idle = idle_reason(self._genesis, roster, signed)
        if idle:
            self._idle[signed.message_id] = idle
            if len(self._idle) > _IDLE:
                del self._idle[next(iter(self._idle))]
            return False
        self._heard[signed.message_id] = (signed, packet)
        if len(self._heard) > _HEARD:
            del self._heard[next(iter(self._heard))]
        return True

    def take_idle(self, message_id: str) -> str:
        """Return the reason why an operation of the log counts for nothing; empty if it may count."""
        return self._idle.pop(message_id, "")

    def add(self, signed: SignedOperation) -> None:
        """Count an operation of the log from now on."""
        self.in_log[signed.message_id] = signed
        self._heard.pop(signed.message_id, None)
        self._unsaved.append(signed)

    def forget_useless(self, roster: Roster) -> None:
        """Forget the first joinings that do not count, if there are too many: whoever has a link can make them. Nothing
        builds upon a joining."""
        if len(self.in_log) <= _USELESS:
            return
        outcomes, members = roster.outcomes, roster.members
        useless = [
            message_id
            for message_id, each in self.in_log.items()
            if isinstance(each.operation, Join) and outcomes.get(message_id) and each.author_key not in members
        ]
        for message_id in useless[: max(0, len(useless) - _USELESS)]:
            del self.in_log[message_id]
            self._gone.append(message_id)

    def take_changes(self) -> tuple[list[SignedOperation], list[str]]:
        """Take what is to be saved and what is to be deleted, since the last call."""
        unsaved, self._unsaved = self._unsaved, []
        gone, self._gone = self._gone, []
        return unsaved, gone
