"""The estimate of a grid's remaining time, with a clock that tests set."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Final

import pytest

from tests.needs import needs_module

needs_module("numpy")
needs_module("pyarrow")

from sdschat.cli.simulate_grid import told
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.grid.simulate import Progress
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

    def __init__(self, settings: Sequence[GroupSetting], earlier: float | None = None, jobs: int = 1) -> None:
        self.now = 0.0
        self.runs = [Run(setting, seed) for seed, setting in enumerate(settings)]
        known = [] if earlier is None else [(Run(settings[0], 99), took(settings[0], earlier))]
        self.progress = Progress(len(settings), self.runs, known, jobs, lambda: self.now)

    def ended(self, at: int, seconds: float) -> None:
        run = self.runs[at]
        self.progress.did(run, took(run.setting, seconds, run.seed))


def test_what_earlier_runs_took_is_expected_of_those_to_come() -> None:
    assert Going([LARGE, LARGE], 300.0).progress.line() == "0/2 runs, about 10 min left"


def test_small_runs_of_the_model_do_not_shorten_the_large_ones_of_the_engine() -> None:
    going = Going([LARGE, *[SMALL] * 50], 300.0)
    for at in range(1, 51):
        going.ended(at, 0.1)
    assert going.progress.line() == "50/51 runs, about 5 min left"


def test_time_passes_while_nothing_ends() -> None:
    going = Going([LARGE], 80.0)
    going.now = 30.0
    assert going.progress.line() == "0/1 run, about 50 s left"
    going.now = 90.0
    assert going.progress.line() == "0/1 run, longer than expected"


def test_what_took_longer_than_expected_makes_the_rest_longer() -> None:
    going = Going([LARGE, LARGE])
    going.ended(0, 120.0)
    assert going.progress.line() == "1/2 runs, about 2 min left"


def test_several_cores_share_what_is_left() -> None:
    assert Going([LARGE] * 8, 20.0, jobs=4).progress.line() == "0/8 runs, about 40 s left"


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
    going = Going([LARGE, LARGE], 80.0)
    going.progress.did(going.runs[0], took(LARGE, 1.0, failed="out of memory"))
    assert going.progress.line() == "1/2 runs, 1 failed, about 80 s left"


def test_whoever_watches_sees_the_time_pass_though_no_run_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sdschat.cli.simulate_grid._TICK", 0.001)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    going = Going([LARGE], 80.0)
    with told() as tell:
        tell(going.progress, None)
        going.now = 30.0
        limit, said = time.monotonic() + 60, ""
        while "about 50 s left" not in said:
            assert time.monotonic() < limit, said[-200:]
            said += capsys.readouterr().err
