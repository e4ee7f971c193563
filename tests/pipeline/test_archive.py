"""The archive: written by Spark, read without it."""

from __future__ import annotations

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.needs import needs_module

needs_module("pyarrow")
needs_module("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import FIELD, Log, ddl
from sdschat.cli.program import run
from sdschat.cli.spark.get import command as get
from sdschat.pipeline import archive
from sdschat.pipeline.archive import BY_ID, BY_PLACE, END, Archive, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 300


def _row(channel: str, position: int) -> Log:
    message_id = f"{(position * 7919) % 1009:04x}-{channel}"
    return Log("field", channel, position, 1000 + 10 * position, message_id, "ann", (), "d", "r", 1, 0, 0)


ROWS = [_row(channel, position) for channel in ("lobby", "yard") for position in range(1, COUNT + 1)]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a lake with row groups of 50 messages, so that a look-up has to choose."""
    folder = tmp_path_factory.mktemp("lake")
    log = spark.createDataFrame([tuple(row) for row in ROWS], ddl(Log))
    raw = spark.createDataFrame(
        [("field", "lobby", ROWS[0].message_id, b"packet")],
        "run_id STRING, channel STRING, message_id STRING, raw BINARY",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "ROWS_A_GROUP", 50)
        assert archive.write_archive(log, raw, str(folder)) == len(ROWS)
    return folder


def _first(archive: Archive, number: int) -> Row:
    message_id = ROWS[number].message_id
    return archive.beginning(message_id)[message_id][0]


def test_every_message_is_found_by_its_id(lake: Path) -> None:
    archive = Archive(lake)
    for row in ROWS[:: len(ROWS) // 20]:
        assert [found["position"] for found in archive.beginning(row.message_id)[row.message_id]] == [row.position]
    archive.close()


def test_the_bytes_of_a_packet_are_there_where_they_are_known(lake: Path) -> None:
    archive = Archive(lake)
    assert _first(archive, 0)["raw"] == b"packet"
    assert _first(archive, 1)["raw"] is None
    archive.close()


def test_positions_of_one_channel_come_in_order(lake: Path) -> None:
    archive = Archive(lake)
    found = archive.between("position", 95, 210, "yard", FIELD)
    assert [(row["channel"], row["position"]) for row in found] == [("yard", at) for at in range(95, 211)]
    archive.close()


def test_from_a_lamport_time_on(lake: Path) -> None:
    archive = Archive(lake)
    found = archive.between("lamport", 1995, END, "lobby", FIELD)
    assert [row["position"] for row in islice(found, 3)] == [100, 101, 102]
    archive.close()


@pytest.mark.parametrize("message_id", ["", "zzz", "0000", "'; drop"])
def test_an_unknown_id_is_nowhere(lake: Path, message_id: str) -> None:
    archive = Archive(lake)
    assert archive.beginning(message_id) == {}
    archive.close()


def test_where_there_is_no_archive_it_is_said_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(PipelineProblem, match="sdschat pipeline archive"):
        Archive(tmp_path)


def test_the_command_prints_json_lines(lake: Path) -> None:
    arguments = ["--lake", str(lake), "--channel", "lobby", "--positions", "3-4"]
    result = CliRunner().invoke(get, arguments, standalone_mode=False)
    assert [json.loads(line)["position"] for line in result.output.splitlines()] == [3, 4]
    assert result.return_value == 0


def test_the_command_says_what_it_did_not_find(lake: Path) -> None:
    result = CliRunner().invoke(get, ["--lake", str(lake), "nowhere", ROWS[0].message_id], standalone_mode=False)
    assert result.return_value == 1
    assert "not in the archive: nowhere" in result.output


def asked(lake: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Run the command. Return its exit code, the lines of standard output, and standard error."""
    code = run(["pipeline", "get", "--lake", str(lake), *arguments])
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err


def places(rows: list[str]) -> list[int]:
    return [json.loads(row)["position"] for row in rows]


def test_a_range_of_positions_is_given_whole(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, said = asked(lake, capsys, "--channel", "lobby", "--positions", "100-250")
    assert (code, places(rows), said) == (0, list(range(100, 251)), "")


def test_a_range_cut_by_a_count_says_where_it_goes_on(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, said = asked(lake, capsys, "--channel", "lobby", "--positions", "100-250", "--count", "3")
    assert (code, places(rows)) == (0, [100, 101, 102])
    assert "--positions 103-250" in said


def test_a_count_that_is_not_reached_cuts_nothing(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(lake, capsys, "--channel", "lobby", "--positions", "299-400", "--count", "2")[2] == ""


@pytest.mark.parametrize(
    ("since", "until", "first", "last"),
    [
        ("3980", None, 298, 300),
        (None, "1999", 1, 99),
        ("1970-01-01T00:00:03.980+00:00", None, 298, 300),
        (None, "1030", 1, 3),
        ("1970-01-01T00:00:01.015+00:00", "1970-01-01T00:00:01.03+00:00", 2, 3),
    ],
)
def test_a_range_of_time_is_given_by_moments_or_lamport_times(
    lake: Path, capsys: pytest.CaptureFixture[str], since: str | None, until: str | None, first: int, last: int
) -> None:
    given = [part for name, value in (("--since", since), ("--until", until)) if value for part in (name, value)]
    code, rows, said = asked(lake, capsys, "--channel", "lobby", *given)
    assert (code, places(rows), said) == (0, list(range(first, last + 1)), "")


def test_a_range_of_time_cut_by_a_count_says_where_it_goes_on(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, said = asked(lake, capsys, "--channel", "lobby", "--since", "1500")
    assert (code, places(rows)) == (0, list(range(50, 150)))
    assert said == "--count 100 ends it here; what is left: --since 2500\n"


def test_nothing_in_the_archive_is_of_the_last_two_hours(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, said = asked(lake, capsys, "--channel", "lobby", "--since", "2h")
    assert (code, rows, said) == (1, [], "the archive has nothing of lobby there\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--channel", "ops"], "There is no channel 'ops' here. There are: lobby, yard."),
        (["--channel", "lobby", "--run", "berlin"], "There is no campaign 'berlin' here. There are: field."),
    ],
)
def test_a_channel_or_campaign_that_the_archive_does_not_have_is_told(
    arguments: list[str], said: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows, told = asked(lake, capsys, *arguments, "--positions", "1-3")
    assert (code, rows) == (2, [])
    assert said in told


def test_a_damaged_archive_is_told(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(lake, tmp_path / "lake")
    for file in copy.rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-20])
    code, rows, told = asked(copy, capsys, "nowhere")
    assert (code, rows) == (5, [])
    assert "cannot be read" in told
    assert "`sdschat pipeline archive` makes it anew." in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--channel", "lobby", "--since", "soon"], "is no moment. Write 10:02, 2026-01-31"),
        (["--channel", "lobby", "--since", "20", "--until", "10"], "nothing is between them"),
        (["abc", "--until", "5"], "--until is for a --channel"),
        (["abc", "--positions", "1-2"], "--positions is for a --channel"),
        (["abc", "--since", "5"], "--since is for a --channel"),
        (["abc", "--count", "5"], "--count is for a --channel"),
        (["--channel", "lobby", "--positions", "1-2", "--since", "5"], "Both --positions and --since"),
        (["--channel", "lobby", "--positions", "5-2"], "the wrong way round: it would be 2-5"),
        (["--channel", "lobby", "--positions", "5-"], "is not A-B"),
    ],
)
def test_options_that_contradict_each_other_are_refused_in_a_line(
    lake: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, rows, told = asked(lake, capsys, *arguments)
    assert (code, rows, told.count("\n")) == (2, [], 1)
    assert said in told


def test_the_beginning_of_an_id_is_enough_where_no_other_begins_so(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows, _ = asked(lake, capsys, ROWS[7].message_id[:6])
    assert (code, [json.loads(row)["message_id"] for row in rows]) == (0, [ROWS[7].message_id])


def test_ids_that_begin_alike_are_named(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, said = asked(lake, capsys, ROWS[7].message_id[:5])
    assert (code, rows) == (1, [])
    both = ", ".join(sorted([ROWS[7].message_id, ROWS[7 + COUNT].message_id]))
    assert said == f"several ids begin with {ROWS[7].message_id[:5]}: {both}\n"


def test_of_many_ids_that_begin_alike_the_first_are_named(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = asked(lake, capsys, "0")[2]
    assert said.endswith(", …\n")
    assert said.count("-lobby") + said.count("-yard") == 5


def test_an_id_in_full_is_one_message_though_others_begin_with_it(tmp_path: Path) -> None:
    rows = [{"message_id": each, "run_id": "field"} for each in ("ab", "ab", "abc", "abd")]
    for folder in (BY_ID, BY_PLACE):
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / folder / "part.parquet")
    archive = Archive(tmp_path)
    (found,) = archive.beginning("ab", most=6).values()
    assert [row["message_id"] for row in found] == ["ab", "ab"]
    archive.close()


def test_ids_are_looked_for_in_the_run_that_was_named(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(lake, capsys, ROWS[7].message_id, "--run", "field")[0] == 0
    code, rows, said = asked(lake, capsys, ROWS[7].message_id, "--run", "other")
    assert (code, rows, said) == (1, [], f"not in the archive: {ROWS[7].message_id}\n")
