"""Databases read by column: the same rows as by row, sound or not."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.schemas import FIELD, Declared, Journal, Message, Node, Quarantine
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import change, database, forge, nth, talk
from tests.needs import needs_module

needs_module("pyarrow")

from sdschat.audit.sources import columnar
from sdschat.lake.sources import batch
from sdschat.lake.sources.files import file_batches
from tests.lake.by_row import TABLES, read_file, rows_of

_LAST = "(SELECT max(place) - 1 FROM {})"


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make batches small, so that sound batches precede the altered one."""
    monkeypatch.setattr(columnar, "ROWS", 5)


def by_column(path: Path, *tables: type) -> Counter[Any]:
    batches = file_batches(Reading(FIELD, path, 1, Memory(sized=True)), tables or TABLES)
    return Counter(row for each in batches for row in rows_of(each))


def by_row(path: Path) -> Counter[Any]:
    return Counter(read_file(Reading(FIELD, path, 1, Memory(sized=True))))


@pytest.mark.parametrize("name", ["ann", "bob", "cleo"])
def test_a_sound_database_gives_the_same_rows(field: Path, name: str) -> None:
    found = by_column(database(field, name))
    assert {type(row) for row in found} == {Journal, Message, Node}
    assert found == by_row(database(field, name))


def never(*_: object) -> object:
    raise AssertionError("row by row")


def test_a_sound_database_is_not_read_row_by_row(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar.Columnar, "messages", never)
    monkeypatch.setattr(columnar.Columnar, "journal", never)
    assert by_column(database(field, "ann"))[next(iter(by_column(database(field, "ann"))))] == 1


def test_a_store_that_let_packets_go_gives_the_same_rows_and_is_not_read_row_by_row(
    field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(Path(shutil.copytree(field, tmp_path / "copy")), "bob")
    with Store.open(path, SdsCodec()) as store:
        newest = max(row.lamport for row in by_row(path) if isinstance(row, Message))
        assert drop_oldest(store, "lobby", newest, 100, 1).packets > 0
    rows = by_row(path)
    assert any(row.raw is None and row.damage is None for row in rows if isinstance(row, Message))
    monkeypatch.setattr(columnar.Columnar, "messages", never)
    assert by_column(path) == rows


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET lamport = lamport + 1 WHERE place = " + _LAST.format("log"),
        "UPDATE log SET dependencies = 'no list' WHERE place = " + _LAST.format("log"),
        "UPDATE log SET dependencies = '[\"\\ud800\"]' WHERE place = " + _LAST.format("log"),
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
    copy = Path(shutil.copytree(field, tmp_path / "copy"))
    forge(copy, "bob", "log", nth(copy, "bob", 11)[0], dependencies='["another"]')
    found = by_column(database(copy, "bob"))
    assert found == by_row(database(copy, "bob"))
    assert [row.damage for row in found if isinstance(row, Message) and row.damage] == [
        "its packet has another dependencies"
    ]


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("log", {"channel": 7}),
        ("log", {"place": 9 << 40}),
        ("log", {"own": 2**40}),
        ("log", {"dependencies": "[1]"}),
        ("journal", {"deps": "[1]"}),
        ("journal", {"deps": '["\\ud800"]'}),
    ],
)
def test_a_forged_value_of_another_kind_gives_the_same_rows(
    field: Path, tmp_path: Path, table: str, values: dict[str, object]
) -> None:
    copy = Path(shutil.copytree(field, tmp_path / "copy"))
    place = nth(copy, "bob", 8)[0] if table == "log" else (1 << 40) + 9
    forge(copy, "bob", table, place, **values)
    found = by_column(database(copy, "bob"))
    assert found == by_row(database(copy, "bob"))
    assert found != by_column(database(field, "bob"))


@pytest.mark.parametrize(
    ("table", "values"),
    [("log", {"lamport": -1}), ("log", {"dependencies": "5"}), ("outgoing", {"state": 7}), ("journal", {"deps": "x"})],
)
def test_a_value_that_no_row_has_is_told_of_its_database(
    field: Path, tmp_path: Path, table: str, values: dict[str, object]
) -> None:
    copy = Path(shutil.copytree(field, tmp_path / "copy"))
    place = {"log": nth(copy, "bob", 8)[0], "outgoing": 1, "journal": (1 << 40) + 9}[table]
    forge(copy, "bob", table, place, **values)
    both = by_column(database(copy, "bob")), by_row(database(copy, "bob"))
    reasons = [[row.reason for row in found if isinstance(row, Quarantine)] for found in both]
    assert reasons[0] == reasons[1]
    for found in both:
        assert ["damaged" in row.reason for row in found if isinstance(row, Quarantine)] == [True]
        assert not any(isinstance(row, Node) for row in found) or table == "journal"


def test_only_the_tables_that_are_asked_for_are_read(field: Path) -> None:
    path = database(field, "cleo")
    for tables in ([Journal], [Message, Node], [Declared], [Quarantine]):
        assert by_column(path, *tables) == Counter(row for row in by_row(path) if type(row) in tables)


EVENT: dict[str, Any] = {
    "v": 1,
    "node": "ann",
    "boot": "b",
    "seq": 1,
    "ts_ms": 5,
    "event": "delivered",
    "deps": ["x"],
    "lamport": None,
}
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
        *([*SOUND, json.dumps(EVENT | {"run_id": run})] for run in (5, ["a"], "\ud800", "", None)),
        [*SOUND, json.dumps(EVENT | {"deps": ["\ud800"]})],
        [*SOUND, '{"v": ' + "[" * 100_000],
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
    monkeypatch.setattr("sdschat.lake.sources.files._BLOCK", 300)
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(f"{line}\n" for line in [*SOUND * 5, "odd", *SOUND]))
    found = by_column(path)
    assert found == by_row(path)
    assert [row.place for row in found if isinstance(row, Quarantine)] == ["line 16"]


def test_a_line_may_be_longer_than_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.lake.sources.files._BLOCK", 50)
    path = tmp_path / "journal.jsonl"
    for end in ("\n", ""):
        path.write_text("\n".join([*SOUND, json.dumps(EVENT | {"seq": 4, "deps": ["y" * 500]}), SOUND[0]]) + end)
        assert by_column(path) == by_row(path)


@pytest.mark.parametrize("statement", ["SELECT 1", "UPDATE log SET via = 'moon' WHERE place = " + _LAST.format("log")])
def test_large_packets_are_held_a_few_at_a_time(
    field: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    copy = Path(shutil.copytree(field, tmp_path / "copy"))
    change(copy, "ann", statement)
    for module in (columnar, batch):
        monkeypatch.setattr(module, "ROWS", 10_000)
        monkeypatch.setattr(module, "BYTES", 700)
    path = database(copy, "ann")
    found = [each for each in file_batches(Reading(FIELD, path, 1, Memory(sized=True)), [Message])]
    assert max(each.rows.num_rows for each in found) <= 3 < len(found)
    assert by_column(path) == by_row(path)
