"""Messages that came and could not be taken, so that they are not asked for again while the reason lasts."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from sdschat.mvds import limits


class _Declined(NamedTuple):
    timestamp: int
    lacking: set[bytes]  # parents that must be here first; none where it is the group that is not shared


class DeclinedMessages:
    """For each peer, what it sent in vain. Only in memory: after a restart each comes in vain once more.

    A message for which there was no room while it would have had to wait needs none once its parents are here.
    """

    __slots__ = ("_children", "_of")

    def __init__(self) -> None:
        self._of: defaultdict[str, dict[bytes, _Declined]] = defaultdict(dict)
        self._children: defaultdict[bytes, set[tuple[str, bytes]]] = defaultdict(set)

    def holds(self, peer: str, message_id: bytes) -> bool:
        return peer in self._of and message_id in self._of[peer]

    def add(self, peer: str, message_id: bytes, timestamp: int, lacking: tuple[bytes, ...]) -> None:
        self._forget(peer, message_id)
        if len(self._of[peer]) >= limits.DECLINED_PER_PEER:
            self._forget(peer, next(iter(self._of[peer])))
        self._of[peer][message_id] = _Declined(timestamp, set(lacking))
        for parent in lacking:
            self._children[parent].add((peer, message_id))

    def _forget(self, peer: str, message_id: bytes) -> None:
        found = self._of[peer].pop(message_id, None)
        for parent in found.lacking if found is not None else ():
            self._drop_child(parent, (peer, message_id))

    def _drop_child(self, parent: bytes, child: tuple[str, bytes]) -> None:
        self._children[parent].discard(child)
        if not self._children[parent]:
            del self._children[parent]

    def settle(self, parent: bytes) -> list[tuple[str, int, bytes]]:
        """A parent was handed over: messages that lack nothing more, as (peer, timestamp, id). They are forgotten."""
        ready = []
        for peer, message_id in sorted(self._children.pop(parent, ())):
            found = self._of[peer][message_id]
            found.lacking.discard(parent)
            if not found.lacking:
                del self._of[peer][message_id]
                ready.append((peer, found.timestamp, message_id))
        return ready

    def groups_changed(self) -> None:
        """What was of no shared group may be of one now."""
        for held in self._of.values():
            for message_id in [one for one, found in held.items() if not found.lacking]:
                del held[message_id]

    def drop_peer(self, peer: str) -> None:
        for message_id in list(self._of.get(peer, ())):
            self._forget(peer, message_id)
        self._of.pop(peer, None)
