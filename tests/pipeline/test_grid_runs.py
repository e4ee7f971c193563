"""Runs of grids that fail, are killed, or are done by two processes at once; no finished run is lost."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.needs import needs_module

needs_module("numpy")


import sdschat
import tests.sim.defects_log  # noqa: F401  (plants are known by their names)
from sdschat.audit.answers import Figures
from sdschat.audit.errors import PipelineProblem
from sdschat.audit.figures import figures
from sdschat.audit.node_evidence import BronzeRows, conform
from sdschat.audit.schemas import Journal
from sdschat.audit.verdict import Audit
from sdschat.cli.program import run
from sdschat.cli.simulate import command
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.grid.simulate import RunTable, _each_done, on_processes, simulate
from sdschat.experiment.runs import JOURNALS, PLACE, do_run
from sdschat.experiment.setting import GroupSetting
from sdschat.lake.sources.files import journal_row
from sdschat.sim.scenario import Violation
from tests.audit.golden import answer
from tests.sim.plant import DEFECTS

FEW = [Run(GroupSetting(participants=5, messages=2, tail=30_000), seed) for seed in range(6)]
PLANTED = """
seeds = 2
[[sweep]]
by = "engine"
participants = 5
loss = 0.3
messages = 5
interval = 200
"""
SHORT = """
seeds = 6
[[sweep]]
name = "short"
participants = 5
messages = 2
tail = 30000
"""
LONG = """
[[sweep]]
name = "longer than this test"
seeds = 1
participants = 300000
"""
PATIENCE = 100.0


def _until(what: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.05)


def test_a_planted_defect_is_reported_at_once_and_its_command_does_it_again(tmp_path: Path) -> None:
    path = tmp_path / "planted.toml"
    path.write_text(PLANTED, encoding="utf-8")
    arguments = ["--grid", str(path), "--lake", str(tmp_path / "lake"), "--jobs", "1"]
    with DEFECTS["the_log_is_in_order_of_arrival"]():
        result = CliRunner().invoke(command, arguments, standalone_mode=False)
        assert result.return_value == 1
        assert "failed: Violation: I2: the log of" in result.output
        (again, *_) = [line.split("again, alone: ")[1] for line in result.output.splitlines() if "again, alone" in line]
        alone = CliRunner().invoke(command, shlex.split(again)[2:], standalone_mode=False)
        assert isinstance(alone.exception, Violation)
    assert "failed" not in CliRunner().invoke(command, shlex.split(again)[2:], standalone_mode=False).output
    mended = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert mended.return_value == 0, mended.output


def test_what_another_version_did_is_done_again(tmp_path: Path) -> None:
    simulate(FEW, tmp_path, on_processes(1, None))
    table = RunTable(tmp_path)
    old = next(iter(table.read().values()))
    table.add(old._replace(version="0", figures="{}"))
    result = simulate(FEW, tmp_path, on_processes(1, None))
    assert (result.before, result.outdated) == (5, 1)
    assert "1 of those again since another version had done them" in result.lines()[0]
    assert all(run.numbers for run in result.runs)


def test_what_the_model_did_with_other_draws_is_done_again(tmp_path: Path) -> None:
    one = [Run(GroupSetting(by="model", participants=10, messages=2), 0)]
    simulate(one, tmp_path, on_processes(1, None))
    table = RunTable(tmp_path)
    (row,) = table.read().values()
    table.add(row._replace(version=sdschat.__version__))
    assert simulate(one, tmp_path, on_processes(1, None)).outdated == 1


def test_two_do_not_write_to_one_lake(tmp_path: Path) -> None:
    with RunTable(tmp_path).alone(), pytest.raises(PipelineProblem, match="another `sdschat simulate` is writing"):
        simulate(FEW, tmp_path, on_processes(1, None))


def test_a_lake_that_is_a_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "lake").touch()
    with pytest.raises(PipelineProblem, match="runs cannot be kept in"):
        simulate(FEW, tmp_path / "lake", on_processes(1, None))


def test_a_lake_that_may_only_be_read_is_refused_in_words_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run was done, and could not be written: an unexpected failure."""
    (tmp_path / "gold").mkdir()

    def refused(path: Path, *_: int) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(PipelineProblem, match="Read-only file system"):
        RunTable(tmp_path)


