"""Migrations that add columns to rows with checksums. The names of the columns are those of that schema, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.store.checksums import row_sum

if TYPE_CHECKING:
    from sqlite_utils import Database

_STATE: Final = (
    "channel, lamport, horizon, layout, generation, floor, waku_heard_at, sync_due, sync_latest, sync_spoke_at, "
    "sync_count, range_cursor, range_wanted_low, range_wanted_high, range_answered_at, answer_spent, push_spent, "
    "spent_at, offline_since, filter_stale"
)
_LOW: Final = _STATE.split(", ").index("range_wanted_low")


def fourth(database: Database) -> None:
    """Add `range_only_print`. Before, a range of which only a fingerprint was owed began at a complement. A row whose
    checksum is wrong keeps a wrong one."""
    database.table("channel_state").add_column("range_only_print", int, not_null_default=0)
    for *values, total in database.execute(f"SELECT {_STATE}, sum FROM channel_state").fetchall():
        if row_sum(values) != total:
            continue
        only_print = int(values[_LOW] < 0)
        if only_print:
            values[_LOW] = ~values[_LOW]
        database.execute(
            "UPDATE channel_state SET range_wanted_low = ?, range_only_print = ?, sum = ? WHERE channel = ?",
            (values[_LOW], only_print, row_sum([*values, only_print]), values[0]),
        )
