"""The tables, as numbered migrations. A released migration is never changed; a later one changes its tables.

The key of a row is its `place`. Places of the log have the number of the channel in their upper bits, so that the
messages of a channel lie together, in the order in which they were inserted; those of the journal have the number of
the boot there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from sdschat.store.schema_changes import eleventh, fifth, fourth, ninth, renamed_columns, sixth, tenth, third, twelfth

if TYPE_CHECKING:
    from sqlite_utils import Database


def second(database: Database) -> None:
    """Make `range_bucket`, `mvds_row`, `mvds_message` and `direct`."""
    buffer_table(database, "range_bucket", {"start": str, "count": int, "total": bytes})
    # Rows of `sdschat.mvds.values` by their table and key, as JSON; messages apart, since they are never deleted.
    buffer_table(database, "mvds_row", {"name": str, "value": str})
    buffer_table(
        database,
        "mvds_message",
        {
            "message_id": str,
            "group_id": bytes,
            "timestamp": int,
            "body": bytes,
            "metadata": str,
            "peer": str,
            "received_at": int,
            "gap": str,
        },
    )
    content = {"peer": str, "own": int, "nick": str, "text": str, "kind": int}
    delivery = {"sent_at": int, "received_at": int, "state": int, "reply_to": str, "verdict": str}
    buffer_table(database, "direct", {"message_id": str, **content, **delivery})


def eighth(database: Database) -> None:
    """Make the tables of members' channels: `timber_row`, `timber_post` and `timber_operation`."""
    # Small rows of `sdschat.timber.rows` by their table and key, as JSON; texts and operations apart.
    buffer_table(database, "timber_row", {"name": str, "value": str})
    buffer_table(database, "timber_post", {"name": str, "rank": int, "time": int, "text": str, "edit": int})
    buffer_table(database, "timber_operation", {"name": str, "arrival": int, "raw": bytes, "signature": bytes})


APPLICATION_ID: Final = 0x53445343  # "SDSC": a database of another program is not taken for ours
PLACE_BITS: Final = 40  # lower bits of a place: they number the messages of a channel, or the events of a boot
TOKENIZER: Final = "unicode61 remove_diacritics 2"

Columns = dict[str, Any]


class MigrationStep(Protocol):
    def __call__(self, database: Database, /) -> None: ...


class Migration(NamedTuple):
    """The step from schema `number - 1` to schema `number`, in one transaction."""

    number: int
    name: str
    apply: MigrationStep
    digest: int  # CRC-32 of all table and index definitions afterwards


def _table(database: Database, name: str, columns: Columns, nullable: tuple[str, ...] = ()) -> None:
    """Create a strict table; its first column is the key; `channel` and `place` of another table are foreign keys."""
    from sqlite_utils.db import ForeignKey

    key = next(iter(columns))
    references = []
    if "channel" in columns and name != "channel":
        references.append(ForeignKey(name, "channel", "channel", "id", on_delete="CASCADE"))
    if name in ("body", "text"):
        references.append(ForeignKey(name, "place", "log", "place", on_delete="CASCADE"))
    database.table(name).create(
        columns,
        pk=key,
        not_null=[column for column in columns if column not in nullable and column != key],
        foreign_keys=references,
        strict=True,
    )


def buffer_table(database: Database, name: str, columns: Columns, nullable: tuple[str, ...] = ()) -> None:
    """Create a table of `sdschat.sds.values`: rows of a channel by their key, in the order in which they were first
    put."""
    _table(database, name, {"place": int, "channel": int, **columns, "sum": int}, nullable)
    database.table(name).create_index(["channel", next(iter(columns))], f"{name}_key", unique=True)


def _first(database: Database) -> None:
    _log(database)
    _buffers(database)
    _local(database)
    _journal(database)


def _log(database: Database) -> None:
    _table(
        database,
        "channel",
        {"id": int, "name": str, "messages": int, "newest": int, "fingerprint": bytes, "sum": int},
    )
    database.table("channel").create_index(["name"], "channel_name", unique=True)
    log = {
        "place": int,
        "channel": int,
        "lamport": int,
        "message_id": str,
        "sender_id": str,
        "dependencies": str,
        "generation": int,
        "own": int,
        "via": str,
        "received_at": int,
        "sum": int,
    }
    _table(database, "log", log)
    database.table("log").create_index(["channel", "message_id"], "log_id", unique=True)
    database.table("log").create_index(["channel", "lamport", "message_id"], "log_order", unique=True)
    # Packets are apart from the log, so that a walk through the log does not read them.
    _table(database, "body", {"place": int, "raw": bytes, "sum": int})
    _table(database, "text", {"place": int, "nick": str, "text": str, "verdict": str, "sent_at": int, "sum": int})
    database.execute(
        f"CREATE VIRTUAL TABLE search USING fts5(text, content='text', content_rowid='place', tokenize='{TOKENIZER}')"
    )


