"""Several databases of one identity in a lake: a fault where they went different ways, as in an audit of databases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.audit.schemas import FIELD
from sdschat.audit.verdict import Audit
from tests.audit.field import database
from tests.audit.test_apart import both, copied, speak
from tests.needs import needs_module

for module in ("pyarrow", "duckdb", "deltalake"):
    needs_module(module)

from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from sdschat.lake.ingest import ingest
from sdschat.lake.judge import audit_of
from sdschat.lake.tables import Tables


def judged(lake: Path, *ingests: list[Path]) -> Audit:
    for read_ms, paths in enumerate(ingests, 1):
        ingest(Tables(str(lake)), paths, FIELD, read_ms)
    with open_duck(lake) as there:
        judge.refine(there)
        judge.consolidate(there)
        judge.audit(there)
        return audit_of(there)


@pytest.mark.parametrize("at_once", [True, False])
def test_two_databases_of_one_identity_that_went_apart_do_not_agree(field: Path, tmp_path: Path, at_once: bool) -> None:
    other = copied(field, tmp_path)
    asyncio.run(speak(field, "said here"))
    asyncio.run(speak(other, "said there"))
    here, there = [database(field, "bob"), database(field, "ann")], [database(other, "ann")]
    found = judged(tmp_path / "lake", *([[*here, *there]] if at_once else [here, there]))
    assert not found.agreed
    (row,) = [row for row in found.findings if row.kind == "apart"]
    (wanted,) = [row for row in both(field, other).audit.findings if row.kind == "apart"]
    assert (row.node, row.detail) == (wanted.node, wanted.detail)


def test_older_and_newer_copies_are_no_fault(field: Path, tmp_path: Path) -> None:
    other = copied(field, tmp_path)
    asyncio.run(speak(field, "said later"))
    older, newer = [database(other, "ann")], [database(field, "ann"), database(field, "bob")]
    for name, ingests in (("one", [older, newer]), ("two", [newer, older]), ("three", [[*older, *newer]])):
        found = judged(tmp_path / name, *ingests)
        assert [row for row in found.findings if row.kind == "apart"] == []
