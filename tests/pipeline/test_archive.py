"""The archive: what Spark wrote, answered from without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.needs import needs_module

needs_module("pyarrow")
needs_module("pyspark")

from sdschat.cli.spark.get import command as get  # noqa: E402
from sdschat.pipeline.archive import write  # noqa: E402
from sdschat.pipeline.archive.read import Archive  # noqa: E402
from sdschat.pipeline.problem import PipelineProblem  # noqa: E402
from sdschat.pipeline.schemas import Log, ddl  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 300


def _row(channel: str, position: int) -> Log:
    message_id = f"{(position * 7919) % 1009:04x}-{channel}"
    return Log("field", channel, position, 1000 + 10 * position, message_id, "ann", (), "d", "r", 1, 0, 0)


ROWS = [_row(channel, position) for channel in ("lobby", "yard") for position in range(1, COUNT + 1)]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Row groups of 50 messages, so that a look-up has to choose."""
    folder = tmp_path_factory.mktemp("lake")
    log = spark.createDataFrame([tuple(row) for row in ROWS], ddl(Log))
    raw = spark.createDataFrame(
        [("field", "lobby", ROWS[0].message_id, b"packet")],
        "run_id STRING, channel STRING, message_id STRING, raw BINARY",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "ROWS_A_GROUP", 50)
        assert write.write_archive(log, raw, str(folder)) == len(ROWS)
    return folder


def test_every_message_is_found_by_its_id(lake: Path) -> None:
    archive = Archive(lake)
    for row in ROWS[:: len(ROWS) // 20]:
        assert [found["position"] for found in archive.get(row.message_id)] == [row.position]
    archive.close()


def test_the_bytes_of_a_packet_are_there_where_they_are_known(lake: Path) -> None:
    archive = Archive(lake)
    assert archive.get(ROWS[0].message_id)[0]["raw"] == b"packet"
    assert archive.get(ROWS[1].message_id)[0]["raw"] is None
    archive.close()


def test_positions_of_one_channel_come_in_order(lake: Path) -> None:
    archive = Archive(lake)
    found = archive.positions("yard", 95, 210)
    assert [(row["channel"], row["position"]) for row in found] == [("yard", at) for at in range(95, 211)]
    archive.close()


def test_from_a_lamport_time_on(lake: Path) -> None:
    archive = Archive(lake)
    assert [row["position"] for row in archive.dated("lobby", 1995, count=3)] == [100, 101, 102]
    archive.close()


@pytest.mark.parametrize("message_id", ["", "zzz", "0000", "'; drop"])
def test_an_unknown_id_is_nowhere(lake: Path, message_id: str) -> None:
    archive = Archive(lake)
    assert archive.get(message_id) == []
    archive.close()


def test_a_lookup_reads_few_row_groups(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(lake)
    groups = archive._by_id._groups
    wanted = {"message_id": (ROWS[5].message_id, ROWS[5].message_id)}
    assert len(groups) >= 10
    assert sum(group.may_have(wanted) for group in groups) <= 2
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
