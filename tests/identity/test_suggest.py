"""Suggestions for mistyped names."""

from __future__ import annotations

from sdschat.identity.suggest import did_you_mean, nearest


def test_the_nearest_name_is_found() -> None:
    assert nearest("serch", ["search", "reach", "say"]) == "search"


def test_nothing_is_near_a_name_of_other_letters() -> None:
    assert nearest("xyz", ["search", "reach"]) is None
    assert nearest("x", []) is None


def test_a_higher_measure_lets_fewer_names_pass() -> None:
    assert nearest("abcd", ["abdc"]) == "abdc"
    assert nearest("abcd", ["abdc"], 0.8) is None
    assert nearest("nonsense", ["open", "search"]) is None


def test_the_question_names_it_with_its_prefix() -> None:
    assert did_you_mean("serch", ["search"], prefix="/") == "Did you mean /search?"


def test_without_a_near_name_the_other_hint_stands() -> None:
    assert did_you_mean("xyz", ["search"], "/help lists all of them.") == "/help lists all of them."
    assert did_you_mean("xyz", ["search"]) == ""
