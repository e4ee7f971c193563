"""Each rule of the specifications has a test that quotes it, and the tables of conformance say what the tests say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import PAGES, TESTS, misquoted, read_rules, table, uncounted, written


@pytest.mark.parametrize("page", PAGES)
def test_every_rule_has_a_test_and_a_sentence_and_there_are_no_others(page: str) -> None:
    rules = read_rules(TESTS / page)
    assert uncounted(page, rules) == []
    assert [name for section in PAGES[page] for name in section.rules() if name not in rules] == []
    assert [name for name, rule in rules.items() if len(rule.sentences) != 1] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_table_is_the_one_that_the_tests_make(page: str) -> None:
    assert written(page)[1] == table(page), "python -m tests.conformance --write"


def test_a_rule_behind_the_last_one_is_named() -> None:
    assert uncounted("spec", ["S-087", "S-088"]) == ["S-088 is in no section of 'spec': raise the count in PAGES"]


def test_a_quotation_that_a_specification_does_not_have_is_found(tmp_path: Path) -> None:
    nothing = tmp_path / "empty.md"
    nothing.write_text("*MUST NOT* be added to the [local\nlog](#log)\n", encoding="utf-8")
    names = [line.split(":")[0] for line in misquoted([nothing])]
    assert "S-055" not in names
    assert "S-054" in names
    assert not any(name.startswith("V-") for name in names)
