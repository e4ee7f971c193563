"""The estimate of a grid's remaining time, with a clock that tests set."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from typing import Final

import pytest

from tests.needs import needs_module

needs_module("numpy")
needs_module("pyarrow")

from sdschat.cli.simulate_grid import told
from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.grid.progress import Pace, Progress
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import GroupSetting

LARGE: Final = GroupSetting(by="engine", participants=2_000)
SMALL: Final = GroupSetting(by="model", participants=20)


def took(setting: GroupSetting, seconds: float, seed: int = 0, failed: str = "") -> SimRun:
    run, changed = Run(setting, seed), json.dumps(setting.changed())
    return SimRun(
        run.key,
        setting.key(),
        seed,
        setting.by,
        setting.rules,
        setting.participants,
        setting.loss,
        setting.messages,
        changed,
        failed,
        "{}",
        seconds,
        "1",
    )


class Going:
    """The progress of runs of these settings, with a clock that a test sets."""

    def __init__(
        self, settings: Sequence[GroupSetting], earlier: Sequence[SimRun] = (), jobs: int = 1, in_waves: bool = False
    ) -> None:
        self.now = 0.0
        self.runs = [Run(setting, seed) for seed, setting in enumerate(settings)]
        self.progress = Progress(len(settings), self.runs, Pace.of(earlier), jobs, in_waves, lambda: self.now)

    def ended(self, at: int, seconds: float) -> None:
        run = self.runs[at]
        self.progress.did(run, took(run.setting, seconds, run.seed))

    def left(self) -> tuple[str, float]:
        """Return "about" or "at least", and the seconds left."""
        found = re.search(r"(about|at least) ([\d.]+) (s|min|h) left", self.progress.line())
        assert found is not None, self.progress.line()
        return found[1], float(found[2]) * {"s": 1, "min": 60, "h": 3600}[found[3]]


def test_what_earlier_runs_took_is_expected_of_those_to_come() -> None:
    going = Going([LARGE, LARGE], [took(LARGE, 400.0, 7), took(LARGE, 200.0, 8)])
    assert going.left() == ("about", 600)


def test_of_a_size_that_was_not_measured_the_nearest_counts_most() -> None:
    pace = Pace.of(
        [took(SMALL, 9 * cost(SMALL)), took(GroupSetting(participants=1_000), cost(GroupSetting(participants=1_000)))]
    )
    near = GroupSetting(participants=900)
    assert cost(near) <= pace.seconds(near) < 1.1 * cost(near)


def test_small_runs_that_are_done_quickly_do_not_shorten_the_large_ones_that_are_left() -> None:
    settings = [LARGE, *[SMALL] * 50]
    going = Going(settings, [took(LARGE, 300.0, 99)], jobs=2)
    for at in range(1, 51):
        going.now += 0.1
        going.ended(at, 0.1)
    word, seconds = going.left()
    assert (word, 240 <= seconds <= 300) == ("about", True)


def test_time_passes_while_nothing_ends() -> None:
    going = Going([LARGE], [took(LARGE, 80.0, 7)])
    going.now = 30.0
    assert going.left() == ("about", 50)


def test_what_takes_longer_than_expected_makes_the_rest_of_its_kind_longer_and_is_said() -> None:
    going = Going([LARGE, LARGE])
    first = going.left()[1]
    going.now = 2 * cost(LARGE)
    word, seconds = going.left()
    assert word == "at least"
    assert seconds == pytest.approx(2 * cost(LARGE), rel=0.05)
    going.ended(0, 2 * cost(LARGE))
    word, seconds = going.left()
    assert word == "about"
    assert seconds == pytest.approx(first, rel=0.05)


def test_many_cores_are_not_ready_before_the_longest_run_is() -> None:
    going = Going([LARGE, *[SMALL] * 3], [took(LARGE, 80.0, 7), took(SMALL, 1.0, 7)], jobs=8)
    assert going.left() == ("about", 80)


def test_several_cores_share_what_is_left() -> None:
    going = Going([LARGE] * 8, [took(LARGE, 20.0, 99)], jobs=4)
    assert going.left() == ("about", 40)


def test_runs_that_end_together_are_thought_to_be_done_side_by_side_before() -> None:
    going = Going([LARGE] * 8, [took(LARGE, 20.0, 99)], jobs=4, in_waves=True)
    going.now = 30.0
    assert going.left() == ("about", 10)
    for at in range(7):
        going.ended(at, 20.0)
    assert going.left() == ("about", 5)
    going.now = 100.0
    assert going.progress.line() == "7/8 runs, longer than expected"


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        (True, "Interrupted. 1 run is kept: the same command does the rest."),
        (False, "Nothing is kept; with --lake DIR"),
    ],
)
def test_whoever_interrupts_it_is_told_what_is_kept(keep: bool, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    going = Going([SMALL, SMALL])
    going.ended(0, 1.0)

    def interrupted() -> None:
        with told(keep) as tell:
            tell(going.progress, None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert says in capsys.readouterr().err


def test_runs_may_end_in_any_order() -> None:
    going = Going([LARGE, SMALL, SMALL, SMALL], jobs=2)
    for at in (3, 1, 2, 0):
        going.ended(at, 1.0)
    assert going.progress.line() == "4/4 runs"


def test_a_run_that_failed_says_nothing_of_how_long_one_takes() -> None:
    assert Pace.of([took(LARGE, 1.0, failed="out of memory")]).seconds(LARGE) == cost(LARGE)


def test_of_settings_that_this_program_does_not_know_nothing_is_learnt() -> None:
    strange = took(LARGE, 1.0)._replace(setting='{"colour": "red"}')
    assert Pace.of([strange]).seconds(LARGE) == cost(LARGE)


def test_whoever_watches_sees_the_time_pass_though_no_run_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sdschat.cli.simulate_grid._TICK", 0.001)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    going = Going([LARGE], [took(LARGE, 80.0, 7)])
    with told() as tell:
        tell(going.progress, None)
        going.now = 30.0
        limit, said = time.monotonic() + 60, ""
        while "about 50 s left" not in said:
            assert time.monotonic() < limit, said[-200:]
            said += capsys.readouterr().err
