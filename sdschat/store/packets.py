"""Messages of a log with their packets, a page at a time, for nodes that catch up. See `sdschat.catchup.provider`."""

from __future__ import annotations

from typing import Any, Final

from sdschat.catchup.provider import StoredMessage
from sdschat.catchup.values import LogKey, RangeSummary
from sdschat.store import dropped_packets
from sdschat.store.columns import body_sum
from sdschat.store.errors import as_store_error
from sdschat.store.store import Store

# SQLite enters the index by the dates alone, hence both conditions.
_PAGE: Final = (
    "SELECT log.lamport, log.message_id, body.raw, body.sum FROM log LEFT JOIN body USING (place) "
    "WHERE log.channel = ? AND log.lamport BETWEEN ? AND ? AND (log.lamport, log.message_id) >= (?, ?) "
    "AND (log.lamport, log.message_id) < (?, ?) ORDER BY log.lamport {way}, log.message_id {way} LIMIT ?"
)
_UP: Final = _PAGE.format(way="ASC")
_DOWN: Final = _PAGE.format(way="DESC")
_ONE: Final = (
    "SELECT log.lamport, log.message_id, body.raw, body.sum FROM log JOIN body USING (place) "
    "WHERE log.channel = ? AND log.message_id = ?"
)


class ChannelLog:
    """One channel, also before its first message is saved: the `ComparedLog` and `HistoryLibrary` of `catchup`."""

    def __init__(self, store: Store, channel: str) -> None:
        self._store = store
        self._channel = channel

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        return self._store.log(self._channel).summary(low, high)

    def keys(self, low: LogKey, high: LogKey, limit: int) -> list[tuple[int, str]]:
        return list(self._store.log(self._channel).keys(low, high, limit))

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self._store.log(self._channel).cut(low, high, parts)

    def stored(self, low: LogKey, high: LogKey, newest_first: bool, limit: int, max_bytes: int) -> list[StoredMessage]:
        number = self._store.number(self._channel)
        if number is None:
            return []
        found: list[StoredMessage] = []
        values = (number, low.lamport, high.lamport, *low, *high, limit)
        with as_store_error(self._store.path):
            for row in self._store.connection.execute(_DOWN if newest_first else _UP, values):
                found.append(_stored(row))
                max_bytes -= len(found[-1].raw)
                if max_bytes <= 0:
                    break
            cut = max_bytes <= 0 or len(found) == limit
            end = found[-1].key if cut else None
            rows = dropped_packets.kept_as_ids(self._store.connection, number, low, high, newest_first, limit)
        ids = [StoredMessage(LogKey(lamport, message_id), b"", sender) for lamport, message_id, sender in rows]
        if end is not None:
            ids = [one for one in ids if (one.key > end if newest_first else one.key < end)]
        return sorted([*found, *ids], key=lambda one: one.key, reverse=newest_first)[:limit] if ids else found

    def message(self, message_id: str) -> StoredMessage | None:
        number = self._store.number(self._channel)
        if number is None:
            return None
        with as_store_error(self._store.path):
            rows = self._store.connection.execute(_ONE, (number, message_id)).fetchall()
            if rows:
                return _stored(rows[0])
            kept = dropped_packets.kept_as_id(self._store.connection, number, message_id)
        return None if kept is None else StoredMessage(LogKey(kept[0], message_id), b"", kept[1])


def _stored(row: Any) -> StoredMessage:
    """Return a message; without its packet if that is gone or was altered by the disk: altered packets are never
    served."""
    lamport, message_id, raw, checksum = row
    sound = raw is not None and body_sum(message_id, raw) == checksum
    return StoredMessage(LogKey(lamport, message_id), raw if sound else b"")
