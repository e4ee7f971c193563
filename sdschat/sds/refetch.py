"""Messages of the log whose packets the disk has altered: to be asked for again, until they come."""

from __future__ import annotations

from dataclasses import dataclass, field

from sdschat.sds.values import HistoryEntry

_MOST_DOUBLINGS = 6


@dataclass(slots=True, eq=False)
class RefetchBuffer:
    """Not kept over a restart: what is altered is found again. Nothing waits for these, so all else goes first."""

    # By message id, with the author as the sender to name.
    _entries: dict[str, HistoryEntry] = field(default_factory=dict, init=False)
    # By message id, for every entry: monotonic milliseconds of the next request.
    _due: dict[str, int] = field(default_factory=dict, init=False)
    # Requests that went out, by message id; absent before the first one.
    _asked: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._entries

    def want(self, entry: HistoryEntry, due: int) -> None:
        if entry.message_id not in self._entries:
            self._entries[entry.message_id] = entry
            self._due[entry.message_id] = due

    def due(self, now: int, most: int) -> tuple[HistoryEntry, ...]:
        found = [message_id for message_id, due in self._due.items() if due <= now]
        found.sort(key=lambda message_id: (self._due[message_id], message_id))
        return tuple(self._entries[message_id] for message_id in found[: max(0, most)])

    def asked(self, message_id: str, now: int, pause: int) -> None:
        """If nothing comes of it, ask again, twice as long after each time."""
        times = self._asked[message_id] = self._asked.get(message_id, 0) + 1
        self._due[message_id] = now + (pause << min(times - 1, _MOST_DOUBLINGS))

    def take(self, message_id: str) -> None:
        for table in (self._entries, self._due, self._asked):
            table.pop(message_id, None)
