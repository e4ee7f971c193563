"""The class archive is made by a run of the pipeline that does everything, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session.java import warm_up
from tests.needs import needs_module

needs_module("pyspark")


@pytest.mark.parametrize("report", [True, False])
def test_of_a_training_run_that_failed_no_archive_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, report: bool
) -> None:
    """The stand-in for Python writes the archive, which it is told of last, and the report that is named before it."""
    failing = tmp_path / "python"
    wrote = 'for each; do last="$each"; done; last=${last##*ArchiveClassesAtExit=}; touch "${last%% *}"; touch "$9"'
    failing.write_text(
        f"#!/bin/sh\n{wrote}\n" if report else f"#!/bin/sh\n{wrote.rpartition(';')[0]}\necho no room left >&2\n"
    )
    failing.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(failing))
    if report:
        assert warm_up(SparkTarget("local[1]", cache=tmp_path / "cache")).exists()
        return
    with pytest.raises(PipelineProblem, match="not made: no room left"):
        warm_up(SparkTarget("local[1]", cache=tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("*classes*"))
