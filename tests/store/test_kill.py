"""kill -9 at named points of making and writing a database, and a restart after each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.store.victim import STEPS


def test_what_was_said_to_be_saved_survives_a_kill_anywhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.victim", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) >= 40
    assert all(outcome["died"] for outcome in outcomes)
    for outcome in outcomes:
        # The commit under way may be saved or not.
        assert outcome["said_saved"] <= outcome["found"] <= outcome["said_saved"] + 1, outcome
    named = " ".join(outcome["point"] for outcome in outcomes)
    for name in ("CREATE", "BEGIN", "COMMIT", "INSERT INTO log", "INSERT INTO journal"):
        assert name in named
    assert {outcome["found"] for outcome in outcomes} >= set(range(STEPS))
