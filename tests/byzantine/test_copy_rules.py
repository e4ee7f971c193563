"""Rules for two copies of a message that nobody signed: under which all agree, and what each of them costs."""

from __future__ import annotations

import pytest

from tests.byzantine.copy_rules import RULES, Rule, choices, first, lowest, most_moves, simulate, withdrawn

_SEEDS = range(3)


def test_under_no_rule_that_shows_one_of_the_copies_do_all_agree_and_nothing_moves_twice() -> None:
    assert min(most_moves(choice) for choice in choices(may_withdraw=False)) == 2


def test_the_only_such_rule_shows_no_place_once_there_are_two_copies() -> None:
    found = [choice for choice in choices(may_withdraw=True) if most_moves(choice) <= 1]
    assert [{place for some, place in choice.items() if len(some) > 1} for choice in found] == [{None}]


def test_the_first_copy_never_moves() -> None:
    assert {simulate(first, seed).moves for seed in _SEEDS} == {0}


@pytest.mark.parametrize("rule", [lowest, withdrawn])
def test_whoever_copies_displaces_every_message_where_a_rule_lets_all_agree(rule: Rule) -> None:
    results = [simulate(rule, seed) for seed in _SEEDS]
    assert {result.split for result in results} == {0}
    assert min(result.displaced for result in results) > simulate(first, 0).displaced


@pytest.mark.parametrize(
    "name", ["the first one stands", "the lowest of a time wins", "the lowest wins until an answer"]
)
def test_rules_that_look_at_the_order_or_the_time_split(name: str) -> None:
    assert max(simulate(RULES[name], seed).split for seed in _SEEDS) > 0
