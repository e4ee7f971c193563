"""The views are one text: the committed words of the engine follow from it, and the oracle agrees with them."""

from __future__ import annotations

from sdschat.audit.schemas import FAULTS
from sdschat.audit.verdict import AHEAD, JOINED_LATER, LAGGING, LOST, RETENTION, TAKEN_ALONG
from tests.audit.golden import answer
from tests.audit.oracle import oracle
from tests.audit.worlds import drawn
from tests.needs import needs_module

GROUPS = 250
NOT_DRAWN = {"apart"}  # takes two databases of one node: test_apart.py


def test_the_words_of_the_engines_follow_from_the_views() -> None:
    needs_module("sqlglot")
    from tests.audit.transpile import transpiled

    assert [(file, file.read_text("utf-8")) for file, _ in transpiled()] == list(transpiled())


def test_drawn_groups_are_judged_as_the_oracle_judges_them() -> None:
    kinds, reasons = set(), set()
    for seed in range(GROUPS):
        found = answer(drawn(seed))
        assert found == oracle(drawn(seed)), seed
        kinds |= {row.kind for row in found.findings}
        reasons |= {row.reason for row in found.missing}
    assert (kinds, reasons) == (
        {*FAULTS, "gap"} - NOT_DRAWN,
        {LOST, LAGGING, JOINED_LATER, RETENTION, TAKEN_ALONG, AHEAD},
    )
