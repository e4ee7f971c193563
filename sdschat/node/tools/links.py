"""Links between the nodes of one process, to cut and mend."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

from sdschat.node.node import Node
from sdschat.node.tools.fault_injection import Injection
from sdschat.transport.fault_lane import Direction

_KEPT: Final = 1_000  # packets whose senders are known
_RECENT: Final = 2.0  # seconds within which a packet comes from the broker


class Links:
    """The cut links. A node loses what the node at the other end of one sends, and not what others pass on for it: a
    broker tells nobody who sends a packet, but nodes of one process can note it."""

    def __init__(self, channel: str, now: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._now = now
        self._cut: set[frozenset[str]] = set()
        self._sent: OrderedDict[tuple[str, bytes], dict[str, float]] = OrderedDict()  # when, by sender, by packet

    def is_cut(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self._cut

    def set(self, one: str, other: str, *, cut: bool) -> None:
        """Cut or mend the link between two nicks."""
        (self._cut.add if cut else self._cut.discard)(frozenset((one, other)))

    def put_on(self, node: Node, loss: float) -> None:
        """Let a node that has joined the channel feel the links, and lose this share of all packets."""
        faults = Injection(node, self._channel)
        faults.share("loss", loss)
        faults.sift(partial(self._loses, node.nick))

    def _loses(self, nick: str, way: Direction, topic: str, payload: bytes) -> bool:
        """True if a packet is lost: nobody at the end of a whole link sent it just now."""
        now, packet = self._now(), (topic, payload)
        if way is Direction.OUT:
            self._sent.setdefault(packet, {})[nick] = now
            self._sent.move_to_end(packet)
            if len(self._sent) > _KEPT:
                self._sent.popitem(last=False)
            return False
        senders = self._sent.get(packet, {})
        recent = [sender for sender, at in senders.items() if now - at <= _RECENT] or [*senders]
        return bool(recent) and all(self.is_cut(nick, sender) for sender in recent)
