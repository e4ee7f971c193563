"""The vectorised model: it agrees with the engine, this comparison can fail, and its parts are right."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import pytest

from tests.needs import needs_module

np = needs_module("numpy")

from sdschat.experiment.figures import NAMES
from sdschat.experiment.grid.compare import (
    Case,
    Compared,
    cases,
    compared,
    could_have_found,
    engine_runs,
    model_runs,
    verdict_on,
)
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.grid.simulate import Work
from sdschat.experiment.grid.summary import Difference
from sdschat.experiment.runs import SimRun, do_run
from sdschat.experiment.setting import GroupSetting
from sdschat.experiment.vector_model.group import Group, Logs
from sdschat.experiment.vector_model.packets import Ears, PacketGroup, Step
from sdschat.experiment.vector_model.requests import determine_t_resp, in_response_group
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.run import hear_requests, run_model
from sdschat.experiment.vector_model.timer_wheel import Wheel
from sdschat.sds import repair
from tests.pipeline import thousand

SMALL = GroupSetting(participants=10, loss=0.1, messages=3)


def _here(runs: Sequence[Run]) -> Iterator[SimRun]:
    yield from map(do_run, runs)


def _with_more_loss(runs: Sequence[Run]) -> Iterator[SimRun]:
    for run in runs:
        worse = do_run(Run(dataclasses.replace(run.setting, loss=0.15), run.seed))
        yield worse._replace(setting_id=run.setting.key())


def _cheaper(wanted: Sequence[Case], model_seeds: int) -> list[Case]:
    return [case._replace(model_seeds=model_seeds) for case in wanted]


def _by_engine(wanted: Sequence[Case]) -> list[SimRun]:
    return list(map(do_run, engine_runs(wanted)))


def _disagreeing(wanted: Sequence[Case], engine: Sequence[SimRun], work: Work) -> set[str]:
    found = compared(wanted, [*engine, *work(model_runs(wanted))])
    assert len(found) >= 20 * len(wanted)
    return {item.figure for item in found if not item.agrees}


@pytest.fixture(scope="module")
def forty() -> tuple[list[Case], list[SimRun]]:
    wanted = _cheaper(cases([40], 10), 20)
    return wanted, _by_engine(wanted)


def test_the_model_agrees_with_the_engine_on_every_figure_at_40(forty: tuple[list[Case], list[SimRun]]) -> None:
    """`sdschat simulate --compare --participants 40,100,1000` takes longer and detects smaller differences."""
    assert not _disagreeing(*forty, _here)


@pytest.mark.parametrize("participants", [6, 10])
def test_the_model_agrees_with_the_engine_in_a_small_group_which_confirms_soon(participants: int) -> None:
    wanted = _cheaper(cases([participants], 40), 80)
    assert not _disagreeing(wanted, _by_engine(wanted), _here)


@pytest.mark.timeout(900)
def test_the_model_agrees_with_the_engine_on_every_figure_at_100() -> None:
    wanted = _cheaper(cases([100], 4, GroupSetting(loss=0.1, messages=4, tail=60_000)), 8)
    assert not _disagreeing(wanted, _by_engine(wanted), _here)


@pytest.mark.timeout(900)
def test_the_model_agrees_on_every_figure_with_what_the_engine_did_at_1000() -> None:
    """The engine's runs took minutes and are stored: `python -m tests.pipeline.thousand --lake DIR` repeats them."""
    assert not _disagreeing(_cheaper(thousand.wanted(), 8), thousand.kept(), _here)


def test_a_comparison_with_few_seeds_says_how_little_it_could_have_found() -> None:
    wanted = _cheaper(cases([10], 2), 2)
    few = compared(wanted, [*_by_engine(wanted), *_here(model_runs(wanted))])
    assert verdict_on(wanted, few).startswith(f"{len(few)} figures compared, ")
    assert could_have_found(few).startswith("That says little, with so few seeds: a difference of less than ")


def test_a_comparison_says_from_where_on_a_difference_would_have_been_noticed() -> None:
    found = [Compared(SMALL, name, Difference(100.0, 100.0, margin)) for name, margin in (("a", 2), ("b", 4), ("c", 9))]
    assert could_have_found(found) == (
        "A difference of less than 4.0% would as a rule not have been noticed in half of the figures, and in c one of "
        "less than 9.0%. Four times the --seeds halve that."
    )
    assert could_have_found([]).startswith("There was nothing")


def test_figures_without_values_are_said_not_to_have_been_compared() -> None:
    wanted = [Case(SMALL, 1, 1)]
    assert "22 were not compared" in verdict_on(wanted, [])
    assert verdict_on(wanted, [Compared(SMALL, name, Difference(1, 1, 1)) for name in NAMES]) == (
        "22 figures compared, 0 differ by more than chance explains."
    )


def test_a_model_that_loses_half_as_much_again_is_found_out(forty: tuple[list[Case], list[SimRun]]) -> None:
    assert "missed" in _disagreeing(*forty, _with_more_loss)


@pytest.mark.timeout(900)
def test_a_model_that_loses_half_as_much_again_is_found_out_at_1000() -> None:
    wanted = [case for case in _cheaper(thousand.wanted(), 8) if not case.setting.push]
    assert "missed" in _disagreeing(wanted, thousand.kept(), _with_more_loss)


def test_equal_seeds_are_equal_runs() -> None:
    one, other = do_run(Run(SMALL, 5)), do_run(Run(SMALL, 5))
    assert one.figures == other.figures
    assert one.figures != do_run(Run(SMALL, 6)).figures


