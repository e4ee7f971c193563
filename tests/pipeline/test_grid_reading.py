"""Grid files, and the options of `sdschat simulate`: an error is told in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.needs import needs_module

needs_module("numpy")
needs_module("pyarrow")
needs_module("altair")

from sdschat.audit.errors import PipelineProblem
from sdschat.cli.simulate import command
from sdschat.experiment.figures import NAMES
from sdschat.experiment.grid.gridfile import SHIPPED, find_grid, read_grid, runs_of
from sdschat.experiment.grid.page import write_page
from sdschat.experiment.grid.summary import line_of, table_lines
from sdschat.experiment.runs import do_run, setting_from

HUNDREDS = [*range(1, 200)]


def _file(folder: Path, text: str) -> Path:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_grids_can_be_read_and_name_known_figures(path: Path) -> None:
    grid = read_grid(path)
    assert runs_of(grid)
    assert all(name in NAMES for sweep in grid.sweeps for name in sweep.figures)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"at least one \[\[sweep\]\]"),
        ("seeds = [", "cannot be read"),
        ("[[sweep]]\nloss = .1", "cannot be read .*line 2"),
        ("seeds = 3", r"at least one \[\[sweep\]\]"),
        ("[sweep]\nloss = 0.1", "two brackets"),
        ("sweep = [3]", "in sweep 1, which is no table"),
        ("base = 3\n[[sweep]]\nloss = 0.1", "base is no table"),
        ("seed = 3\n[[sweep]]\nloss = 0.1", "'seed' is not known; at the top there may be title, seeds"),
        ("[base]\nseeds = 3\n[[sweep]]\nloss = 0.1", "seeds goes into a"),
        ("[[sweep]]\nloss = 2.0", "loss is 2.0, and must be from 0.0 to 0.9"),
        ("[[sweep]]\ntail = '3h'", "tail is 3h, and must be from 1ms to 2h"),
        ("[[sweep]]\nloss = nan", "loss is nan, and must be from"),
        ("[[sweep]]\nloss = 0.1\n[[sweep]]\nname = 'b'\nloss = [0.1, 'x']", "in sweep 2, loss is 'x', and must"),
        ("[[sweep]]\nloss = []", "loss is an empty list"),
        ("[[sweep]]\nlosses = 0.1", "losses is no setting; loss is one"),
        ("[[sweep]]\nqqq = 0.1", "qqq is no setting; there are .*loss"),
        ("[[sweep]]\nparticipants = 'ten'", "must be a whole number"),
        ("[[sweep]]\npush = 1", "must be true or false"),
        ("[[sweep]]\nby = 'engine'\nrules = 'nim'", "known to the model only"),
        ("[[sweep]]\nby = 'engine'\nparticipants = 1000000", "must be from 2 to 20000"),
        ("seeds = 0\n[[sweep]]\nloss = 0.1", "seeds is 0"),
        ("seeds = 'x'\n[[sweep]]\nloss = 0.1", "seeds is 'x'"),
        ("[[sweep]]\nt_max = 10", "repair.t_max"),
        ("[[sweep]]\nloss = 0.1\naxis = 'lost'", "axis names 'lost', which is no setting; loss is one"),
        ("[[sweep]]\nloss = 0.1\naxis = ['loss']", "axis names .*, which is no setting"),
        ("[[sweep]]\nloss = 0.1\nlines = 'pushed'", "lines names 'pushed', which is no setting; push is one"),
        ("[[sweep]]\nloss = 0.1\nfigures = ['healed']", "figures names 'healed', which is no figure; .*healed"),
        ("[[sweep]]\nloss = 0.1\nfigures = [3]", "figures is .*must be a text"),
        ("[[sweep]]\nloss = 0.1\nname = 3", "name is 3, and must be a text"),
        ("[[sweep]]\nloss = 0.1\n[[sweep]]\nloss = 0.2", "two sweeps are called 'participants'"),
        ("seeds = 900000\n[[sweep]]\nloss = [0.1, 0.2]", "1,800,000 runs"),
        (f"[[sweep]]\nmessages = {HUNDREDS}\ninterval = {HUNDREDS}\nt_min = {HUNDREDS}", "multiply"),
    ],
)
def test_a_wrong_grid_is_refused_in_words(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PipelineProblem, match=says) as caught:
        runs_of(read_grid(_file(tmp_path, text)))
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PipelineProblem, match="cannot be read"):
        read_grid(path)


@pytest.mark.parametrize("name", ["nothing", "", "../files/ci"])
def test_an_unknown_grid_names_the_shipped_ones(name: str) -> None:
    with pytest.raises(PipelineProblem, match=r"there is no grid file.*ci, groups, loss, timers"):
        find_grid(name)


def test_a_folder_is_no_grid(tmp_path: Path) -> None:
    with pytest.raises(PipelineProblem, match="is a folder"):
        find_grid(str(tmp_path))


def test_seeds_of_the_command_line_count_rather_than_those_of_the_file(tmp_path: Path) -> None:
    path = _file(tmp_path, "seeds = 9\n[[sweep]]\nseeds = 5\nloss = 0.1")
    assert (len(runs_of(read_grid(path))), len(runs_of(read_grid(path, 2)))) == (5, 2)


def test_whatever_varies_beside_the_axis_tells_the_lines_of_a_plot_apart(tmp_path: Path) -> None:
    text = "[[sweep]]\naxis = 'loss'\nlines = 'push'\nloss = [0.1, 0.2]\npush = [true, false]\ngroups = [1, 3]"
    (sweep,) = read_grid(_file(tmp_path, text)).sweeps
    assert sweep.lines == ("push", "groups")
    lines = {line_of(sweep, setting) for setting in sweep.settings}
    assert lines == {
        f"{push} anti-entropy, {groups}" for push in ("with", "without") for groups in ("1 group", "3 groups")
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--grid", "ci"], "--grid needs --lake"),
        (["--grid", "", "--lake", "x"], "it is empty"),
        (["--grid", "nothing", "--lake", "x"], "no grid file"),
        (["--grid", "ci", "--lake", "x", "--compare"], "--compare is for --compare, and does nothing with --grid"),
        (["--grid", "ci", "--lake", "x", "--show"], "--show is for checking promises"),
        (["--seed", "3"], "--seed is for --with"),
        (["--participants", "3"], "--participants is for --compare"),
        (["--compare", "--participants", "ten"], "is not numbers"),
        (["--compare", "--participants", "1"], "two or more"),
        (["--compare", "--with", "push=true"], "leave --with push"),
        (["--compare", "--with", "rules='nim'"], "known to the model only"),
        (["--with", "x"], "is not NAME=VALUE"),
        (["--with", "losses=1"], "losses is no setting; loss is one"),
    ],
)
def test_wrong_use_is_said(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)


def test_values_of_single_runs_are_as_in_a_file() -> None:
    setting = setting_from(("participants=7", "loss=0.25", "push=false", "rules=nim"))
    assert (setting.participants, setting.loss, setting.push, setting.rules) == (7, 0.25, False, "nim")


def test_times_have_units_and_bare_ones_are_milliseconds(tmp_path: Path) -> None:
    text = '[base]\nwarm_up = "2m"\n[[sweep]]\nsync_interval = ["30s", 10]\ninterval = "500ms"'
    (sweep,) = read_grid(_file(tmp_path, text)).sweeps
    found = [(each.warm_up, each.sync_interval, each.interval) for each in sweep.settings]
    assert found == [(120_000, 30_000, 500), (120_000, 10, 500)]
    assert setting_from(("t_min=5s", "t_max=1.5m")).config().t_max == 90_000
    assert " warm_up=0ms tail=2h " in setting_from(("warm_up=0", "tail=2h")).in_full()


def test_what_is_no_time_says_how_times_are_written() -> None:
    with pytest.raises(PipelineProblem, match="sync_interval is 'soon', and must be a time such as 500ms, 30s"):
        setting_from(("sync_interval=soon",))


def test_a_table_gives_times_their_units(tmp_path: Path) -> None:
    text = (
        '[base]\nparticipants = 6\n[[sweep]]\nsync_interval = [500, "30s"]\nt_min = ["1s", "1m"]\nfigures = "complete"'
    )
    grid = read_grid(_file(tmp_path, text), seeds=1)
    lines = "\n".join(table_lines(grid, [do_run(run) for run in runs_of(grid)]))
    assert all(word in lines for word in ("complete (s)", " 500ms ", " 30s ", "t_min 1s", "t_min 1m"))


def test_the_columns_of_a_table_stand_apart(tmp_path: Path) -> None:
    text = '[base]\nparticipants = 6\n[[sweep]]\nrules = ["nim", "js"]\nfigures = ["message_bytes", "sync_bytes"]'
    grid = read_grid(_file(tmp_path, text), seeds=1)
    head, *rows = table_lines(grid, [do_run(run) for run in runs_of(grid)])[2:]
    assert [len(re.split(" {2,}", line.strip())) for line in (head, *rows)] == [3, 3, 3]


def test_a_run_prints_every_value_that_it_has_before_its_figures() -> None:
    run = CliRunner().invoke(command, ["--with", "participants=6", "--with", "sync_interval=10"])
    assert run.stderr.startswith("by=model participants=6 loss=0.05 messages=6 interval=5s latency=100ms warm_up=1m ")
    assert " sync_interval=10ms push=true " in run.stderr


def test_a_run_says_that_times_are_bounds_where_somebody_never_got_a_message() -> None:
    options = ("participants=6", "loss=0.6", "push=false", "repair=false", "tail=30s", "rules=literal")
    words = "some never got it in the time watched (tail=30s): times are at least so long"
    assert words in CliRunner().invoke(command, [part for each in options for part in ("--with", each)]).stderr
    assert words not in CliRunner().invoke(command, ["--with", "participants=6", "--with", "loss=0"]).stderr


def test_the_page_has_the_values_that_all_settings_share(tmp_path: Path) -> None:
    text = '[base]\nparticipants = 6\n[[sweep]]\nloss = [0.1, 0.2]\nfigures = "complete"'
    grid = read_grid(_file(tmp_path, text), seeds=1)
    page, *_ = write_page(grid, [do_run(run) for run in runs_of(grid)], tmp_path)
    (said,) = [line for line in page.read_text("utf-8").splitlines() if "All with" in line]
    assert " participants=6 messages=6 interval=5s " in said
    assert "loss=" not in said
