"""Some of the planted defects: the random runs are able to find what they look for."""

from __future__ import annotations

import pytest

from tests.timber import defects
from tests.timber.defects import Defect, first_seed
from tests.timber.runs import outcome

QUICK = (
    defects.majority_is_enough,
    defects.newcomers_do_not_count,
    defects.siblings_by_arrival,
    defects.runs_are_not_cut,
    defects.electors_never_change,
    defects.lost_operations_count,
    defects.clocks_name_less,
)


@pytest.mark.parametrize("defect", defects.DEFECTS, ids=lambda defect: defect.__name__)
def test_every_defect_can_be_planted(defect: Defect) -> None:
    with defect():
        problem, _ = outcome(0)
    assert isinstance(problem, str)


@pytest.mark.parametrize("defect", QUICK, ids=lambda defect: defect.__name__)
def test_a_planted_defect_is_found(defect: Defect) -> None:
    seed, problem = first_seed(defect, 20)
    assert seed is not None
    assert problem


def test_a_checkpoint_that_passes_what_a_ballot_may_remove_breaks_a_rule() -> None:
    assert first_seed(defects.no_stop_rule, 20)[1] == "what a ballot may remove was settled"
