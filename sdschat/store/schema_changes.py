"""The third migration and all later ones. The names of tables and columns are those of that schema, for good."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from sdschat.store.columns import row_sum, small_sum

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


def third(database: Database) -> None:
    """Make `past`. A row has no checksum: the channel's fingerprint is over all (Lamport, id), these included."""
    database.execute(
        "CREATE TABLE past (place INTEGER PRIMARY KEY, "
        "channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE, lamport INTEGER NOT NULL, "
        "message_id BLOB NOT NULL, sender INTEGER NOT NULL, named BLOB NOT NULL) STRICT"
    )
    database.execute("CREATE INDEX past_order ON past (channel, lamport)")
    # The first bytes of an id find it; the whole of it would take as much again as the row.
    database.execute("CREATE INDEX past_id ON past (channel, substr(message_id, 1, 8))")
    # Senders by a short number: there are few of them, and each is in many rows.
    database.execute("CREATE TABLE past_sender (id INTEGER PRIMARY KEY, sender_id TEXT NOT NULL) STRICT")
    database.execute("CREATE UNIQUE INDEX past_sender_id ON past_sender (sender_id)")


_PERSON: Final = 1
_ID_DIGITS: Final = 32


def fifth(database: Database) -> None:
    """Make `standing`. Every key that was met before stays known as a person."""
    columns = {"sender_id": str, "standing": int, "since": int, "sum": int}
    database.table("standing").create(columns, pk="sender_id", not_null=list(columns)[1:], strict=True)
    rows = [
        (sha256(public_key).hexdigest()[:_ID_DIGITS], _PERSON, since)
        for public_key, since in database.execute("SELECT public_key, first_seen FROM key_met").fetchall()
    ]
    database.conn.executemany(
        "INSERT INTO standing (sender_id, standing, since, sum) VALUES (?, ?, ?, ?)",
        [(*row, row_sum(row)) for row in rows],
    )


_ANSWER: Final = "channel, message_id, requested_by, due, at, asked"


def sixth(database: Database) -> None:
    """Add to `answer` the names of those whose filters lacked the message, and if the answer was called off."""
    answer = database.table("answer")
    answer.add_column("lacked_by", str, not_null_default="[]")
    answer.add_column("called_off", int, not_null_default=0)
    for place, *values, total in database.execute(f"SELECT place, {_ANSWER}, sum FROM answer").fetchall():
        if row_sum(values) == total:
            database.execute("UPDATE answer SET sum = ? WHERE place = ?", (row_sum([*values, "[]", 0]), place))


_RENAMED: Final = (
    ("peer", "told", "reported"),
    ("missing", "blamed", "charged_to"),
    ("gap", "blamed", "charged_to"),
    ("gap", "why", "reason"),
)


def renamed_columns(database: Database) -> None:
    """Name columns by the words of the protocol. Checksums are over values, and stay as they are."""
    for table, before, after in _RENAMED:
        database.execute(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")


def ninth(database: Database) -> None:
    """Make `timber_post` anew: the rows stand in the order of their key, so that no index has it a second time."""
    rows = database.execute("SELECT channel, name, rank, time, text, edit, sum FROM timber_post").fetchall()
    database.execute("DROP TABLE timber_post")
    database.execute(
        "CREATE TABLE timber_post (channel INTEGER NOT NULL REFERENCES channel(id) ON DELETE CASCADE, "
        "author INTEGER NOT NULL, number INTEGER NOT NULL, rank INTEGER NOT NULL, time INTEGER NOT NULL, "
        "text TEXT NOT NULL, edit INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (channel, author, number)) "
        "STRICT, WITHOUT ROWID"
    )
    for channel, name, *rest, total in rows:
        if row_sum((channel, name, *rest)) == total:
            values = (channel, *map(int, name.split(":")), *rest)
            database.execute("INSERT INTO timber_post VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*values, row_sum(values)))


_POST: Final = "channel, author, number, rank, time, text, edit"


def tenth(database: Database) -> None:
    """Add to `timber_post` the post that each answers; a row whose checksum is wrong keeps a wrong one."""
    posts = database.table("timber_post")
    posts.add_column("answers_author", int, not_null_default=0)
    posts.add_column("answers_number", int, not_null_default=0)
    for *values, total in database.execute(f"SELECT {_POST}, sum FROM timber_post").fetchall():
        if row_sum(values) == total:
            database.execute(
                "UPDATE timber_post SET sum = ? WHERE channel = ? AND author = ? AND number = ?",
                (row_sum([*values, 0, 0]), *values[:3]),
            )


_TENTH: Final = "channel, author, number, rank, time, text, edit, answers_author, answers_number"


def eleventh(database: Database) -> None:
    """Make `timber_post` anew, a few bytes a row smaller: one column for the answered post, sums of four bytes.

    A row whose checksum is wrong gets a wrong one.
    """
    database.execute("ALTER TABLE timber_post RENAME TO timber_post_before")
    database.execute(
        "CREATE TABLE timber_post (channel INTEGER NOT NULL REFERENCES channel(id) ON DELETE CASCADE, "
        "author INTEGER NOT NULL, number INTEGER NOT NULL, rank INTEGER NOT NULL, time INTEGER NOT NULL, "
        "text TEXT NOT NULL, edit INTEGER NOT NULL, answers TEXT NOT NULL, sum INTEGER NOT NULL, "
        "PRIMARY KEY (channel, author, number)) STRICT, WITHOUT ROWID"
    )
    for *values, total in database.execute(f"SELECT {_TENTH}, sum FROM timber_post_before").fetchall():
        *post, author, number = values
        post.append(f"{author}:{number}" if number else "")
        right = row_sum(values) == total
        new = small_sum(post) if right else ~small_sum(post)
        database.execute("INSERT INTO timber_post VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*post, new))
    database.execute("DROP TABLE timber_post_before")


def twelfth(database: Database) -> None:
    """Find the newest direct messages of a channel, and with a participant, without a look at all others."""
    database.execute("CREATE INDEX direct_channel ON direct (channel)")
    database.execute("CREATE INDEX direct_peer ON direct (peer)")
