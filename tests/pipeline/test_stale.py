"""A report is made of a whole verdict on all that is in the lake, or not at all."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import Node
from sdschat.cli.program import run
from sdschat.lake.judge import refine
from sdschat.lake.places import VERSION_FILE, check_version
from tests.audit.worlds import drawn, node
from tests.needs import needs_module
from tests.pipeline.frames import frame, lake_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from sdschat.pipeline.lake import Lake


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": "x"}'])
def test_a_damaged_version_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / VERSION_FILE).write_text(content)
    with pytest.raises(PipelineProblem, match=f"{VERSION_FILE} is damaged.*delete the file"):
        check_version(tmp_path)


def test_an_unfinished_or_outdated_verdict_is_not_reported(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_module("pyarrow")
    lake = lake_of(spark, tmp_path / "lake", drawn(3))

    @contextmanager
    def opened(*_: object) -> Iterator[Lake]:
        yield lake

    monkeypatch.setattr("sdschat.cli.spark.report.open_lake", opened)
    monkeypatch.setattr("sdschat.cli.spark.report.write_report", lambda lake, output: None)

    def report() -> int:
        return run(["pipeline", "report", "--lake", str(tmp_path / "lake"), "-o", str(tmp_path / "page.html")])

    assert report() == 2
    assert "an audit was broken off" in capsys.readouterr().err
    refine(lake)
    lake.note_verdict(whole=False)
    assert report() == 2
    lake.note_verdict(whole=True)
    assert report() == 0
    lake.note_bronze()  # silver made anew from the same rows
    assert report() == 0
    lake.append(Node, frame(spark, Node, [node("late")]))
    assert report() == 2
