"""Our own packets, as a broker of MQTT 3.1.1 sends them back to us: known by their bytes, without being read again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

_KEPT: Final = 4096


class SentPackets:
    """The packets of our own that were sent last, by a keyed hash that nobody outside can aim at."""

    def __init__(self) -> None:
        self._ids: OrderedDict[int, str] = OrderedDict()

    def add(self, packet: bytes, message_id: str) -> None:
        self._ids[hash(packet)] = message_id
        if len(self._ids) > _KEPT:
            self._ids.popitem(last=False)

    def message_id(self, packet: bytes) -> str | None:
        """Return the id of the message in a packet that was added; None for any other packet."""
        return self._ids.get(hash(packet))
