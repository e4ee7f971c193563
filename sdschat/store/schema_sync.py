"""What the second migration brings: sums over stretches of the logs, and what passes between two participants."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def second(database: Database) -> None:
    from sdschat.store.schema import buffer_table

    buffer_table(database, "range_bucket", {"start": str, "count": int, "total": bytes})
    # Rows of `sdschat.mvds.rows` by their table and key, as JSON; messages apart, since those stay.
    buffer_table(database, "mvds_row", {"name": str, "value": str})
    buffer_table(
        database, "mvds_message",
        {
            "message_id": str, "group_id": bytes, "timestamp": int, "body": bytes, "metadata": str, "peer": str,
            "received_at": int, "gap": str,
        },
    )  # fmt: skip
    said = {"peer": str, "own": int, "nick": str, "text": str, "kind": int}
    known = {"sent_at": int, "received_at": int, "state": int, "reply_to": str, "verdict": str}
    buffer_table(database, "direct", {"message_id": str, **said, **known})
