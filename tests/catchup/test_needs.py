"""Choice of the next request among all that is lacking."""

from __future__ import annotations

import pytest

from sdschat.catchup import values
from sdschat.catchup.fetch_plan import READ_FIRST, FetchPlan
from sdschat.catchup.values import LogKey, Need, Stretch


def key(lamport: int) -> LogKey:
    return LogKey(lamport, "")


def needing(*needs: Need) -> FetchPlan:
    found = FetchPlan()
    found.replace(needs)
    return found


def test_the_newest_hundred_come_first_and_then_the_oldest() -> None:
    needs = needing(Need(key(0), key(10), 70), Need(key(20), key(30), 60), Need(key(40), key(50), 60))
    want = needs.choose()
    assert want == ((Stretch(key(40), key(50)), Stretch(key(20), key(30))), READ_FIRST, True)
    needs.settle(key(25))
    want = needs.choose()
    assert want == ((Stretch(key(0), key(10)), Stretch(key(20), key(25))), 2 * (70 + 20) + 64, False)
    needs.settle(key(0))
    assert not needs


@pytest.mark.parametrize(("messages", "newest_first"), [(READ_FIRST, False), (READ_FIRST + 1, True)])
def test_a_hundred_at_once_need_no_two_requests(messages: int, newest_first: bool) -> None:
    want = needing(Need(key(0), key(9), messages)).choose()
    assert want.newest_first is newest_first
    assert want.limit == (READ_FIRST if newest_first else 2 * READ_FIRST + 64)


def test_short_ids_are_asked_for_as_a_whole() -> None:
    needs = needing(Need(key(0), key(9), 150, tuple(range(150))))
    want = needs.choose()
    assert (want.newest_first, want.limit) == (True, 2 * 150 + 64)
    needs.settle(key(5))
    assert not needs


@pytest.mark.parametrize(("lowest", "left"), [(0, False), (1, True), (8, True), (9, False)])
def test_what_is_left_of_a_stretch_lies_below_what_came(lowest: int, left: bool) -> None:
    needs = needing(Need(key(0), key(9), 150))
    needs.choose()
    needs.settle(key(lowest))
    assert bool(needs) is left
    if left:
        assert needs.choose().stretches == (Stretch(key(0), key(lowest)),)


def test_nothing_that_came_settles_the_request_all_the_same() -> None:
    needs = needing(Need(key(0), key(9), 150))
    needs.choose()
    needs.settle(None)
    assert not needs


def test_only_what_was_asked_for_is_covered() -> None:
    needs = needing(Need(key(3), key(5), 1), Need(key(7), key(9), 1))
    assert not needs.covers(key(3))
    needs.choose()
    assert [lamport for lamport in range(12) if needs.covers(key(lamport))] == [3, 4, 7, 8]


def test_below_a_floor_nothing_is_asked_for() -> None:
    needs = needing(Need(key(0), key(3), 5), Need(key(4), key(9), 5), Need(key(10), key(12), 5))
    needs.forget_below(key(3))
    needs.forget_below(key(6))
    assert needs.choose().stretches == (Stretch(key(6), key(9)), Stretch(key(10), key(12)))


def test_stretches_side_by_side_are_one_but_for_short_ids() -> None:
    whole = [Need(key(0), key(3), 5), Need(key(3), key(6), 7)]
    assert needing(*whole).choose() == ((Stretch(key(0), key(6)),), 2 * 12 + 64, False)
    for shorts in ((1,), ()):
        one = [whole[0]._replace(shorts=shorts), whole[1]._replace(shorts=() if shorts else (2,))]
        assert len(needing(*one).choose().stretches) == 2
    assert len(needing(Need(key(0), key(3), 5), Need(key(4), key(6), 7)).choose().stretches) == 2


def test_a_request_has_as_many_stretches_as_the_other_side_takes() -> None:
    all_of_them = [Need(key(2 * at), key(2 * at + 1), 0) for at in range(values.STRETCHES + 1)]
    needs = needing(*all_of_them)
    assert len(needs.choose().stretches) == values.STRETCHES
    needs.settle(None)
    assert needs.choose().stretches == (Stretch(*all_of_them[-1][:2]),)


def test_a_request_has_as_many_short_ids_as_the_other_side_takes() -> None:
    half = tuple(range(values.SHORTS // 2))
    needs = needing(*(Need(key(2 * at), key(2 * at + 1), 1, half) for at in range(3)))
    assert [len(stretch.shorts) for stretch in needs.choose().stretches] == [len(half), len(half)]
    more = needing(Need(key(0), key(1), 1, (*half, 1)), Need(key(2), key(3), 1, half))
    assert len(more.choose().stretches) == 1
