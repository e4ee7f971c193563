"""Follow a history: poll the database for new messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sdschat.store.display_rows import DisplayMessage, Key
from sdschat.store.reader import Reader

_PAUSE: Final = 0.25  # seconds
_LATE: Final = 500  # late messages are noticed only among so many last messages of the log


class ChannelLog:
    """The log of a channel; `more` yields the messages that came since its last call."""

    def __init__(self, reader: Reader, channel: str) -> None:
        self._reader = reader
        self._channel = channel
        self._seen: dict[str, None] = {}
        self._newest: Key = (-1, "")
        self._count = -1

    def start(self) -> None:
        """Mark all present messages as seen."""
        self._late()
        self._count = self._total()

    def more(self) -> Iterator[DisplayMessage]:
        """Yield new messages below the newest seen one (late), then those above it, each in the order of the log."""
        total = self._total()
        if total == self._count:
            return
        self._count = total
        newest = self._newest
        late = list(self._late())
        yield from (message for message in late if message.key < newest)
        for message in self._reader.messages(self._channel, after=newest, with_raw=True):
            self._newest = max(self._newest, message.key)
            yield message

    def _late(self) -> Iterator[DisplayMessage]:
        found = list(self._reader.messages(self._channel, limit=_LATE, with_raw=True))
        seen, self._seen = self._seen, {message.message_id: None for message in found}
        if found:
            self._newest = max(self._newest, found[-1].key)
        return (message for message in found if message.message_id not in seen)

    def _total(self) -> int:
        return next((info.messages for info in self._reader.channels() if info.channel == self._channel), 0)


def follow(more: Callable[[], Iterable[DisplayMessage]], show: Callable[[DisplayMessage], None]) -> None:
    """Show new messages until the program is interrupted."""
    while True:
        for message in more():
            show(message)
        time.sleep(_PAUSE)
