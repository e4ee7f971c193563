"""The parts of the model that serve very many participants."""

from __future__ import annotations

import dataclasses

import pytest

from tests.needs import needs_module

np = needs_module("numpy")

from sdschat.experiment.figures import NAMES, Record, figures_of
from sdschat.experiment.grid.summary import difference
from sdschat.experiment.setting import GroupSetting
from sdschat.experiment.vector_model import run
from sdschat.experiment.vector_model.group import WHO_IS_WHO, Group, StepDraws
from sdschat.experiment.vector_model.packets import Ears
from sdschat.experiment.vector_model.requests import due_requests, notice, received, time_requests
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.run import run_model, skip_quiet
from sdschat.experiment.vector_model.timer_wheel import Wheel

FAR = 10_000_000
MANY = GroupSetting(participants=WHO_IS_WHO + 1, loss=0.2, messages=2, warm_up=10_000, tail=60_000)


def taken(wheel: Wheel) -> list[tuple[int, str, list[int]]]:
    found = []
    while (due := wheel.next(2 * FAR)) is not None:
        found += [(due[0], what, content.tolist()) for what, _, content in due[1]]
    return found


def test_what_is_due_long_after_comes_in_its_step_in_the_order_in_which_it_was_put() -> None:
    wheel = Wheel(10)
    wheel.put_each(np.array([FAR + 20, FAR, 5]), "sync", -1, np.array([1, 2, 3]))
    wheel.put_each(np.array([FAR + 15]), "push", 0, np.array([4]))
    wheel.put_each(np.array([FAR + 20, FAR + 1]), "sync", -1, np.array([5, 6]))
    assert taken(wheel) == [
        (10, "sync", [3]),
        (FAR, "sync", [2]),
        (FAR + 10, "sync", [6]),
        (FAR + 20, "sync", [1, 5]),
        (FAR + 20, "push", [4]),
    ]


def test_what_is_put_into_the_present_step_comes_in_it() -> None:
    wheel = Wheel(10)
    wheel.put_each(np.array([FAR]), "sync", -1, np.array([1]))
    assert wheel.next(2 * FAR) is not None
    wheel.put_each(np.array([FAR, FAR + 10, FAR + 50_000]), "sync", -1, np.array([2, 3, 4]))
    assert [content.tolist() for _, _, content in wheel.more(FAR)] == [[2]]
    assert taken(wheel) == [(FAR + 10, "sync", [3]), (FAR + 50_000, "sync", [4])]


def test_in_one_step_each_is_drawn_for_once() -> None:
    random = np.random.default_rng(1)
    draws = StepDraws(random)
    first = draws.of(np.array([1, 4]))
    assert draws.of(np.array([4, 1, 5]))[:2].tolist() == first[::-1].tolist()
    assert StepDraws(random).of(np.array([1, 4])).tolist() != first.tolist()


def test_draws_are_even_and_independent_of_the_participant_and_of_the_step() -> None:
    """By the largest distance of their distribution from the even one, and by correlations."""
    random, count = np.random.default_rng(2), 100_000
    steps = [StepDraws(random).of(np.arange(count)) for _ in range(20)]
    for drawn in steps:
        assert np.abs(np.sort(drawn) - (np.arange(count) + 0.5) / count).max() < 0.007
        for apart in (1, 2, 64, 1_000, 32_768):
            assert abs(np.corrcoef(drawn[apart:], drawn[:-apart])[0, 1]) < 0.02
    between = np.corrcoef(np.array(steps)) - np.eye(len(steps))
    assert np.abs(between).max() < 0.02
    lost = (np.array(steps) < 0.05).sum(axis=0)
    assert lost.var() == pytest.approx(20 * 0.05 * 0.95, rel=0.03)


@pytest.mark.parametrize("count", [1, 3, 100])
def test_who_hears_does_not_depend_on_of_whom_it_is_asked(count: int) -> None:
    group = Group(MANY, 1)
    group.now = MANY.warm_up
    ears, senders, some = Ears(group), np.arange(count), np.arange(0, 1_000, 3)
    heard = ears.who_of(some, senders)
    every = ears.any_of(senders)
    assert heard.tolist() == [at for at in some.tolist() if every[at]]
    assert len(heard) > 0


@pytest.mark.parametrize("push", [True, False])
def test_skipping_what_tells_nobody_anything_changes_no_figure(monkeypatch: pytest.MonkeyPatch, push: bool) -> None:
    """Step by step is the way of smaller groups, which are compared with the engine."""
    setting = dataclasses.replace(MANY, push=push, tail=120_000)

    def figures(seeds: range) -> list[dict[str, float]]:
        return [figures_of(run_model(setting, seed)) for seed in seeds]

    skipping = figures(range(6))
    monkeypatch.setattr(run, "skip_quiet", lambda group: None)
    every = figures(range(100, 106))
    assert skipping[0] != every[0]
    for name in NAMES:
        found = difference([each[name] for each in skipping], [each[name] for each in every], 0.01 / len(NAMES))
        assert found is None or found.agrees or abs(found.one - found.other) <= 0.005 * abs(found.one), (name, found)


def test_each_request_is_due_once_at_its_time_and_a_removed_one_is_never_on_the_wheel() -> None:
    group = Group(MANY, 1)
    group.sent, group.now = 1, 60_000
    lacking = np.arange(500)
    notice(group, lacking, np.full(500, 1, dtype=np.uint16))
    received(group, 0, lacking[::2])
    expected = {at: -(-int(group.t_req[0, at]) // 10) * 10 for at in lacking[1::2].tolist()}
    found: dict[int, int] = {}
    while (due := group.wheel.next(FAR)) is not None:
        group.now, items = due
        while items:
            for what, message, who in items:
                if what == "requests":
                    time_requests(group, message, who)
                else:
                    assert len(who) == len(due_requests(group, message, who))
                    assert not found.keys() & set(who.tolist())
                    found |= dict.fromkeys(who.tolist(), group.now)
            items = group.wheel.more(group.now)
    assert found == expected


def test_who_lacks_only_a_newer_message_lacks_none_of_the_older_ones() -> None:
    group = Group(GroupSetting(participants=4), 1)
    assert group.lacking(0).tolist() == []
    for shown in ([0, 1, 2], [0, 3]):
        number = group.sending(0)
        assert group.lacking(number + 1).tolist() == [0, 1, 2, 3]
        group.arrived(number, np.array(shown))
        group.shown[shown] |= group.bit(number)
    assert [group.lacking(messages).tolist() for messages in (0, 1, 2)] == [[], [3], [1, 2, 3]]


def test_what_is_skipped_once_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def first(*_: object) -> int:
        looked.append(1)
        return NEVER

    monkeypatch.setattr(Wheel, "first", first)
    group = Group(MANY, 1)
    skip_quiet(group)
    group.now = MANY.warm_up
    skip_quiet(group)
    assert len(looked) == 1


def test_what_is_never_shown_is_not_consistent_however_short_the_time_is() -> None:
    record = Record(GroupSetting(participants=4, messages=1, tail=10_000), 1)
    record.shown[0, :3] = 100
    assert figures_of(record)["consistent_in_6"] == 0.75
