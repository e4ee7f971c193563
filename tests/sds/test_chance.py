"""Jitter."""

from __future__ import annotations

from sdschat.sds.timers import Jitter


def test_the_same_question_has_the_same_answer() -> None:
    assert Jitter(b"s").below(1000, "x", 1) == Jitter(b"s").below(1000, "x", 1)


def test_another_secret_has_other_answers() -> None:
    here = [Jitter(b"s").below(10**9, place) for place in range(5)]
    there = [Jitter(b"t").below(10**9, place) for place in range(5)]
    assert here != there


def test_answers_are_spread_evenly() -> None:
    chance = Jitter(b"s")
    counts = [0] * 10
    for place in range(10_000):
        counts[chance.below(10, place)] += 1
    assert min(counts) > 900
    assert max(counts) < 1100


def test_below_nothing_is_nothing() -> None:
    assert [Jitter(b"s").below(bound, "x") for bound in (0, -1, 1)] == [0, 0, 0]


def test_questions_do_not_run_together() -> None:
    assert Jitter(b"s").token("ab", "c") != Jitter(b"s").token("a", "bc")


def test_long_secrets_are_taken() -> None:
    assert len(Jitter(b"s" * 1000).token("x")) == 32
