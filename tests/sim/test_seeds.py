"""The simulator over many seeds: CI sets SDSCHAT_SIM_SEEDS=2000."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from sdschat.sim.generate import generate
from sdschat.sim.phases import run
from sdschat.sim.rare_situations import SITUATIONS
from sdschat.sim.runner import equivalence, explain, run_seed, run_seeds, tell_seeds
from sdschat.sim.scenario import Scenario, describe
from sdschat.sim.shrink import shrink
from sdschat.sim.varied import TWISTS, varied
from tests.sim.defects import DEFECTS

SEEDS = int(os.environ.get("SDSCHAT_SIM_SEEDS", "300"))
LINES = (Path(__file__).parent / "regress.txt").read_text().splitlines()
REGRESS = [int(line.split()[0]) for line in LINES if not line.startswith(("#", "varied"))]
VARIED = [int(line.split()[1]) for line in LINES if line.startswith("varied")]
ALL_SEEDS = 2000  # that meet every rare situation
VERBS = (
    "peer a",
    "later ",
    "send a",
    "drop ",
    "duplicate ",
    "partition a",
    "mute ",
    "crash ",
    "restart ",
    "offline ",
    "online ",
    "leave ",
    "join ",
    "clock ",
    "tick ",
    "heal",
    "flood ",
    "garbage ",
    "ephemeral ",
    "limit ",
    "backup ",
    "rollback ",
    "fetch ",
    "malformed ",
)


@pytest.mark.timeout(600)
def test_every_invariant_holds_for_many_seeds() -> None:
    summary = run_seeds(range(SEEDS), jobs=2)
    assert [(outcome.seed, outcome.rule, outcome.what) for outcome in summary.failures] == []
    assert summary.seeds == SEEDS
    if SEEDS >= ALL_SEEDS:
        assert summary.unmet() == []


def test_converges_as_soon_as_promised_with_the_timers_of_the_spec() -> None:
    """I5: half of the groups within 30 s of healing, all but one in a hundred within 90 s."""
    summary = run_seeds(range(400), profile="plain")
    times = sorted(summary.healed["spec timing, default settings"])
    assert times[len(times) // 2] <= 30_000
    assert times[len(times) * 99 // 100 - 1] <= 90_000


@pytest.mark.parametrize("seed", REGRESS)
def test_a_seed_that_once_failed(seed: int) -> None:
    outcome = run_seed(seed, profile="plain")
    assert outcome.good, f"{outcome.rule}: {outcome.what}"


@pytest.mark.parametrize("seed", VARIED)
def test_a_varied_seed_that_once_failed(seed: int) -> None:
    for outcome in (run(varied(seed)), equivalence(varied(seed))):
        assert outcome.good, f"{outcome.rule}: {outcome.what}"


@pytest.mark.parametrize("seed", range(0, 60, 2))
@pytest.mark.parametrize("story", [generate, varied], ids=["plain", "varied"])
def test_a_restored_engine_goes_on_as_if_it_had_never_stopped(story: Callable[[int], Scenario], seed: int) -> None:
    """I16, with engines replaced after every first to fifth step."""
    outcome = equivalence(story(seed))
    assert outcome.good, f"{outcome.rule}: {outcome.what}"


def _trace_elsewhere(hash_seed: str) -> str:
    program = "from sdschat.sim.runner import run_seed\nprint([run_seed(seed).trace for seed in range(40)])"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_two_processes_with_other_hash_seeds_do_the_same() -> None:
    """I17."""
    assert _trace_elsewhere("1") == _trace_elsewhere("4711")


def test_seeds_give_other_stories_and_the_same_one_again() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)
    assert len({run(generate(seed)).trace for seed in range(20)}) == 20


def test_a_failure_is_cut_down_to_a_short_conversation() -> None:
    with DEFECTS["one_bloom_hit_is_an_ack"]():
        whole = generate(3)
        small = shrink(whole, tries=200)
        assert not run(small).good
        assert len(small.actions) <= 4 < len(whole.actions)
        lines = list(explain(run(whole)))
    assert lines[0].startswith("seed 3 breaks I7: ")
    assert any(re.fullmatch(r"    send \w+ \d+", line) for line in lines)
    assert lines[-2].strip() == "heal"


def test_a_scenario_reads_as_a_conversation() -> None:
    lines = [line for seed in range(300) for story in (generate, varied) for line in describe(story(seed))]
    for verb in VERBS:
        assert any(line.startswith(verb) for line in lines), verb


def test_the_old_seeds_tell_their_old_stories() -> None:
    """`regress.txt` and the README name them."""
    stories = "\n".join(line for seed in range(100) for line in describe(generate(seed)))
    assert sha256(stories.encode()).hexdigest()[:16] == "80fe869114d393ac"


def test_every_twist_makes_another_story_from_most_seeds() -> None:
    for twist in TWISTS:
        changed = sum(twist(Random(seed), generate(seed)) != generate(seed) for seed in range(40))
        assert changed > 20, twist.__name__


def test_a_varied_failure_is_cut_down_and_explained_by_its_own_story() -> None:
    with DEFECTS["equal_ranges_acknowledge_nothing"]():
        outcome = next(outcome for seed in range(50) if not (outcome := run_seed(seed, profile="varied")).good)
        lines = list(explain(outcome))
    assert lines[0].startswith(f"varied seed {outcome.seed} breaks I18: ")
    assert lines[-1].startswith("    # I18: ")


def test_a_run_tells_which_rare_situations_it_met(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_seeds(range(20), 1, "mixed", show=False, reach=True) == 0
    lines = capsys.readouterr().out.splitlines()
    counts = {line[10:]: int(line[:8].replace(",", "")) for line in lines if line[10:] in SITUATIONS}
    assert list(counts) == list(SITUATIONS)
    assert counts["acknowledged by a mention"] > 10
    assert f"{sum(count > 0 for count in counts.values())} of {len(SITUATIONS)} rare situations met" in lines


def test_the_command_prints_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_seeds(range(3), 1, "mixed", show=False, reach=False) == 0
    assert capsys.readouterr().out.startswith("3 seeds, 0 failed\n")
    with DEFECTS["one_bloom_hit_is_an_ack"]():
        assert tell_seeds(range(3, 4), 1, "mixed", show=False, reach=False) == 1
    assert "seed 3 breaks I7" in capsys.readouterr().out


def test_throughput_delivers_everything() -> None:
    from sdschat.sim.throughput import measure

    result = measure(peers=10, messages=50)
    assert result.deliveries == 500
    assert "500 deliveries" in result.line()
