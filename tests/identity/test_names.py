"""Whom a name means: a nick, an id or the beginning of one, or both."""

from __future__ import annotations

import pytest

from sdschat.identity.signing import beginning_of, goes_by, ids_called

_ANN, _OTHER, _BOB = "4cb9ec7e" * 4, "1bdaeadd" * 4, "4cb9ffff" * 4
_KNOWN = ((_ANN, "ann"), (_OTHER, "ann"), (_BOB, "Bob"))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ann", [_OTHER, _ANN]),
        ("ann 4cb9", [_ANN]),
        ("ANN 1BDA", [_OTHER]),
        ("bob", [_BOB]),
        ("1bda", [_OTHER]),
        ("4cb9", [_ANN, _BOB]),
        ("4cb9f", [_BOB]),
        ("bob 1bda", []),
        ("4cb", []),
        ("ann 4c", []),
        ("carol", []),
        (_ANN, [_ANN]),
    ],
)
def test_a_name_means_all_whom_it_fits(name: str, found: list[str]) -> None:
    assert ids_called(name, _KNOWN) == found


def test_a_nick_of_the_same_letters_comes_before_one_of_another_case() -> None:
    known = ((_ANN, "ann"), (_BOB, "Ann"))
    assert ids_called("ann", known) == [_ANN]
    assert ids_called("ANN", known) == [_ANN, _BOB]


def test_whoever_takes_an_id_for_a_nick_is_not_taken_for_its_holder() -> None:
    known = ((_ANN, "ann"), (_OTHER, _ANN), (_BOB, "1bda"))
    assert ids_called(_ANN, known) == [_ANN]
    assert ids_called("1bda", known) == [_OTHER, _BOB]
    taken = ((_ANN, "ann"), (_OTHER, "ann 4cb9"))
    assert ids_called("ann 4cb9", taken) == [_OTHER, _ANN]


def test_who_is_spoken_to_is_meant_by_the_name_with_an_at_sign_in_front() -> None:
    known = [(_ANN, "ann"), (_BOB, "@bob"), (_OTHER, "@ann")]
    assert ids_called("@ann", known) == [_ANN], "nobody takes the name of somebody else by an @ in front"
    assert ids_called("@bob", known) == [_BOB]


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ("ffff", "0123"),
        ("0123ffff", "01234"),
        ("0123456f", "01234567"),
        ("0123456", "01234567"),  # an id of another make
        ("0123456789abcdee", "0123456789abcdef"),
        ("0123456789abcdef", "0123"),
    ],
)
def test_the_beginning_of_an_id_is_as_long_as_it_takes_to_tell_it_from_others(other: str, shown: str) -> None:
    assert beginning_of("0123456789abcdef", ("eeee", other), 4) == shown


def test_eight_letters_of_an_id_are_shown_at_least() -> None:
    assert beginning_of("0123456789abcdef", ()) == "01234567"


@pytest.mark.parametrize(
    ("name", "fits"),
    [("Ann", True), ("0123", True), ("ann 0123", True), ("012", False), ("bob 0123", False), ("0123 ann", False)],
)
def test_somebody_goes_by_a_nick_in_letters_of_any_case_and_by_the_beginning_of_the_id(name: str, fits: bool) -> None:
    assert goes_by("0123456789abcdef", "ann", name) is fits
