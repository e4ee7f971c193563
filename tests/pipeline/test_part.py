"""A file written by a task appears complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.needs import needs_module

needs_module("pyarrow")

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402

from sdschat.pipeline.sources import part  # noqa: E402
from sdschat.pipeline.sources.part import ParquetPart, tidy  # noqa: E402


def rows(*values: int) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pydict({"seq": list(values)})


def test_batches_are_in_the_file_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "_GROUP", 20)
    path = tmp_path / "table" / "part-1.parquet"
    with ParquetPart(path) as written:
        for batch in (rows(1, 2), rows(3, 4, 5), rows(6)):
            written.write(batch)
        assert not path.exists()
    assert [each.name for each in path.parent.iterdir()] == ["part-1.parquet"]
    with pyarrow.parquet.ParquetFile(path) as found:
        assert found.read()["seq"].to_pylist() == [1, 2, 3, 4, 5, 6]
        assert found.num_row_groups == 2


def test_where_there_is_nothing_there_is_no_file(tmp_path: Path) -> None:
    with ParquetPart(tmp_path / "table" / "part-1.parquet"):
        pass
    assert not (tmp_path / "table").exists()


def test_who_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "_GROUP", 0)

    def fail() -> None:
        with ParquetPart(tmp_path / "part-1.parquet") as written:
            written.write(rows(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not [*tmp_path.iterdir()]


def test_a_task_that_outlives_its_spark_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ParquetPart(tmp_path / "part-1.parquet") as written:
        written.write(rows(1))
        monkeypatch.setattr(os, "getppid", lambda: 1)
    assert not [*tmp_path.iterdir()]


def test_what_is_no_task_writes_although_the_shell_that_started_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ParquetPart(tmp_path / "part-1.parquet", outlives=True) as written:
        written.write(rows(1))
        monkeypatch.setattr(os, "getppid", lambda: 1)
    assert [path.name for path in tmp_path.iterdir()] == ["part-1.parquet"]


def test_what_somebody_left_who_was_killed_is_tidied_away_and_what_is_whole_stays(tmp_path: Path) -> None:
    kept = {"part-1.parquet", ".part-1.parquet.crc", "_SUCCESS"}
    for name in (*kept, ".part-2.parquet.77.new"):
        (tmp_path / name).touch()
    (tmp_path / "_temporary" / "0").mkdir(parents=True)
    tidy(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept
