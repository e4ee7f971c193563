"""No rule goes unproved: each of S-001 to S-087 has a test named for it, and a row in the README that names it."""

from __future__ import annotations

import re
from pathlib import Path

RULES = range(1, 88)
HERE = Path(__file__).parent
README = HERE / "README.md"


def names_of_tests() -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_s_*.py"))
    return set(re.findall(r"^def (test_s_\d{3}_\w+)\(", text, re.MULTILINE))


def rows_of_the_readme() -> list[tuple[int, list[str]]]:
    """Each rule of the table of conformance, with the tests that its row names."""
    rows = re.findall(r"^\| S-(\d{3}) \|.*\|(.*)\|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    return [(int(number), re.findall(r"`(\w+)`", tests)) for number, tests in rows]


def number_of(test: str) -> int:
    return int(test.split("_")[2])


def test_every_rule_of_the_specification_has_a_test() -> None:
    assert {number_of(test) for test in names_of_tests()} == set(RULES)


def test_every_rule_has_one_row_in_the_readme() -> None:
    assert [number for number, _ in rows_of_the_readme()] == list(RULES)


def test_every_row_names_tests_of_its_own_rule_that_exist() -> None:
    there = names_of_tests()
    for number, tests in rows_of_the_readme():
        assert tests, f"S-{number:03} names no test"
        assert set(tests) <= there, f"S-{number:03} names tests that do not exist"
        assert {number_of(test) for test in tests} == {number}
