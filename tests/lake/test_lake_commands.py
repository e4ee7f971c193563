"""Wrong uses that the pipeline's commands refuse before Spark starts, and audits of a lake."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sdschat.audit.errors import install_command
from sdschat.audit.report import PAGE_START
from sdschat.audit.schemas import FIELD, AuditMissing, AuditNode, Node
from sdschat.audit.verdict import DEFAULT, LOST, Audit
from sdschat.cli.errors import CommandProblem
from sdschat.cli.program import run
from tests.audit.field import change, nth
from tests.lake.bronze import stored
from tests.needs import needs_module

for module in ("pyspark", "pyarrow", "duckdb", "deltalake"):
    needs_module(module)

from sdschat.cli.spark.audit import judge, must_have, tell
from sdschat.lake.duck import DuckLake, open_duck
from sdschat.lake.ingest import ingest
from sdschat.lake.judge import MOST, Refused, ResultScope, audit_of, places_in, refused_in
from sdschat.lake.tables import Tables

NOWHERE = ("--remote", "sc://127.0.0.1:1")  # a command that asks for Spark ends with 3
WITHOUT_SPARK = ("ingest", "stream")
Said = pytest.CaptureFixture[str]


def refused(capsys: Said, *arguments: object) -> str:
    """Return the message of a wrongly used command."""
    where = () if arguments[0] in WITHOUT_SPARK else NOWHERE
    assert run(["pipeline", *map(str, arguments), *where]) == 2
    said = capsys.readouterr().err
    assert "unexpected" not in said
    return said


@pytest.mark.parametrize("name", ["consolidate", "audit", "metrics", "report", "archive", "run"])
def test_a_folder_that_is_no_lake_is_refused_and_left_as_it_is(name: str, tmp_path: Path, capsys: Said) -> None:
    assert "Nothing was taken in here" in refused(capsys, name, "--lake", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_lake_without_a_name_is_refused(capsys: Said) -> None:
    assert "is empty" in refused(capsys, "audit", "--lake", "")


def test_a_lake_that_is_a_file_is_refused(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "one.db").touch()
    (tmp_path / "lake").touch()
    for lake in (tmp_path / "lake", tmp_path / "lake" / "within"):
        assert "Choose another --lake" in refused(capsys, "ingest", tmp_path / "one.db", "--lake", lake)
        assert "Choose another --lake" in refused(capsys, "stream", tmp_path, "--lake", lake)


def test_a_lake_where_delta_tables_cannot_be_is_refused_and_not_made(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "one.db").touch()
    assert "Choose another folder" in refused(capsys, "ingest", tmp_path / "one.db", "--lake", tmp_path / "lake [1]")
    assert [path.name for path in tmp_path.iterdir()] == ["one.db"]


def test_without_deltalake_the_command_says_what_to_install(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    for name in [name for name in sys.modules if name.startswith("sdschat.lake.")]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "one.db").touch()
    said = refused(capsys, "ingest", tmp_path / "one.db", "--lake", tmp_path / "lake")
    assert install_command("pipeline") in said


def test_a_tap_does_not_record_into_a_file(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "file").touch()
    said = refused(capsys, "stream", tmp_path / "file", "--lake", tmp_path / "lake", "--tap", "lobby")
    assert "Choose another DIR" in said


@pytest.mark.parametrize("name", ["run", "report"])
def test_a_report_that_cannot_be_written_is_told_before_the_work(name: str, tmp_path: Path, capsys: Said) -> None:
    gone = tmp_path / "gone" / "x.html"
    assert "there is no folder" in refused(capsys, name, "--lake", tmp_path, "-o", gone)
    assert "is a folder" in refused(capsys, name, "--lake", tmp_path, "-o", tmp_path)


@pytest.mark.parametrize("every", ["2 seconds", "soon", "-1s", ""])
def test_a_pause_that_is_no_duration_is_refused(every: str, tmp_path: Path, capsys: Said) -> None:
    said = refused(capsys, "stream", tmp_path, "--lake", tmp_path / "lake", "--every", every)
    assert "must be a duration such as 500ms, 30s or 10m" in said
    assert list(tmp_path.iterdir()) == []


def test_a_project_is_not_written_into_a_file(tmp_path: Path, capsys: Said) -> None:
    (tmp_path / "file").touch()
    assert run(["pipeline", "init-sdp", str(tmp_path / "file"), "--lake", "lake"]) == 2
    assert "Name another folder" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_leaves_the_verdict_told(field: Path, tmp_path: Path, capsys: Said) -> None:
    gone = str(tmp_path / "gone" / "x.html")
    assert run(["audit", str(field), "--report", gone]) == 2
    said = capsys.readouterr()
    assert "everybody has everything" in said.out
    assert said.err == f"sdschat: {gone} cannot be written: No such file or directory. Choose another --report.\n"
    change(field, "bob", "DELETE FROM log WHERE place = ?", nth(field, "bob", 4)[0])
    assert run(["audit", str(field), "--report", gone]) == 1


def test_a_report_replaces_a_link_to_a_report_and_leaves_what_it_points_to_alone(field: Path, tmp_path: Path) -> None:
    precious, page = tmp_path / "precious", tmp_path / "page.html"
    page.symlink_to(precious)
    for text in ("mine", PAGE_START):
        precious.write_text(text)
        refused = text == "mine"
        assert run(["audit", str(field), "--report", str(page)]) == (2 if refused else 0)
        assert (precious.read_text(), page.is_symlink()) == (text, refused)
    assert page.read_text().startswith(PAGE_START)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@contextmanager
def lake_of(folder: Path, profiles: Path, run_id: str = FIELD) -> Iterator[DuckLake]:
    """Open a lake of these databases."""
    ingest(Tables(str(folder)), sorted(profiles.rglob("*.db")), run_id, 1)
    with open_duck(folder) as lake:
        yield lake


@pytest.mark.parametrize(("lacks", "code"), [(False, 5), (True, 1)])
def test_an_audit_names_what_is_in_quarantine(
    field: Path, tmp_path: Path, capsys: Said, lacks: bool, code: int
) -> None:
    (field / "odd.db").write_text("not a database")
    if lacks:
        change(field, "cleo", "DELETE FROM log WHERE place = ?", nth(field, "cleo", 3)[0])
    with lake_of(tmp_path / "lake", field) as lake:
        judge(lake, DEFAULT)
        found, bad, places = audit_of(lake), refused_in(lake), places_in(lake)
    capsys.readouterr()
    assert tell(found, bad, places, as_json=False) == code
    assert "1 input is in quarantine" in capsys.readouterr().out
    assert tell(found, bad, places, as_json=True) == code
    (row,) = json.loads(capsys.readouterr().out)["unreadable"]
    assert row["source"].endswith("odd.db")


def test_an_audit_of_a_lake_says_what_an_audit_of_the_databases_says(field: Path, tmp_path: Path, capsys: Said) -> None:
    change(field, "cleo", "DELETE FROM log WHERE place = ?", nth(field, "cleo", 3)[0])
    assert run(["audit", str(field)]) == 1
    quick = capsys.readouterr().out
    with lake_of(tmp_path / "lake", field) as lake:
        judge(lake, DEFAULT)
        capsys.readouterr()
        assert tell(audit_of(lake, ResultScope(FIELD, "lobby")), refused_in(lake), places_in(lake), as_json=False) == 1
    assert capsys.readouterr().out == quick
    assert "To look closer:" in quick


def test_ingest_and_audit_by_their_commands(field: Path, tmp_path: Path, capsys: Said) -> None:
    lake = str(tmp_path / "lake")
    assert run(["pipeline", "ingest", str(field), "--lake", lake, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["tables"]["file"] == {"read": 3, "added": 3}
    assert counts["quarantine"] == []
    assert run(["pipeline", "audit", "--lake", lake, "--engine", "duckdb"]) == 0
    capsys.readouterr()
    (field / "odd.db").write_text("not a database")
    assert run(["pipeline", "ingest", str(field), "--lake", lake]) == 5, "as `audit` of the same folder"
    said = capsys.readouterr()
    assert "file                4 read           1 added" in said.out
    assert "not taken: " in said.err


def test_an_audit_of_nothing_does_not_say_that_nodes_agree(capsys: Said) -> None:
    assert tell(Audit([], [], [], [], []), Refused(0, []), {}, as_json=False) == 2
    assert "There is nothing to compare" in capsys.readouterr().out


def test_a_campaign_or_channel_that_a_lake_does_not_have_is_told(untouched: Path, tmp_path: Path) -> None:
    with lake_of(tmp_path / "lake", untouched, "berlin") as lake:
        must_have(lake, ResultScope("berlin", "lobby"))
        for part, says in (
            (ResultScope("berlim"), "Did you mean berlin"),
            (ResultScope("berlin", "ops"), "There are: lobby"),
        ):
            with pytest.raises(CommandProblem, match=says):
                must_have(lake, part)


def test_a_campaign_beyond_those_that_would_be_listed_is_found(tmp_path: Path) -> None:
    some = [Node(f"run{at:06}", "", f"room{at:06}", 0, 0, None, 0, 0, "", 0, "", "") for at in range(MOST + 2)]
    Tables(str(tmp_path)).append(Node, stored(Node, some))
    with open_duck(tmp_path) as lake:
        must_have(lake, ResultScope(f"run{MOST + 1:06}", f"room{MOST + 1:06}"))
        must_have(lake, ResultScope(None, f"room{MOST + 1:06}"))
        with pytest.raises(CommandProblem, match="Did you mean room000002"):
            must_have(lake, ResultScope("run000002", "room000001"))


def test_where_there_are_too_many_rows_those_that_tell_of_a_difference_are_brought(tmp_path: Path) -> None:
    tables = Tables(str(tmp_path))
    sound = AuditNode(FIELD, "lobby", "a", None, 3, 3, 0, 0, 0, 0, 1, 1, None, None, None, True)
    nodes = [sound._replace(node=f"a{at}") for at in range(5)]
    tables.replace(AuditNode, stored(AuditNode, [*nodes, sound._replace(node="z", missing=1, agrees=False)]))
    excused = [AuditMissing(FIELD, "lobby", at, at, f"m{at}", "a0", "z", "lagging", "", at, 1) for at in range(1, 6)]
    missing = [*excused, excused[0]._replace(position=9, reason=LOST)]
    tables.replace(AuditMissing, stored(AuditMissing, missing))
    with open_duck(tmp_path) as lake:
        found = audit_of(lake, most=2)
    assert [row.node for row in found.nodes] == ["a0", "z"]
    assert [(row.position, row.reason) for row in found.missing] == [(1, "lagging"), (9, LOST)]