@pytest.mark.parametrize("left", ['{"run_id":', "{}", "\xff"])
def test_a_line_that_a_killed_writer_left_is_of_a_run_that_is_done_again(tmp_path: Path, left: str) -> None:
    simulate(FEW, tmp_path, on_processes(1, None))
    lines = (tmp_path / PLACE).read_bytes().splitlines()
    (tmp_path / PLACE).write_bytes(b"\n".join([*lines[:-1], left.encode("latin-1")]))
    for before in (5, 6):
        result = simulate(FEW, tmp_path, on_processes(1, None))
        assert (result.before, len(result.runs)) == (before, 6)


def test_a_process_that_is_killed_ends_the_work_in_words_and_keeps_what_was_done(tmp_path: Path) -> None:
    wanted = [Run(GroupSetting(participants=5, messages=2), seed) for seed in range(30)]
    before = set(active_children())

    def work(runs: object) -> Iterator[object]:
        for number, row in enumerate(on_processes(2, None)(wanted)):
            yield row
            if number == 0:
                for child in set(active_children()) - before:
                    os.kill(child.pid or 0, signal.SIGKILL)

    with pytest.raises(PipelineProblem, match=r"was killed.*alone: sdschat simulate --with participants=5"):
        simulate(wanted, tmp_path, work)  # type: ignore[arg-type]
    kept = len(RunTable(tmp_path).read())
    assert 1 <= kept < 30
    rest = simulate(wanted, tmp_path, lambda runs: map(do_run, runs))
    assert (rest.before, len(rest.runs)) == (kept, 30)


def test_a_pool_that_is_known_to_be_broken_when_a_run_is_given_out_is_told_in_words() -> None:
    class Broken:
        def submit(self, *_: object) -> None:
            raise BrokenProcessPool

    with pytest.raises(PipelineProblem, match="was killed"):
        next(_each_done(Broken(), [Run(GroupSetting(), 1)], do_run, 2))  # type: ignore[arg-type]


def test_killed_in_the_middle_and_started_again_only_the_rest_is_done(tmp_path: Path) -> None:
    """The processes that simulate also end by themselves when their parent is killed."""
    path, lake = tmp_path / "some.toml", tmp_path / "lake"
    path.write_text(SHORT + LONG, encoding="utf-8")
    arguments = ["simulate", "--grid", str(path), "--lake", str(lake), "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "sdschat", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as started:
        _until((lake / PLACE).exists)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        started.kill()
    _until(lambda: not any(_runs(child) for child in children))
    kept = len(RunTable(lake).read())
    assert kept
    path.write_text(SHORT, encoding="utf-8")
    result = CliRunner().invoke(command, [*arguments[1:-1], "1"], standalone_mode=False)
    assert result.return_value == 0, result.output
    assert f"6 runs, {kept} of them from before, {6 - kept} in " in result.output


def _runs(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _judged(rows: list[Journal]) -> tuple[Audit, Figures]:
    taken = BronzeRows()
    taken.add(rows)
    return answer(taken), figures(conform(taken))


def test_journals_of_a_grid_are_audited_and_measured_like_those_of_the_field(tmp_path: Path) -> None:
    setting = GroupSetting(
        by="engine", participants=5, messages=3, loss=0.2, journal=True, warm_up=10_000, tail=120_000
    )
    simulate([Run(setting, 1)], tmp_path, on_processes(1, tmp_path))
    (file,) = (tmp_path / JOURNALS).iterdir()
    rows = [journal_row("", json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    found, figures = _judged(rows)
    assert found.agreed
    assert [(channel.nodes, channel.messages) for channel in found.channels] == [(5, 3)]
    assert sum(row.delivered for row in figures.delivery) == 3 * 4
    at = next(at for at, row in enumerate(rows) if row.event == "delivered" and row.node != row.sender)
    rows[at] = rows[at]._replace(lamport=(rows[at].lamport or 0) + 1)
    assert not _judged(rows)[0].agreed


def test_a_lake_of_simulated_journals_is_audited_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(tmp_path)
    group = ("by=engine", "participants=4", "messages=2", "journal=true", "warm_up=10_000", "tail=120_000")
    for seed in ("1", "2"):
        pairs = [part for pair in group for part in ("--with", pair)]
        assert run(["simulate", *pairs, "--seed", seed, "--lake", lake]) == 0
    capsys.readouterr()
    assert run(["pipeline", "audit", "--lake", lake, "--engine", "duckdb"]) == 0
    assert "All nodes of all 2 channels have everything they should have" in capsys.readouterr().out
