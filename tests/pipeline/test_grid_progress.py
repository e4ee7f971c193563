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

    def __init__(self, settings: Sequence[GroupSetting]) -> None:
        self.now = 0.0
        self.runs = [Run(setting, seed) for seed, setting in enumerate(settings)]
        self.progress = Progress(len(settings), self.runs, lambda: self.now)

    def ended(self, at: int, failed: str = "") -> None:
        run = self.runs[at]
        self.progress.did(run, took(run.setting, 1.0, run.seed, failed))


def test_what_is_left_is_expected_to_take_as_long_as_what_was_done() -> None:
    going = Going([LARGE, LARGE, LARGE])
    assert going.progress.line() == "0/3 runs"
    going.now = 120.0
    going.ended(0)
    assert going.progress.line() == "1/3 runs, about 4 min left"


def test_small_runs_count_for_little_beside_large_ones() -> None:
    going = Going([LARGE, LARGE, *[SMALL] * 50])
    going.now = 300.0
    going.ended(0)
    for at in range(2, 52):
        going.ended(at)
    assert going.progress.line() == "51/52 runs, about 5 min left"


def test_runs_may_end_in_any_order_and_fail() -> None:
    going = Going([LARGE, SMALL, SMALL, SMALL])
    for at in (3, 1, 2, 0):
        going.ended(at, failed="out of memory" if at == 1 else "")
    assert going.progress.line() == "4/4 runs, 1 failed"


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        (True, "Interrupted. 1 run is kept: the same command does the rest."),
        (False, "Interrupted. Nothing is kept; with --lake DIR"),
    ],
)
def test_whoever_interrupts_it_is_told_what_is_kept(keep: bool, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    going = Going([SMALL, SMALL])
    going.ended(0)

    def interrupted() -> None:
        with told(keep) as tell:
            tell(going.progress, None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert says in capsys.readouterr().err


def test_a_log_has_a_line_with_a_result_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    going = Going([SMALL, SMALL])
    with told() as tell:
        tell(going.progress, None)
        monkeypatch.setattr("sdschat.cli.simulate_grid._LINE_EVERY", 0.0)
        going.ended(0)
        tell(going.progress, None)
    assert capsys.readouterr().err.splitlines() == ["1/2 runs, about 0 s left"]


def test_whoever_watches_sees_the_runs_done_and_each_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    going = Going([LARGE, LARGE])
    with told() as tell:
        tell(going.progress, took(LARGE, 1.0, failed="out of memory"))
        limit, said = time.monotonic() + 60, ""
        while "0/2 runs" not in said:
            assert time.monotonic() < limit, said[-200:]
            said += capsys.readouterr().err
    assert "failed: out of memory" in said + capsys.readouterr().err
