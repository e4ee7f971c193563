"""Grids: their files, their runs, restarts, and results."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.needs import needs_module

needs_module("numpy")
needs_module("altair")
needs_module("vl_convert")

from sdschat.cli.program import run as run_program
from sdschat.cli.simulate import command
from sdschat.experiment.engine_group import EngineGroup
from sdschat.experiment.figures import figures_of
from sdschat.experiment.grid.gridfile import Run, Sweep, read_grid, runs_of
from sdschat.experiment.grid.page import _marks, sweep_picture, write_page
from sdschat.experiment.grid.simulate import RunTable, on_processes, simulate
from sdschat.experiment.grid.summary import Estimate, Point, estimate, median_rank, student
from sdschat.experiment.runs import JOURNALS, SimRun, do_run
from sdschat.experiment.setting import GroupSetting, setting_of
from sdschat.sim.scenario import Violation

TINY = """
seeds = 2
[base]
participants = 5
messages = 2
tail = 30000
[[sweep]]
name = "loss"
loss = [0.0, 0.2]
[[sweep]]
name = "the same again"
loss = [0.2]
by = ["model", "engine"]
"""


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


class Counted:
    """A worker function that does runs in this process and counts them; raises `KeyboardInterrupt` after some."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.done = 0
        self.stop_after = stop_after

    def __call__(self, wanted: Sequence[Run]) -> Iterator[SimRun]:
        for run in wanted:
            if self.done == self.stop_after:
                raise KeyboardInterrupt
            self.done += 1
            yield do_run(run)


def test_a_run_that_two_sweeps_share_is_done_once(grid_file: Path) -> None:
    assert len(runs_of(read_grid(grid_file))) == 2 * 3


def test_what_is_there_is_not_done_again(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)
    first, again = Counted(), Counted()
    one = simulate(runs_of(grid), tmp_path / "lake", first)
    other = simulate(runs_of(grid), tmp_path / "lake", again)
    assert (first.done, again.done) == (6, 0)
    assert other.runs == one.runs


def test_after_an_interruption_only_the_rest_is_done(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)
    with pytest.raises(KeyboardInterrupt):
        simulate(runs_of(grid), tmp_path / "lake", Counted(stop_after=4))
    rest = Counted()
    result = simulate(runs_of(grid), tmp_path / "lake", rest)
    assert (rest.done, result.before, len(result.runs)) == (2, 4, 6)
    whole = simulate(runs_of(grid), tmp_path / "other", Counted())
    assert [run.figures for run in result.runs] == [run.figures for run in whole.runs]


def test_progress_estimates_what_is_left(grid_file: Path, tmp_path: Path) -> None:
    said: list[str] = []
    simulate(runs_of(read_grid(grid_file)), tmp_path, Counted(), lambda progress, row: said.append(progress.line()))
    assert said[0] == "0/6 runs"
    assert said[1].startswith("1/6 runs, about ")
    assert said[-1] == "6/6 runs"


def test_a_run_that_failed_is_tried_again(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)
    result = simulate(runs_of(grid), tmp_path, Counted())
    RunTable(tmp_path).add(result.runs[0]._replace(failed="out of memory"))
    again = Counted()
    assert not simulate(runs_of(grid), tmp_path, again).failures
    assert again.done == 1


def test_processes_do_what_one_does(grid_file: Path) -> None:
    wanted = runs_of(read_grid(grid_file))
    alone = {row.run_id: row.figures for row in on_processes(1, None)(wanted)}
    assert {row.run_id: row.figures for row in on_processes(2, None)(wanted)} == alone


def test_the_engine_heals_what_is_lost() -> None:
    record = EngineGroup(GroupSetting(by="engine", participants=8, loss=0.3, messages=4), 3).run()
    assert record.missed.any()
    found = figures_of(record)
    assert found["unhealed"] == 0
    assert found["missed"] == pytest.approx(0.3, abs=0.15)


def test_an_engine_run_follows_from_its_seed() -> None:
    setting = GroupSetting(by="engine", participants=8, loss=0.3, messages=4)
    one, other = (json.dumps(figures_of(EngineGroup(setting, 3).run())) for _ in range(2))
    assert one == other


def test_logs_in_another_order_are_a_failure() -> None:
    group = EngineGroup(GroupSetting(by="engine", participants=3, messages=3, loss=0.0), 1)
    group.run()
    group.check_logs()
    first, *_, last = group.numbers
    group.lamports[first], group.lamports[last] = group.lamports[last], group.lamports[first]
    with pytest.raises(Violation, match="has another order"):
        group.check_logs()


def test_a_message_that_was_shown_and_is_not_in_the_log_is_a_failure() -> None:
    group = EngineGroup(GroupSetting(by="engine", participants=3, messages=3, loss=0.0), 1)
    group.run()
    group.record.shown[1, 2] = math.inf
    with pytest.raises(Violation, match="has other messages"):
        group.check_logs()


def test_journals_of_simulated_nodes_are_exports_of_their_run(tmp_path: Path) -> None:
    run = Run(GroupSetting(by="engine", participants=4, messages=2, loss=0.1, journal=True), 1)
    assert not do_run(run, tmp_path).failed
    (file,) = (tmp_path / JOURNALS).iterdir()
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert {row["run_id"] for row in rows} == {run.key}
    assert sum(row["event"] == "delivered" for row in rows) == 2 * 4
    for node in {row["node"] for row in rows}:
        seqs = [row["seq"] for row in rows if row["node"] == node]
        assert seqs == list(range(1, len(seqs) + 1))