def test_without_loss_everybody_has_everything_at_once() -> None:
    record = run_model(dataclasses.replace(SMALL, loss=0.0), 1)
    assert not record.missed.any()
    assert record.shown.max() == SMALL.latency
    assert sum(counts.sum() for counts in record.copies.values()) == 0


def test_with_anti_entropy_everything_is_made_good() -> None:
    record = run_model(dataclasses.replace(SMALL, loss=0.3, participants=50, tail=300_000), 2)
    assert record.missed.any()
    assert np.isfinite(record.shown).all()


def test_large_groups_forget_who_is_who_and_come_to_the_same() -> None:
    """Sizes above and below the limit up to which participants are simulated one by one; their random draws differ."""
    few = GroupSetting(messages=1, loss=0.2, warm_up=10_000, tail=45_000)
    near = [run_model(dataclasses.replace(few, participants=count), 3) for count in (2_000, 2_100)]
    shares = [record.missed.mean() for record in near]
    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    assert all(np.isfinite(record.held).all() for record in near)


def test_many_requests_at_one_moment_count_as_one_and_do_not_call_on_everybody() -> None:
    """Only a request that is repeated later without success is for everybody, as in the engine."""
    group = Group(GroupSetting(participants=400, groups=50, loss=0.0), 1)
    group.now, group.sent, group.authors = 1_000_000, 1, [0]
    group.have[:] = 1
    group.have[[5, 6]] = 0
    step = Step()
    step.add(PacketGroup("sync", -1, 0, 0, 1, -1, 0, False), np.array([5, 6]))
    hear_requests(group, step, Ears(group))
    answering = np.flatnonzero(group.answer_due[0] < NEVER)
    able = in_response_group(group, 0, group.everyone) & (group.have == 1)
    assert answering.tolist() == np.flatnonzero(able).tolist()
    assert 0 < len(answering) < 30


def test_without_suppression_answers_grow_with_the_group_and_response_groups_bound_them() -> None:
    def answers(groups: int) -> float:
        setting = GroupSetting(participants=20_000, messages=1, loss=0.02, push=False, groups=groups, tail=45_000)
        return float(np.mean([run_model(setting, seed).copies["answer"].mean() for seed in range(2)]))

    assert answers(1) > 2 * answers(0)


def test_rules_of_others_do_less() -> None:
    def unhealed(rules: str) -> float:
        setting = GroupSetting(participants=40, messages=3, loss=0.2, rules=rules)
        return float(np.isinf(run_model(setting, 4).held).mean())

    assert unhealed("sdschat") == 0
    assert unhealed("nim") > 0.05  # nobody requests or sends a message again


@pytest.mark.parametrize("rules", ["literal", "nim", "js"])
def test_nobody_else_has_anti_entropy(rules: str) -> None:
    record = run_model(GroupSetting(participants=30, messages=2, loss=0.3, rules=rules, push=True), 1)
    assert record.copies["push"].sum() == 0


def test_t_resp_is_the_formula_of_the_spec() -> None:
    group = Group(GroupSetting(participants=50), 1)
    group.authors = [7]
    t_resp = determine_t_resp(group, 0, group.everyone)
    hashes = [int(value) for value in group.hash]
    expected = [(one ^ hashes[7]) * int(group.message_hash[0]) % 120_000 for one in hashes]
    assert t_resp.tolist() == expected
    assert t_resp[7] == 0


def test_drawn_hashes_give_the_times_that_computed_ones_do() -> None:
    """Compare T_req and T_resp from SHA-256 with those of the model, by the largest distance of their distributions."""
    group = Group(GroupSetting(participants=4_000), 1)
    group.authors = [0]
    drawn = np.sort(determine_t_resp(group, 0, group.everyone)[1:])
    names = [f"participant {at}" for at in range(4_000)]
    computed = np.sort([repair.determine_t_resp(0, name, "author", "a message", 120_000) for name in names])
    both = np.concatenate([drawn, computed])
    apart = np.searchsorted(drawn, both) / len(drawn) - np.searchsorted(computed, both) / len(computed)
    assert np.abs(apart).max() < 0.05


def test_a_log_delivers_what_has_its_dependencies() -> None:
    logs = Logs(3, 2)
    for dependencies in (0b000, 0b001, 0b011):
        logs.add(dependencies)
    delivered = {held: int(logs.delivered[held]) for held in (0b111, 0b110, 0b101, 0b011)}
    assert delivered == {0b111: 0b111, 0b110: 0, 0b101: 0b001, 0b011: 0b011}


def test_a_log_names_its_newest_heads_first() -> None:
    logs = Logs(4, 2)
    for dependencies in (0b0000, 0b0001, 0b0001, 0b0110):
        logs.add(dependencies)
    assert logs.named[0b0111] == 0b0110  # two heads
    assert logs.named[0b1111] == 0b1100  # one head, and the newest of the rest


def test_what_is_waived_is_not_waited_for() -> None:
    logs = Logs(2, 2)
    logs.add(0)
    logs.add(0b01)
    held = np.array([0b10, 0b10], dtype=np.uint16)
    waived = np.array([0b01, 0], dtype=np.uint16)
    assert logs.delivered_of(held, waived).tolist() == [0b10, 0]


def test_the_wheel_gives_what_is_due_in_order() -> None:
    wheel = Wheel(10)
    wheel.put_each(np.array([25, 5, 21]), "sync", -1, np.array([1, 2, 3]))
    wheel.put(10, "send", 0, "x")
    taken = []
    while (due := wheel.next(100)) is not None:
        taken.append(
            (due[0], [(what, getattr(content, "tolist", lambda c=content: c)()) for what, _, content in due[1]])
        )
    assert taken == [(10, [("send", "x"), ("sync", [2])]), (30, [("sync", [1, 3])])]