def _buffers(database: Database) -> None:
    times = (
        "lamport",
        "horizon",
        "generation",
        "floor",
        "waku_heard_at",
        "sync_due",
        "sync_latest",
        "sync_spoke_at",
        "sync_count",
        "range_cursor",
        "range_wanted_low",
        "range_wanted_high",
        "range_answered_at",
        "answer_spent",
        "push_spent",
        "spent_at",
        "offline_since",
        "filter_stale",
    )
    _table(database, "channel_state", {"channel": int, "layout": str, **dict.fromkeys(times, int), "sum": int})
    held = {"raw": bytes, "via": str, "generation": int, "received_at": int, "release_at": int, "gap": str}
    buffer_table(database, "held", {"message_id": str, **held})
    outgoing = {"lamport": int, "state": int, "sends": int, "due": int, "evidence": str}
    buffer_table(database, "outgoing", {"message_id": str, **outgoing})
    database.table("outgoing").create_index(["channel", "state", "lamport", "message_id"], "outgoing_state")
    missing = {
        "sender_id": str,
        "hint": bytes,
        "blamed": str,
        **_integers("since lost_at t_req attempts suppressed awaited"),
    }
    buffer_table(database, "missing", {"message_id": str, **missing}, nullable=("sender_id", "hint"))
    buffer_table(
        database,
        "gap",
        {"message_id": str, "why": str, "sender_id": str, "at": int, "blamed": str},
        nullable=("sender_id",),
    )
    buffer_table(database, "answer", {"message_id": str, "requested_by": str, **_integers("due at asked")})
    buffer_table(
        database, "push", {"message_id": str, "lamport": int, "wanted_by": str, **_integers("due pushes not_before")}
    )
    heard = _integers("first_lamport last_lamport heard_at reviewed_at behind_since")
    buffer_table(
        database, "peer", {"sender_id": str, **heard, "behind": bytes, "told": bytes, "cursor": int, "layout": str}
    )
    buffer_table(database, "hint", {"message_id": str, "hint": bytes})


def _local(database: Database) -> None:
    """Create the tables of this user alone: read marks, unsent texts, known keys."""
    mark = {"channel": int, "lamport": int, "message_id": str, "place": int, "at": int, "sum": int}
    _table(database, "read_mark", mark)
    _table(database, "draft", {"channel": int, "text": str, "at": int, "sum": int})
    _table(database, "key_met", {"public_key": bytes, "nick": str, "first_seen": int, "sum": int})
    _table(database, "nick_held", {"skeleton": str, "nick": str, "public_key": bytes, "since": int, "sum": int})
    _table(database, "setting", {"name": str, "value": bytes, "sum": int})


def _journal(database: Database) -> None:
    _table(database, "boot", {"id": int, "node": str, "boot": str, "sum": int})
    columns = {
        "place": int,
        "channel": int,
        "event": str,
        "message_id": str,
        "sender": str,
        "lamport": int,
        "peer": str,
        "ts_ms": int,
        "mono_us": int,
        "bytes": int,
        "payload_bytes": int,
        "overhead_bytes": int,
        "deps": str,
        "attempt": int,
        "cause": str,
        "messages": int,
        "fingerprint": str,
        "sum": int,
    }
    required = ("place", "event", "ts_ms", "mono_us", "sum")
    _table(database, "journal", columns, nullable=tuple(name for name in columns if name not in required))
    buffer_table(database, "rejection", {"reason": str, "count": int, "last_at": int})


def _integers(names: str) -> Columns:
    return dict.fromkeys(names.split(), int)


# A reader takes databases from this schema on: what came later are indexes, which it can do without.
OLDEST_READ: Final = 11

# `tests/store/schemas` has a database of each, and a test reads them all (`tests.store.old_schemas` makes them).
MIGRATIONS: Final = (
    Migration(1, "the first tables", _first, 4206352333),
    Migration(2, "sums over stretches of the logs; what passes between two participants", second, 2733386952),
    Migration(3, "ids of dropped packets in a table of their own", third, 244398092),
    Migration(4, "a column for ranges of which only a fingerprint is owed", fourth, 2687085738),
    Migration(5, "the standing of participants", fifth, 673483561),
    Migration(6, "columns for answers that may be called off", sixth, 812252500),
    Migration(7, "columns under the words of the protocol", renamed_columns, 1886782084),
    Migration(8, "tables of members' channels", eighth, 187826494),
    Migration(9, "posts of members' channels without an index beside them", ninth, 3223841918),
    Migration(10, "the post that a post of a members' channel answers", tenth, 394231073),
    Migration(11, "posts of members' channels with fewer bytes", eleventh, 2469144716),
    Migration(12, "the newest direct messages without a look at all others", twelfth, 3917437056),
)
