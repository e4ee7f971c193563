"""Databases read by column: the same rows as by row, sound or not."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sdschat.pipeline.schemas import FIELD, Declared, Journal, Message, Node, Packet, Quarantine, columns
from sdschat.pipeline.sources.databases import PacketMemory, Reading
from sdschat.pipeline.sources.files import read_file
from sdschat.store.columns import LOG_COLUMNS, dump_ids
from sdschat.store.sums import row_sum
from tests.needs import needs_module
from tests.pipeline.field import change, database, talk

needs_module("pyarrow")

from sdschat.pipeline.sources import columnar, line_columns  # noqa: E402
from sdschat.pipeline.sources.batch import Batch  # noqa: E402
from sdschat.pipeline.sources.file_batches import Memory, file_batches  # noqa: E402

TABLES = (Journal, Message, Node, Declared, Packet, Quarantine)
_LAST = "(SELECT max(place) - 1 FROM {})"


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are sound ones before the one that is not."""
    monkeypatch.setattr(columnar, "ROWS", 5)


def rows_of(batch: Batch) -> list[Any]:
    values = {name: batch.columns[name].to_pylist() for name in columns(batch.table) if name in batch.columns}
    found = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    plain = dict.fromkeys(columns(batch.table))
    return [batch.table(**plain | {name: _frozen(value) for name, value in row.items()}) for row in found]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def by_column(path: Path, *tables: type) -> Counter[Any]:
    memory = Memory()
    batches = file_batches(Reading(FIELD, path, 1, memory.open), tables or TABLES, memory)
    return Counter(row for batch in batches for row in rows_of(batch))


def by_row(path: Path) -> Counter[Any]:
    return Counter(read_file(Reading(FIELD, path, 1, PacketMemory())))


@pytest.mark.parametrize("name", ["ann", "bob", "cleo"])
def test_a_sound_database_gives_the_same_rows(field: Path, name: str) -> None:
    found = by_column(database(field, name))
    assert {type(row) for row in found} == {Journal, Message, Node}
    assert found == by_row(database(field, name))


def test_a_sound_database_is_not_read_row_by_row(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> object:
        raise AssertionError("row by row")

    monkeypatch.setattr(columnar.Columnar, "messages", never)
    monkeypatch.setattr(columnar.Columnar, "journal", never)
    assert by_column(database(field, "ann"))[next(iter(by_column(database(field, "ann"))))] == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET lamport = lamport + 1 WHERE place = " + _LAST.format("log"),
        "UPDATE log SET dependencies = 'no list' WHERE place = " + _LAST.format("log"),
        "DELETE FROM log WHERE place = " + _LAST.format("log"),
        "DELETE FROM body WHERE place = " + _LAST.format("body"),
        "UPDATE body SET raw = x'00' WHERE place = " + _LAST.format("body"),
        "UPDATE text SET text = 'forged' WHERE place = " + _LAST.format("text"),
        "DELETE FROM text WHERE place = " + _LAST.format("text"),
        "UPDATE outgoing SET state = 0, sends = 9 WHERE place = (SELECT max(place) FROM outgoing)",
        "UPDATE journal SET cause = 'forged' WHERE place = " + _LAST.format("journal"),
        "DELETE FROM journal WHERE place = " + _LAST.format("journal"),
        "UPDATE boot SET boot = 'forged'",
        "UPDATE channel SET messages = 1",
    ],
)
def test_an_altered_database_gives_the_same_rows(field: Path, tmp_path: Path, statement: str) -> None:
    shutil.copytree(field, tmp_path / "copy")
    change(tmp_path / "copy", "ann", statement)
    found = by_column(database(tmp_path / "copy", "ann"))
    assert found == by_row(database(tmp_path / "copy", "ann"))
    assert found != by_column(database(field, "ann"))


def test_a_row_that_is_forged_with_its_checksum_is_held_against_its_packet(field: Path, tmp_path: Path) -> None:
    shutil.copytree(field, tmp_path / "copy")
    path = database(tmp_path / "copy", "bob")
    with sqlite3.connect(path) as connection:
        row = list(connection.execute(f"SELECT {LOG_COLUMNS} FROM log ORDER BY place DESC").fetchone())
        row[5] = dump_ids(("another",))
        connection.execute(
            "UPDATE log SET dependencies = ?, sum = ? WHERE place = ?", (row[5], row_sum(row[:-1]), row[0])
        )
    connection.close()
    found = by_column(path)
    assert found == by_row(path)
    assert [row.damage for row in found if isinstance(row, Message) and row.damage] == [
        "its packet has another dependencies"
    ]


def test_only_the_tables_that_are_asked_for_are_read(field: Path) -> None:
    path = database(field, "cleo")
    for tables in ([Journal], [Message, Node], [Declared], [Quarantine]):
        assert by_column(path, *tables) == Counter(row for row in by_row(path) if type(row) in tables)


EVENT: dict[str, Any] = {
    "v": 1, "node": "ann", "boot": "b", "seq": 1, "ts_ms": 5, "event": "delivered", "deps": ["x"], "lamport": None,
}  # fmt: skip
SOUND = [json.dumps(EVENT | {"seq": seq}) for seq in range(1, 4)]


@pytest.mark.parametrize(
    "lines",
    [
        SOUND,
        [*SOUND, json.dumps(EVENT | {"seq": 9, "run_id": "berlin", "channel": "é", "extra": "{}"})],
        [*SOUND, json.dumps(EVENT | {"mood": "good"})],
        [*SOUND, SOUND[0][:-4]],
        [*SOUND, "", SOUND[0]],
        [*SOUND, SOUND[0] + SOUND[1]],
        [SOUND[0] + SOUND[1], SOUND[2][:20], SOUND[2][20:]],
        [*SOUND, json.dumps(EVENT | {"deps": ["x", None]})],
        [*SOUND, json.dumps(EVENT | {"deps": "x"})],
        *([*SOUND, json.dumps(EVENT | {"seq": seq})] for seq in ("1", 1.0, 1.5, True, None, 2**63, -1)),
        *([*SOUND, json.dumps(EVENT | {"node": node})] for node in ("\ud800", 5, None, "", "\x00", "a\nb")),
        [*SOUND, SOUND[0].replace('"v"', '"v": 2, "v"')],
        [*SOUND, "[1]"],
        [*SOUND, "{}"],
        ['{"tap": "t", "seq": 1, "ts_ms": 1, "topic": "x/msg", "channel": "c", "raw": "AAAA"}'],
    ],
)
def test_an_export_gives_the_same_rows(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert by_column(path) == by_row(path)


@pytest.mark.parametrize("end", [b'{"torn": ', b'{"v": "\xff"}\n', SOUND[0].encode() + b"\r\n", b"\xef\xbb\xbf{}\n"])
def test_an_export_with_odd_bytes_gives_the_same_rows(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(f"{SOUND[0]}\n".encode() + end)
    assert by_column(path) == by_row(path)


def test_lines_are_counted_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_columns, "_BLOCK", 300)
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(f"{line}\n" for line in [*SOUND * 5, "odd", *SOUND]))
    found = by_column(path)
    assert found == by_row(path)
    assert [row.place for row in found if isinstance(row, Quarantine)] == ["line 16"]


def test_only_of_events_that_rise_it_is_known_that_none_is_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    other = json.dumps(EVENT | {"boot": "c"})
    path.write_text("".join(f"{line}\n" for line in [*SOUND, other]))
    assert line_columns.stretches(path) == {("ann", "b"), ("ann", "c")}
    path.write_text("".join(f"{line}\n" for line in [*SOUND, other, SOUND[1]]))
    assert line_columns.stretches(path) is None