def test_a_page_has_a_plot_for_every_figure_and_needs_nothing_else(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)
    result = simulate(runs_of(grid), tmp_path / "lake", Counted())
    page, *pictures = write_page(grid, result.runs, tmp_path / "pictures")
    assert pictures
    for picture in pictures:
        ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    assert text.count('class="picture"') == len(pictures)
    assert "default-src 'none'" in text
    assert not re.search(r"<(link|img|iframe|script) [^>]*(src|href)=", text[: text.index("<script>")])


def test_the_median_interval_covers_as_often_as_it_says() -> None:
    draw = random.Random(1)
    covered = 0
    for _ in range(2_000):
        found = estimate([draw.expovariate(1.0) for _ in range(15)])
        assert found is not None
        covered += found.low <= math.log(2) <= found.high
    assert 0.94 <= covered / 2_000 <= 0.99


def test_no_value_is_left_out_of_the_interval_with_few_seeds() -> None:
    assert [median_rank(n) for n in (2, 5, 6, 9, 15)] == [0, 0, 0, 1, 3]


@pytest.mark.parametrize(
    ("freedom", "at", "value"),
    [(1, 0.975, 12.706), (3, 0.975, 3.182), (10, 0.025, -2.228), (30, 0.995, 2.750), (5, 0.9995, 6.869)],
)
def test_quantiles_of_student(freedom: int, at: float, value: float) -> None:
    assert student(freedom, at) == pytest.approx(value, rel=0.001)


def test_figures_that_do_not_apply_are_absent() -> None:
    found = figures_of(
        EngineGroup(GroupSetting(by="engine", participants=3, messages=1, loss=0.0, tail=1_000), 1).run()
    )
    assert math.isnan(found["healed_p50"])
    assert math.isnan(found["duplicates_per_loss"])
    assert found["missed"] == 0


def test_settings_differ_in_their_keys() -> None:
    base = GroupSetting()
    keys = {
        dataclasses.replace(base, **{field.name: value}).key()  # type: ignore[arg-type]
        for field in dataclasses.fields(base)
        for value in [not field.default if isinstance(field.default, bool) else "other"]
    }
    assert len(keys) == len(dataclasses.fields(base))


def test_whole_numbers_are_taken_for_shares() -> None:
    assert setting_of({"loss": 0}).loss == 0.0


def test_the_command_runs_a_grid_and_prints_its_figures(grid_file: Path, tmp_path: Path) -> None:
    arguments = ["--grid", str(grid_file), "--lake", str(tmp_path / "lake"), "--jobs", "1"]
    result = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert result.return_value == 0, result.output
    assert "healed_p50" in result.output
    assert (tmp_path / "lake" / "pictures" / "sim-tiny.html").exists()


def test_pictures_that_cannot_be_written_are_told_before_the_runs(
    grid_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    arguments = ["--grid", str(grid_file), "--lake", str(tmp_path / "lake"), "--jobs", "1"]
    assert run_program(["simulate", *arguments, "--pictures", str(tmp_path / "file")]) == 2
    assert "Choose another --pictures" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_pictures_of_a_comparison_that_cannot_be_written_are_told_before_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run_program(["simulate", "--compare", "--participants", "10", "--pictures", str(tmp_path / "file")]) == 2
    assert "Choose another --pictures" in capsys.readouterr().err


def test_the_command_does_one_run() -> None:
    result = CliRunner().invoke(command, ["--with", "participants=5", "--with", "messages=1", "--seed", "2"])
    assert "noticed" in result.output or "missed" in result.output


def test_the_command_still_checks_invariants() -> None:
    result = CliRunner().invoke(command, ["--seeds", "2", "--jobs", "1"], standalone_mode=False)
    assert result.return_value == 0
    assert "2 seeds, 0 failed" in result.output


def _axes(axis: str, name: str, values: dict[float, float]) -> list[Any]:
    """Return the two axes of the picture of a figure that had these values, as Vega-Lite describes them."""
    sweep = Sweep("sweep", "says", axis, (), (name,), (), 1)
    points = [Point(GroupSetting(), at, str(at), "", {name: Estimate(1, y, y, y)}) for at, y in values.items()]
    picture = sweep_picture(sweep, points, name)
    assert picture is not None
    (line, *_) = picture.to_dict()["layer"]
    return [line["encoding"][each] for each in ("x", "y")]


def test_a_plot_names_its_few_places_and_starts_at_zero_where_values_differ_by_little() -> None:
    x, y = _axes("t_max", "answers", {60_000: 2.5, 120_000: 3.8, 540_000: 3.0})
    assert (x["axis"]["values"], x["title"], x["scale"]["type"]) == ([60, 120, 540], "t_max (s)", "log")
    assert y["scale"] == {"zero": True}


def test_a_plot_of_a_single_place_has_this_place_alone_on_its_axis() -> None:
    assert _axes("loss", "answers", {0.2: 3})[0]["axis"]["values"] == [0.2]


def test_a_plot_of_values_that_differ_by_much_is_logarithmic() -> None:
    assert _axes("loss", "sync_bytes", {0.1: 400, 0.2: 19_000})[1]["scale"]["type"] == "log"


def test_zero_has_a_place_on_a_logarithmic_axis() -> None:
    found = _axes("loss", "answers", {0.0: 0, 0.1: 2, 0.2: 900})[1]["scale"]
    assert found == {"type": "symlog", "constant": 2}


def test_a_logarithmic_axis_has_few_marks_and_none_beyond_its_values() -> None:
    assert _marks([0, 0.4, 11.8]) == [0.5, 1, 2, 5, 10]
    assert _marks([7, 200]) == [10, 20, 50, 100, 200]
