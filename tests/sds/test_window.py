"""The recent window: whatever the order of insertion and trimming, it is a function of the log."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import Entry
from sdschat.sds.window import RecentWindow

Shape = list[tuple[int, list[int]]]


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Entry], list[int]]:
    """Entries, each depending on some that are older, and an order in which they come."""
    shape: Shape = draw(
        st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(1, 6), max_size=3)), min_size=1, max_size=40)
    )
    entries: list[Entry] = []
    lamport = 1
    for place, (step, backs) in enumerate(shape):
        lamport += step
        older = [place - back for back in backs if place >= back and entries[place - back].lamport < lamport]
        dependencies = tuple(dict.fromkeys(entries[index].message_id for index in older))
        entries.append(Entry(lamport, f"m{place:03}", "a", dependencies))
    order = draw(st.permutations(range(len(entries))))
    return entries, list(order)


def rebuilt(entries: list[Entry]) -> RecentWindow:
    return RecentWindow(sorted(entries)[-RECENT_WINDOW:])


def heads_by_definition(entries: list[Entry]) -> list[Entry]:
    named = {dependency for entry in entries for dependency in entry.dependencies}
    return [entry for entry in sorted(entries) if entry.message_id not in named]


@given(logs())
@settings(max_examples=150, deadline=None)
def test_heads_do_not_depend_on_the_order_of_arrival(log: tuple[list[Entry], list[int]]) -> None:
    entries, order = log
    window = RecentWindow([entries[place] for place in order])
    assert window.order == sorted(entries)
    assert window.heads == rebuilt(entries).heads == heads_by_definition(entries)


@given(logs(), st.integers(1, 10))
@settings(max_examples=150, deadline=None)
def test_causal_history_does_not_depend_on_the_order_of_arrival(log: tuple[list[Entry], list[int]], count: int) -> None:
    entries, order = log
    window = RecentWindow([entries[place] for place in order])
    assert window.causal_history(count) == rebuilt(entries).causal_history(count)


@given(logs(), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_trimming_gives_what_rebuilding_gives(log: tuple[list[Entry], list[int]], every: int) -> None:
    entries, order = log
    ballast = [Entry(2, f"b{place:04}", "a") for place in range(RECENT_WINDOW - 5)]
    coming = [*ballast, *(entries[place] for place in order)]
    window = RecentWindow([])
    for place, entry in enumerate(coming):
        window.insert(entry)
        if every and place % every == 0:
            window.trim()
    window.trim()
    fresh = rebuilt(coming)
    assert window.order == fresh.order
    assert window.heads == fresh.heads


def test_insert_says_what_is_late() -> None:
    window = RecentWindow([])
    assert [window.insert(Entry(lamport, f"m{lamport}", "a")) for lamport in (1, 3, 2, 4)] == [
        False,
        False,
        True,
        False,
    ]


def test_causal_history_is_filled_up_with_the_newest() -> None:
    window = RecentWindow([Entry(place, f"m{place}", "a", (f"m{place - 1}",)) for place in range(1, 6)])
    assert [entry.message_id for entry in window.causal_history(3)] == ["m3", "m4", "m5"]


def test_an_old_head_goes_before_a_newer_message_that_is_none() -> None:
    window = RecentWindow(
        [Entry(1, "lonely", "b"), Entry(2, "m1", "a"), Entry(3, "m2", "a", ("m1",)), Entry(4, "m3", "a", ("m2",))]
    )
    assert [entry.message_id for entry in window.causal_history(2)] == ["lonely", "m3"]


def test_dated_takes_both_ends() -> None:
    window = RecentWindow([Entry(place, f"m{place}", "a") for place in range(1, 6)])
    assert [entry.lamport for entry in window.dated(2, 4)] == [2, 3, 4]


def test_trim_keeps_the_newest() -> None:
    window = RecentWindow([Entry(place, f"m{place}", "a") for place in range(1, RECENT_WINDOW + 3)])
    assert [entry.lamport for entry in window.trim()] == [1, 2]
    assert len(window.order) == RECENT_WINDOW


def test_an_entry_that_is_withdrawn_is_awaited_again_by_what_names_it() -> None:
    first, second = Entry(1, "m1", "a", ()), Entry(2, "m2", "a", ("m1",))
    window = RecentWindow([first, second])
    window.withdraw(first)
    assert (window.order, [*window.entries], window.awaits("m1")) == ([second], ["m2"], True)


def test_withdrawing_what_is_not_here_changes_nothing() -> None:
    window = RecentWindow([Entry(1, "m1", "a", ())])
    window.withdraw(Entry(1, "m0", "a", ()))
    assert [entry.message_id for entry in window.order] == ["m1"]


def test_the_newest_entries_before_a_date_are_no_more_than_asked_for() -> None:
    window = RecentWindow([Entry(lamport, f"m{lamport}", "a", ()) for lamport in range(1, 6)])
    assert [entry.lamport for entry in window.dated_before(5, 2)] == [3, 4]
    assert [entry.lamport for entry in window.dated_before(3, 9)] == [1, 2]
