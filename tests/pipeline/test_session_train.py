"""The class archive is made by a run of the pipeline that does everything, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session.java import warm_up
from tests.needs import needs_module

needs_module("pyspark")


def stand_in(folder: Path, report: bool) -> Path:
    """Return a stand-in for Python. It writes the archive, which it is told of last, and the report that is named
    before it, or none."""
    wrote = 'for each; do last="$each"; done; last=${last##*ArchiveClassesAtExit=}; touch "${last%% *}"; touch "$9"'
    made = folder / "python"
    made.write_text(
        f"#!/bin/sh\n{wrote}\n" if report else f"#!/bin/sh\n{wrote.rpartition(';')[0]}\necho no room left >&2\n"
    )
    made.chmod(0o755)
    return made


@pytest.mark.parametrize("report", [True, False])
def test_of_a_training_run_that_failed_no_archive_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, report: bool
) -> None:
    monkeypatch.setattr("sys.executable", str(stand_in(tmp_path, report)))
    if report:
        assert warm_up(SparkTarget("local[1]", cache=tmp_path / "cache")).exists()
        return
    with pytest.raises(PipelineProblem, match="not made: no room left"):
        warm_up(SparkTarget("local[1]", cache=tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("*classes*"))


def test_a_training_run_that_failed_leaves_the_archive_of_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    where = SparkTarget("local[1]", cache=tmp_path / "cache")
    monkeypatch.setattr("sys.executable", str(stand_in(tmp_path, report=True)))
    archive = warm_up(where)
    monkeypatch.setattr("sys.executable", str(stand_in(tmp_path, report=False)))
    with pytest.raises(PipelineProblem):
        warm_up(where)
    assert list(archive.parent.glob("*classes*")) == [archive]
