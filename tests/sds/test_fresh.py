"""Recent arrivals: their bits are kept as sums, which must be what adding them up would give."""

from __future__ import annotations

from functools import reduce
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from sdschat.sds.bloom.compact import mask, shape_for
from sdschat.sds.limits import ARRIVALS_KEPT
from sdschat.sds.window import RecentArrivals

SHAPE = shape_for(256, 1e-4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("note"), st.integers(0, 9)),
        st.tuples(st.just("forget"), st.integers(0, 9)),
        st.tuples(st.just("ask"), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 4)),
    ),
    max_size=60,
)


@given(STEPS)
def test_the_bits_are_those_of_all_that_came_lately_whatever_came_and_went_before(steps: list[tuple[str, int]]) -> None:
    fresh, now = RecentArrivals(), 0
    expected: dict[str, int] = {}
    for what, number in steps:
        message_id = f"message {number}"
        if what == "note":
            fresh.note(message_id, now)
            expected.pop(message_id, None)
            expected[message_id] = now
        elif what == "forget":
            fresh.forget(message_id)
            expected.pop(message_id, None)
        elif what == "wait":
            now += number
            fresh.trim(now - 5)
            expected = {key: at for key, at in expected.items() if at > now - 5}
        else:
            assert fresh.bits(SHAPE) == reduce(or_, (mask(key, *SHAPE) for key in expected), 0)
        assert list(fresh) == list(expected)


def test_what_nobody_asks_about_is_not_kept_longer_than_it_is_fresh() -> None:
    fresh = RecentArrivals()
    fresh.note("the first", 0)
    fresh.bits(SHAPE)
    for at in range(1000):
        fresh.note(f"message {at}", at)
        fresh.trim(at - 10)
    assert len(fresh._newer) <= 11


def test_of_a_flood_only_the_newest_count_as_fresh() -> None:
    fresh = RecentArrivals()
    for number in range(ARRIVALS_KEPT + 5):
        fresh.note(f"message {number}", 0)
    kept = list(fresh)
    assert (len(kept), kept[0]) == (ARRIVALS_KEPT, "message 5")
