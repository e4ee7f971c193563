"""No rule goes unproved: each of S-001 to S-087 has a test that is named for it."""

from __future__ import annotations

import re
from pathlib import Path

RULES = range(1, 88)


def numbers_with_tests() -> set[int]:
    here = Path(__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in here.glob("test_s_*.py"))
    return {int(number) for number in re.findall(r"^def test_s_(\d{3})_\w+\(", text, re.MULTILINE)}


def test_every_rule_of_the_specification_has_a_test() -> None:
    assert numbers_with_tests() == set(RULES)
