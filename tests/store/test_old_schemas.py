"""Databases of earlier programs: they are unchanged, and the present program reads all of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sdschat.sds.values import ChannelRow
from sdschat.store.columns import row_sum
from sdschat.store.errors import StoreDamaged
from sdschat.store.migrate import schema_digest
from sdschat.store.schema import MIGRATIONS, Migration
from sdschat.store.store import Store
from sdschat.store.timber import load_timber
from sdschat.timber.values import Post, PostId
from tests.store.old_schemas import kept, unpack
from tests.store.samples import CODEC

_TEXTS = "SELECT channel.name, log.message_id, text.text FROM log JOIN text USING (place) JOIN channel ON id = channel"

every_schema = pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: f"schema {migration.number}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "profile" / "sdschat.db"


def _texts(path: Path) -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute(_TEXTS))


@every_schema
def test_a_database_of_every_schema_is_kept(migration: Migration) -> None:
    assert kept(migration.number).exists(), "run: python -m tests.store.old_schemas"


@every_schema
def test_no_migration_is_changed_once_databases_were_made_with_it(migration: Migration, path: Path) -> None:
    with closing(sqlite3.connect(unpack(migration.number, path))) as connection:
        assert schema_digest(connection) == migration.digest, "add a migration, and leave this one as it was"


@every_schema
def test_all_messages_of_an_old_database_are_there(migration: Migration, path: Path) -> None:
    before = _texts(unpack(migration.number, path))
    with Store.open(path, CODEC, thorough=True) as store:
        assert all(store.channel(name).snapshot() is not None for name in ("lobby", "attic"))
        assert store.losses == []
    with Store.open_read_only(path, CODEC) as reader:
        after = {
            (name, message.message_id, message.text) for name in ("lobby", "attic") for message in reader.messages(name)
        }
    assert len(before) == 120
    assert after == before


@every_schema
def test_an_old_database_is_searched_and_compared_like_a_new_one(migration: Migration, path: Path) -> None:
    unpack(migration.number, path)
    with Store.open(path, CODEC) as store:
        assert store.ranges.load(store.number("lobby") or 0).whole().messages == 60
    with Store.open_read_only(path, CODEC) as reader:
        assert next(iter(reader.messages("lobby", search="lantern")), None) is not None


def test_a_range_that_was_owed_as_a_complement_has_a_column_of_its_own(path: Path) -> None:
    with closing(sqlite3.connect(unpack(3, path))) as connection, connection:
        _owe_range(connection, "lobby", ~5000, 9000)
        _owe_range(connection, "attic", 4000, 8000)
    with Store.open(path, CODEC, thorough=True) as store:
        rows = {name: _state(store, name) for name in ("lobby", "attic")}
    owed = {name: (row.range_wanted_low, row.range_wanted_high, row.range_only_print) for name, row in rows.items()}
    assert owed == {"lobby": (5000, 9000, 1), "attic": (4000, 8000, 0)}


def test_a_row_altered_before_the_migration_is_noticed_after_it(path: Path) -> None:
    with closing(sqlite3.connect(unpack(3, path))) as connection, connection:
        connection.execute("UPDATE channel_state SET horizon = horizon + 1")
    with Store.open(path, CODEC) as store, pytest.raises(StoreDamaged, match="state of the channel"):
        store.channel("lobby").snapshot()


def test_a_row_altered_before_the_migration_keeps_no_other_from_it(path: Path) -> None:
    with closing(sqlite3.connect(unpack(3, path))) as connection, connection:
        _owe_range(connection, "lobby", ~5000, 9000)
        _owe_range(connection, "attic", ~4000, 8000)
        connection.execute("UPDATE channel_state SET horizon = horizon + 1 WHERE channel = 1")
    with Store.open(path, CODEC) as store:
        with pytest.raises(StoreDamaged, match="state of the channel"):
            _state(store, "lobby")
        row = _state(store, "attic")
    assert (row.range_wanted_low, row.range_only_print) == (4000, 1)


def _owe_range(connection: sqlite3.Connection, channel: str, low: int, high: int) -> None:
    """Write a range that is owed, as a program of schema 3 did."""
    connection.row_factory = sqlite3.Row
    number = connection.execute("SELECT id FROM channel WHERE name = ?", (channel,)).fetchone()[0]
    row = dict(connection.execute("SELECT * FROM channel_state WHERE channel = ?", (number,)).fetchone())
    row |= {"range_wanted_low": low, "range_wanted_high": high}
    total = row_sum(row[name] for name in ("channel", *ChannelRow._fields) if name in row)
    connection.execute(
        "UPDATE channel_state SET range_wanted_low = ?, range_wanted_high = ?, sum = ? WHERE channel = ?",
        (low, high, total, number),
    )


def _state(store: Store, name: str) -> ChannelRow:
    snapshot = store.channel(name).snapshot()
    assert snapshot is not None
    return snapshot.channel


def _posts_without_the_altered(path: Path, number: int) -> tuple[Post, ...]:
    """Return the posts of the first channel, once the row with this number, which is named as altered, is deleted."""
    with Store.open(path, CODEC) as store:
        (name,) = store.connection.execute("SELECT name FROM channel WHERE id = 1").fetchone()
        with pytest.raises(StoreDamaged, match="timber_post"):
            load_timber(store, name)
        store.connection.execute("DELETE FROM timber_post WHERE number = ?", (number,))
        found = load_timber(store, name)
    assert found is not None
    return found.posts


def test_posts_of_members_channels_are_kept_and_one_that_the_disk_altered_is_still_found(tmp_path: Path) -> None:
    path = unpack(9, tmp_path / "profile" / "sdschat.db")
    post, altered = (1, 0, 3, 9, 5, "hello", 4), (1, 0, 4, 10, 6, "changed", 0)
    with closing(sqlite3.connect(path)) as connection, connection:
        for row, total in ((post, row_sum(post)), (altered, 1)):
            connection.execute("INSERT INTO timber_post VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, total))
    assert _posts_without_the_altered(path, 4) == (Post(PostId(0, 3), 9, 5, "hello", 4),)


def test_the_answered_post_is_kept_and_an_altered_row_is_still_found(tmp_path: Path) -> None:
    path = unpack(10, tmp_path / "profile" / "sdschat.db")
    plain, answer = (1, 0, 3, 9, 5, "hello", 4, 0, 0), (1, 1, 7, 10, 6, "and to you", 0, 0, 3)
    altered = (1, 1, 8, 11, 7, "changed", 0, 0, 0)
    with closing(sqlite3.connect(path)) as connection, connection:
        for row, total in ((plain, row_sum(plain)), (answer, row_sum(answer)), (altered, 1)):
            connection.execute(
                "INSERT INTO timber_post VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row[:7], total, *row[7:])
            )
    assert _posts_without_the_altered(path, 8) == (
        Post(PostId(0, 3), 9, 5, "hello", 4),
        Post(PostId(1, 7), 10, 6, "and to you", 0, PostId(0, 3)),
    )


def test_posts_of_the_first_members_channels_are_kept(tmp_path: Path) -> None:
    path = unpack(8, tmp_path / "profile" / "sdschat.db")
    post = (1, "0:3", 9, 5, "hello", 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO timber_post (channel, name, rank, time, text, edit, sum) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*post, row_sum(post)),
        )
    with Store.open(path, CODEC) as store:
        (name,) = store.connection.execute("SELECT name FROM channel WHERE id = 1").fetchone()
        found = load_timber(store, name)
    assert found is not None
    assert found.posts == (Post(PostId(0, 3), 9, 5, "hello", 4),)
