"""A report is made of a whole verdict on all that is in the lake, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sdschat.cli.program import run
from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from tests.audit.worlds import drawn, node, taken
from tests.lake.bronze import bronze
from tests.needs import needs_module


def test_an_unfinished_or_outdated_verdict_is_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pyarrow", "duckdb", "altair", "vl_convert"):
        needs_module(name)
    lake = bronze(tmp_path / "lake", drawn(3))

    def report() -> int:
        return run(["pipeline", "report", "--lake", str(lake), "-o", str(tmp_path / "page.html"), "--engine", "duckdb"])

    assert report() == 2
    said = capsys.readouterr().err
    assert "an audit was broken off" in said
    assert f"sdschat pipeline audit --lake {lake} --engine duckdb." in said
    with open_duck(lake) as there:
        judge.refine(there)
        judge.consolidate(there)
        judge.audit(there)
    assert report() == 0
    with open_duck(lake) as there:
        there.note_begun("by other rules")
    assert report() == 2
    with open_duck(lake) as there:
        there.note_whole()
    assert report() == 0
    bronze(lake, taken(node("late")))
    assert report() == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_who_may_only_read_a_lake_gets_a_report_and_no_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("pyarrow", "duckdb", "altair", "vl_convert"):
        needs_module(name)
    lake = bronze(tmp_path / "lake", drawn(3))
    asked = ["--lake", str(lake), "--engine", "duckdb"]
    run(["pipeline", "audit", *asked])
    (lake / ".audit.lock").chmod(0o400)
    lake.chmod(0o500)
    try:
        assert run(["pipeline", "report", "-o", str(tmp_path / "page.html"), *asked]) == 0
        capsys.readouterr()
        assert run(["pipeline", "audit", *asked]) == 2
    finally:
        lake.chmod(0o700)
    assert "cannot be written: permission denied. Choose another --lake" in capsys.readouterr().err
