"""Each planted defect, in a run in which it breaks a rule. Without it, the same run breaks none."""

from __future__ import annotations

from typing import Final

import pytest

from tests.timber import defects
from tests.timber.defects import DEFECTS, Defect
from tests.timber.runs import outcome

SETTLED: Final = "what a ballot may remove was settled"
DIFFER: Final = "equal sets of operations have different outcomes"
PREFIXES: Final = "checkpoints are not prefixes of one another"
TWO_ENDS: Final = "a membership ended at two places"
STILL: Final = "a majority is alive, and the checkpoint stands still"

# The first seed that finds each, and the rule that it breaks.
FOUND: Final[dict[Defect, tuple[int, str]]] = {
    defects.majority_is_enough: (0, SETTLED),
    defects.no_stop_rule: (0, SETTLED),
    defects.newcomers_do_not_count: (4, DIFFER),
    defects.floors_are_kept_at_admission: (3, STILL),
    defects.siblings_by_arrival: (0, "refused: parent"),
    defects.runs_are_not_cut: (0, "refused: parent"),
    defects.labels_are_not_spread: (0, "refused: parent"),
    defects.compaction_does_not_wait: (129, "refused: parent"),
    defects.everything_is_named: (245, "refused: parent"),
    defects.quorum_of_a_third: (0, TWO_ENDS),
    defects.one_accept_decides: (132, "refused: turn"),
    defects.own_word_counts_for_nothing: (12, STILL),
    defects.nothing_is_forced: (273, PREFIXES),
    defects.promises_are_not_kept: (0, DIFFER),
    defects.proposals_without_promises: (250, "refused: turn"),
    defects.electors_never_change: (3, STILL),
    defects.silence_never_ends_a_membership: (3, STILL),
    defects.removed_are_still_waited_for: (0, "refused: ballot"),
    defects.lost_operations_count: (8, TWO_ENDS),
    defects.events_count_twice: (0, "an event had its effect twice"),
    defects.invitations_count_by_their_writer: (18, "refused: parent"),
    defects.newcomers_start_with_all: (3, DIFFER),
    defects.parents_are_not_checked_and_chosen_by_age: (0, "refused: parent"),
    defects.clocks_name_less: (0, "refused: checksum"),
    defects.leavers_stop_at_once: (0, "refused: after_leave"),
}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_planted_defect_breaks_a_rule_that_holds_without_it(defect: Defect) -> None:
    seed, rule = FOUND[defect]
    assert outcome(seed)[0] == ""
    with defect():
        assert outcome(seed)[0] == rule
