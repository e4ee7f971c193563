"""A damaged search index is reported, and does not change the verdict."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from sdschat.audit.several import search_is_damaged
from sdschat.cli.program import program
from tests.audit.field import NAMES, change, database, nth

WIPED = "UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10"


def audited(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(program, ["audit", *arguments], standalone_mode=False)
    return int(done.return_value), done.stdout


def test_what_nodes_wrote_can_be_searched(field: Path) -> None:
    assert not any(search_is_damaged(database(field, name)) for name in NAMES)


def test_so_can_what_is_left_when_texts_were_deleted_and_written_anew(field: Path) -> None:
    place = nth(field, "ann", 3)[0]
    text = "SELECT text FROM text WHERE place = ?"
    change(field, "ann", f"INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ({text}1))", place)
    assert not search_is_damaged(database(field, "ann"))
    change(field, "ann", "INSERT INTO search (rowid, text) VALUES (?, 'something else altogether')", place)
    assert not search_is_damaged(database(field, "ann"))


@pytest.mark.parametrize(
    "statement",
    [
        WIPED,
        "DELETE FROM search_data WHERE id > 10",
        "DELETE FROM search_idx",
        "DELETE FROM search_docsize",
        "UPDATE search_data SET block = 'no bytes' WHERE id = 1",
        "UPDATE search_data SET block = x'' WHERE id = 1",
        "UPDATE search_config SET v = 99 WHERE k = 'version'",
    ],
)
def test_an_index_that_lost_something_is_damaged(field: Path, statement: str) -> None:
    change(field, "bob", statement)
    assert search_is_damaged(database(field, "bob"))


def test_a_view_without_end_in_the_place_of_a_table_is_named_and_not_read(field: Path) -> None:
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT k, v FROM spare, n"
    change(field, "bob", "ALTER TABLE search_config RENAME TO spare")
    change(field, "bob", f"CREATE VIEW search_config AS {endless}")
    assert not search_is_damaged(database(field, "bob"))
    code, told = audited(*(str(database(field, name)) for name in NAMES))
    assert code == 5
    assert "its tables are not those of schema" in told


def test_a_page_of_it_that_was_overwritten_is_found(field: Path) -> None:
    path = database(field, "bob")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'search_data'").fetchone()
    connection.close()
    with open(path, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(random.Random(1).randbytes(size))
    assert search_is_damaged(path)


def test_a_file_that_is_no_database_is_told_of_by_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(b"something else" * 1_000)
    assert not search_is_damaged(path)


@pytest.mark.parametrize("report", [False, True])
def test_an_audit_says_so_and_that_the_nodes_agree(field: Path, report: bool, tmp_path: Path) -> None:
    change(field, "bob", WIPED)
    options = ["--report", str(tmp_path / "report.html")] if report else []
    code, out = audited(str(field), *options)
    assert code == 0
    told = [line for line in out.splitlines() if "search index" in line]
    assert told == [
        f"{database(field, 'bob')}: the search index is damaged, on which no message depends; searches there may find "
        "too little"
    ]


def test_in_json_it_is_a_list_of_files(field: Path) -> None:
    change(field, "bob", WIPED)
    code, out = audited(str(field), "--json")
    found = json.loads(out)
    assert (code, found["agreed"], found["unsearchable"]) == (0, True, [str(database(field, "bob"))])
