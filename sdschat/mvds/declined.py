"""Refused messages, remembered so that they are not requested again while the reason lasts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from sdschat.mvds import limits


class _Declined(NamedTuple):
    timestamp: int  # of the message, as it came
    lacking: set[bytes]  # parents that must be delivered first; empty if the group is not shared


@dataclass(slots=True, eq=False)
class DeclinedMessages:
    """Refused messages by peer. In memory only: after a restart each of them may be sent and refused once more.

    A message without room in the buffer needs no room once its parents are delivered.
    """

    # By peer and message id, oldest first; at most `DECLINED_PER_PEER` for each peer.
    _by_peer: defaultdict[str, dict[bytes, _Declined]] = field(default_factory=lambda: defaultdict(dict), init=False)
    # (peer, message id) of the messages that lack a parent, by parent: an index of `_by_peer`; no set is empty.
    _children: defaultdict[bytes, set[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(set), init=False)

    def holds(self, peer: str, message_id: bytes) -> bool:
        return peer in self._by_peer and message_id in self._by_peer[peer]

    def add(self, peer: str, message_id: bytes, timestamp: int, lacking: tuple[bytes, ...]) -> None:
        self._forget(peer, message_id)
        if len(self._by_peer[peer]) >= limits.DECLINED_PER_PEER:
            self._forget(peer, next(iter(self._by_peer[peer])))
        self._by_peer[peer][message_id] = _Declined(timestamp, set(lacking))
        for parent in lacking:
            self._children[parent].add((peer, message_id))

    def _forget(self, peer: str, message_id: bytes) -> None:
        found = self._by_peer[peer].pop(message_id, None)
        for parent in found.lacking if found is not None else ():
            self._drop_child(parent, (peer, message_id))

    def _drop_child(self, parent: bytes, child: tuple[str, bytes]) -> None:
        self._children[parent].discard(child)
        if not self._children[parent]:
            del self._children[parent]

    def parent_delivered(self, parent: bytes) -> list[tuple[str, int, bytes]]:
        """Note a delivered parent. Return, and forget, the messages that lack no other: (peer, timestamp, id)."""
        ready = []
        for peer, message_id in sorted(self._children.pop(parent, ())):
            found = self._by_peer[peer][message_id]
            found.lacking.discard(parent)
            if not found.lacking:
                del self._by_peer[peer][message_id]
                ready.append((peer, found.timestamp, message_id))
        return ready

    def groups_changed(self) -> None:
        """Forget messages refused because of their group: it may be shared now."""
        for declined in self._by_peer.values():
            for message_id in [one for one, found in declined.items() if not found.lacking]:
                del declined[message_id]

    def drop_peer(self, peer: str) -> None:
        for message_id in list(self._by_peer.get(peer, ())):
            self._forget(peer, message_id)
        self._by_peer.pop(peer, None)
