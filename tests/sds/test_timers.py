"""Deadlines against a plain dictionary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.timers import Deadlines
from sdschat.sds.values import Now

keys = st.sampled_from("abcdef")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys, st.integers(0, 50)),
        st.tuples(st.just("discard"), keys, st.just(0)),
        st.tuples(st.just("pop"), st.just(""), st.integers(0, 50)),
    ),
    max_size=60,
)


def in_order(plain: dict[str, int], until: int) -> list[str]:
    return [key for due, key in sorted((due, key) for key, due in plain.items()) if due <= until]


@given(steps)
@settings(max_examples=200, deadline=None)
def test_deadlines_are_a_sorted_dictionary(commands: list[tuple[str, str, int]]) -> None:
    deadlines = Deadlines()
    plain: dict[str, int] = {}
    for verb, key, value in commands:
        if verb == "set":
            deadlines.set(key, value)
            plain[key] = value
        elif verb == "discard":
            deadlines.discard(key)
            plain.pop(key, None)
        else:
            due = in_order(plain, value)
            assert deadlines.first_due(value, 2) == due[:2]
            assert deadlines.pop_due(value) == due
            for name in due:
                del plain[name]
        assert deadlines.next() == min(plain.values(), default=None)
        assert len(deadlines) == len(plain)


def test_a_key_set_many_times_is_due_once() -> None:
    deadlines = Deadlines()
    for due in (5, 3, 5, 3, 4):
        deadlines.set("a", due)
    assert deadlines.pop_due(10) == ["a"]


def test_the_heap_does_not_grow_with_the_number_of_changes() -> None:
    deadlines = Deadlines()
    for due in range(10_000):
        deadlines.set("a", due)
    assert len(deadlines._heap) < 100


def test_a_monotonic_time_survives_as_wall_time() -> None:
    before, after = Now(1_000_000, 500), Now(1_003_000, 20)
    assert after.to_mono(before.to_wall(4500), 10_000) == 20 + 1000


def test_a_wall_clock_that_was_set_back_puts_no_deadline_further_off_than_it_can_have_been() -> None:
    now = Now(1_000, 50)
    assert now.to_mono(10**15, 700) == 50 + 700


def test_what_happened_is_past_whatever_the_wall_clock_says() -> None:
    now = Now(1_000, 50)
    assert now.past_mono(10**15) == 50
    assert now.past_mono(900) == -50
