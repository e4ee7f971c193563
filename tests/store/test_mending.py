"""The repair of each kind of row after the disk altered it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sdschat.sds.values import AckState, Append, Message, MissingRow, OutgoingRow, Put, Table
from sdschat.store.errors import StoreDamaged
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from sdschat.store.verify import _only_indexes
from tests.store.samples import CODEC, START, log_row, packet_of, state_row

OTHERS = packet_of("lobby", "anna", START, "of another")
OWN = packet_of("lobby", "me", START + 1, "our own", (OTHERS.message_id,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "p" / "sdschat.db"
    with Store.open(file, CODEC) as store:
        row = OutgoingRow(OWN.message_id, START + 1, AckState.POSSIBLY_ACKED, 3, START + 9, ())
        store.commit(
            [
                (
                    "lobby",
                    [
                        Append(log_row(OTHERS)),
                        Append(log_row(OWN, own=True)),
                        Put(Table.OUTGOING, OWN.message_id, row),
                        Put(Table.CHANNEL, "", state_row(START)),
                    ],
                )
            ],
            (),
            [_said(OTHERS), _said(OWN)],
        )
    return file


def _said(message: Message) -> IndexedText:
    text = (message.content or b"").decode()
    return IndexedText("lobby", message.message_id, message.sender_id, text, "known", START)


def _alter(path: Path, sql: str, *values: object) -> None:
    """Change a row without the store, which leaves the checksum as it was."""
    connection = sqlite3.connect(path)
    changed = connection.execute(sql, values).rowcount
    connection.commit()
    connection.close()
    assert changed == 1


def _place(message: Message) -> str:
    return f"place = (SELECT place FROM log WHERE message_id = '{message.message_id}')"


def _ids(store: Store) -> list[str]:
    return [entry.message_id for entry in store.channel("lobby").history.newest(10)]


def test_a_message_whose_packet_was_altered_is_fetched_again(path: Path) -> None:
    _alter(path, f"UPDATE body SET raw = zeroblob(length(raw)) WHERE {_place(OTHERS)}")
    with Store.open(path, CODEC) as store:
        assert [(loss.channel, loss.message_id) for loss in store.losses] == [("lobby", OTHERS.message_id)]
        assert _ids(store) == [OWN.message_id]
        store.commit([("lobby", [Append(log_row(OTHERS))])], (), [_said(OTHERS)])
        assert _ids(store) == [OTHERS.message_id, OWN.message_id]
    with Store.open(path, CODEC) as store:
        assert store.losses == []
    with Store.open_read_only(path, CODEC) as reader:
        assert [message.text for message in reader.messages("lobby", search="another")] == ["of another"]
        assert reader.channels()[0].messages == 2


def test_our_own_message_is_kept_even_if_it_cannot_be_sent_again(path: Path) -> None:
    _alter(path, f"UPDATE body SET raw = x'00' WHERE {_place(OWN)}")
    with Store.open(path, CODEC) as store:
        assert _ids(store) == [OTHERS.message_id, OWN.message_id]
        snapshot = store.channel("lobby").snapshot()
        assert snapshot is not None
        assert snapshot.outgoing == ()
        assert {loss.message_id for loss in store.losses} == {OWN.message_id}


@pytest.mark.parametrize(
    "column", ["lamport = 5", "sender_id = 'mallory'", "dependencies = '[]'", "message_id = 'x'", "channel = 77"]
)
def test_an_entry_that_was_altered_is_made_again_from_its_packet(path: Path, column: str) -> None:
    _alter(path, f"UPDATE log SET {column} WHERE message_id = ?", OWN.message_id)
    with Store.open(path, CODEC) as store:
        assert [loss.message_id for loss in store.losses] == [OWN.message_id]
        assert store.channel("lobby").history.newest(10) == [log_row(OTHERS).entry, log_row(OWN).entry]
        assert store.channel("lobby").history.row(OWN.message_id) == log_row(OWN, own=True)


def test_a_row_whose_channel_was_altered_is_told_of(path: Path) -> None:
    """Nobody looked at the rows of a channel that there is not."""
    with Store.open(path, CODEC) as store:
        row = MissingRow(OTHERS.message_id, None, None, "", START, 0, START, 0, 0, 0)
        store.commit([("lobby", [Put(Table.MISSING, OTHERS.message_id, row)])], (), ())
    _alter(path, "UPDATE missing SET channel = 77")
    with Store.open(path, CODEC) as store:
        (loss,) = store.losses
        assert loss.concerns("lobby")
        assert loss.what == "1 of table missing belonged to no channel"
    with Store.open(path, CODEC) as store:
        assert store.losses == []


def test_a_text_that_was_altered_is_never_shown(path: Path) -> None:
    _alter(path, f"UPDATE text SET text = 'other words' WHERE {_place(OTHERS)}")
    with Store.open_read_only(path, CODEC) as reader:
        first, second = reader.messages("lobby")
        assert (first.text, first.damaged) == (None, "its text was altered on disk")
        assert (second.text, second.damaged) == ("our own", "")
    with Store.open(path, CODEC) as store:
        assert [loss.message_id for loss in store.losses] == [OTHERS.message_id]
    with Store.open_read_only(path, CODEC) as reader:
        assert reader.unindexed("lobby") == [OTHERS.message_id]
        assert list(reader.messages("lobby", search="words")) == []


def test_an_own_message_whose_fate_was_altered_is_sent_again(path: Path) -> None:
    """If it were called acknowledged, it could be lost for good."""
    _alter(path, "UPDATE outgoing SET state = 2")
    with Store.open_read_only(path, CODEC) as reader:
        assert list(reader.messages("lobby"))[1].damaged == "what is known of its acknowledgement was altered on disk"
    with Store.open(path, CODEC) as store:
        snapshot = store.channel("lobby").snapshot()
        assert snapshot is not None
        assert [(row.message_id, row.state) for row in snapshot.outgoing] == [(OWN.message_id, AckState.UNACKED)]
        assert len(store.losses) == 1
    with Store.open(path, CODEC) as store:
        assert store.channel("lobby").snapshot() == snapshot
        assert store.losses == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE channel_state SET lamport = 5", "the state of the channel does not match"),
        ("DELETE FROM channel_state", "its state is gone"),
        ("UPDATE channel SET name = 'lobbz'", "channel number 1 does not match"),
    ],
)
def test_a_clock_or_a_name_that_was_altered_is_refused(path: Path, sql: str, said: str) -> None:
    _alter(path, sql)
    with pytest.raises(StoreDamaged, match=said) as caught, Store.open(path, CODEC) as store:
        store.channel("lobby").snapshot()
    assert caught.value.exit_code == 5


def test_what_is_altered_while_the_node_runs_is_not_handed_out(path: Path) -> None:
    with Store.open(path, CODEC) as store:
        history = store.channel("lobby").history
        _alter(path, f"UPDATE body SET raw = x'00' WHERE {_place(OTHERS)}")
        assert history.row(OTHERS.message_id) is None
        assert list(history.lost) == [OTHERS.message_id]
        _alter(path, f"UPDATE body SET raw = x'00' WHERE {_place(OWN)}")
        assert history.row(OWN.message_id) is None
        assert list(history.lost) == [OTHERS.message_id, OWN.message_id]
        _alter(path, "UPDATE log SET lamport = 5 WHERE message_id = ?", OWN.message_id)
        for ask in (lambda: history.entry(OWN.message_id), lambda: history.newest(5)):
            with pytest.raises(StoreDamaged, match="does not match its checksum"):
                ask()


def test_messages_that_are_gone_are_missed(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("DELETE FROM log WHERE message_id = ?", (OTHERS.message_id,))
    connection.commit()
    connection.close()
    with Store.open(path, CODEC) as store:
        assert [loss.what for loss in store.losses] == ["2 messages were saved and 1 are there"]
    with Store.open(path, CODEC) as store:
        assert store.losses == []


@pytest.mark.parametrize(
    ("problems", "only"),
    [
        (["row 3 missing from index log_by_id", "wrong # of entries in index log_by_id"], True),
        (["row 3 missing from index log_by_id"], True),
        (["wrong # of entries in index log_by_id"], False),
        (["row 3 missing from index log_by_id", "wrong # of entries in index log_by_age"], False),
        (["row 3 missing from index log_by_id", "Tree 5 page 7: btreeInitPage() returns error code 11"], False),
    ],
)
def test_a_database_is_mended_where_indexes_alone_are_wrong(problems: list[str], only: bool) -> None:
    """An index that has more entries than its table shows that rows are gone."""
    assert _only_indexes(problems) is only


def _without_index(path: Path, statement: str) -> None:
    """Carry out a statement on the tables of a database, of which an index is told nothing."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    row = connection.execute("SELECT * FROM sqlite_master WHERE name = 'log_order'").fetchone()
    connection.execute("DELETE FROM sqlite_master WHERE name = 'log_order'")
    connection.commit()
    connection.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(statement)
    connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()


def test_an_index_that_is_wrong_is_made_again(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE log SET lamport = lamport - 7 WHERE message_id = ?", (OTHERS.message_id,))
    connection.commit()
    connection.close()
    _without_index(path, f"UPDATE log SET lamport = lamport + 7 WHERE message_id = '{OTHERS.message_id}'")
    with Store.open(path, CODEC) as store:
        assert store.losses == []
        assert store.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_database_whose_index_has_more_than_its_table_is_refused(path: Path) -> None:
    _without_index(path, f"DELETE FROM log WHERE message_id = '{OTHERS.message_id}'")
    with pytest.raises(StoreDamaged, match="wrong # of entries in index log_order"):
        Store.open(path, CODEC)
