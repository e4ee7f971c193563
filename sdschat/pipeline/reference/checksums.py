"""The checksums of whole tables of a profile's database: SQLite writes out what each is over, so that no row becomes an
object here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from zlib import crc32

from sdschat.sds.rows import AckState, OutgoingRow
from sdschat.store.book import JOURNAL_COLUMNS
from sdschat.store.columns import LOG_COLUMNS

_BATCH: Final = 50_000
_OF_CHANNEL: Final = "WHERE log.place BETWEEN ? AND ?"


def _written(columns: Iterable[str], texts: Iterable[str]) -> str:
    """SQL for what `sdschat.store.sums.row_sum` is over. A text that has become bytes is written the same, and is not
    what it was. Texts are put together by `||`: `printf` ends each at its first zero byte, and what somebody added
    behind one would not be noticed."""
    values = " || '\x1f' || ".join(f"ifnull({name}, 'None')" for name in columns)
    odd = " OR ".join(f"typeof({name}) = 'blob'" for name in texts)
    return f"iif({odd}, NULL, CAST({values} AS BLOB))"


def _of(table: str, names: Iterable[str]) -> list[str]:
    return [f"{table}.{name}" for name in names if name != "sum"]


_LOG: Final = _written(
    _of("log", LOG_COLUMNS.split(", ")), _of("log", ("message_id", "sender_id", "dependencies", "via"))
)
_TEXTS: Final = _of("text", ("nick", "text", "verdict"))
_TEXT: Final = _written(["log.message_id", "log.place", *_TEXTS, "text.sent_at"], _TEXTS)
_OUTGOING: Final = _written(
    _of("outgoing", ("channel", *OutgoingRow._fields)), _of("outgoing", ("message_id", "evidence"))
)
_JOURNAL: Final = _written(
    _of("journal", JOURNAL_COLUMNS.split(", ")),
    _of("journal", ("event", "message_id", "sender", "peer", "deps", "cause", "fingerprint")),
)
# Rows of what a checksum is over, and the checksum. Those of a channel want its first and its last place.
OF_JOURNAL: Final = f"SELECT {_JOURNAL}, sum FROM journal"
OF_LOG: Final = f"SELECT {_LOG}, sum FROM log {_OF_CHANNEL}"
OF_TEXTS: Final = f"SELECT {_TEXT}, text.sum FROM log JOIN text ON text.place = log.place {_OF_CHANNEL}"
OF_OUTGOING: Final = (
    f"SELECT iif(outgoing.state IN ({', '.join(str(int(state)) for state in AckState)}), {_OUTGOING}, NULL), "
    "outgoing.sum FROM log JOIN outgoing ON outgoing.channel = log.channel "
    f"AND outgoing.message_id = log.message_id {_OF_CHANNEL} AND log.own = 1"
)


def hold(rows: Any) -> bool:
    """Whether each row is as it was written."""
    while some := rows.fetchmany(_BATCH):
        if any(written is None or crc32(written) != checksum for written, checksum in some):
            return False
    return True
