"""Writing the archive from the canonical log: two copies of it, in two orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.audit.schemas import Log
from sdschat.pipeline.archive.places import BY_ID, BY_PLACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_A_GROUP: Final = 5_000  # a look-up reads one group: two megabytes with packets of 400 bytes
ROWS_A_FILE: Final = 2_000_000
_COLUMNS: Final = (*Log._fields, "raw")


def write_archive(log: DataFrame, raw: DataFrame, lake: str) -> int:
    """Write the log in both orders, joined with the packets. Return the number of messages.

    `raw` has the columns run_id, channel, message_id and raw, for messages with a known packet. Files have a limited
    size and row groups are small, so that a look-up reads one of them.
    """
    from pyspark.sql import functions as F

    whole = log.join(raw, ["run_id", "channel", "message_id"], "left").select(*_COLUMNS).persist()
    try:
        count = whole.count()
        files = max(1, -(-count // ROWS_A_FILE))
        by_id = whole.repartitionByRange(files, F.col("message_id")).sortWithinPartitions("message_id", "channel")
        _write(by_id, f"{lake.rstrip('/')}/{BY_ID}")
        place = ("run_id", "channel", "position")
        _write(whole.repartitionByRange(files, *place).sortWithinPartitions(*place), f"{lake.rstrip('/')}/{BY_PLACE}")
        return count
    finally:
        whole.unpersist()


def _write(rows: DataFrame, path: str) -> None:
    """Write small row groups. The look-up needs no page index: the statistics of the groups are enough."""
    options = {
        "parquet.block.row.count.limit": str(ROWS_A_GROUP),
        "parquet.bloom.filter.enabled#message_id": "false",
    }
    rows.write.mode("overwrite").options(**options).parquet(path)
