"""The table of threats: each row of the threat model has an answer, and each test that an answer names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "sdschat" / "identity" / "README.md"
ROWS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
STATES = ("defended", "seen", "bounded", "not defended", "not applicable")


def problem_with(name: str) -> str:
    """Return why a name of the form `tests/file.py::test` leads to no test; empty if it does."""
    file, _, test = name.partition("::")
    place = ROOT / file
    if not place.exists():
        return f"{file} is not there"
    if test and not re.search(rf"^ *(async )?def {test}\(", place.read_text("utf-8"), re.MULTILINE):
        return f"{file} has no {test}"
    return ""


def test_every_row_has_one_answer() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 97))


@pytest.mark.parametrize(("number", "threat", "state", "answer"), ROWS, ids=[row[0] for row in ROWS])
def test_an_answer_names_tests_that_exist_or_says_why_not(number: str, threat: str, state: str, answer: str) -> None:
    assert state.startswith(STATES), f"{number}, {threat}: {state}"
    names = re.findall(r"`(tests/[^`]+)`", answer)
    assert [problem for name in names if (problem := problem_with(name))] == []
    if state.startswith(("defended", "seen", "bounded")):
        assert names, f"{number}, {threat}: no test is named"
    else:
        assert re.sub(r"`tests/[^`]+`", "", answer).strip(" ;,"), f"{number}, {threat}: no reason is given"


@pytest.mark.parametrize("name", ["tests/nowhere.py", "tests/identity/test_threats.py::test_that_there_is_not"])
def test_a_name_that_leads_nowhere_is_found(name: str) -> None:
    assert problem_with(name)
