"""Tests of the rows of the journal for refused packets."""

from __future__ import annotations

from sdschat.node.channel.refusals import DUPLICATES, MINUTE, SENDERS, RefusalCounter
from sdschat.sds.values import Now
from sdschat.store.journal import JournalRow


def refused(sender: str = "", reason: str = "unreadable") -> JournalRow:
    return JournalRow("rejected", "lobby", 1, 1000, sender=sender or None, cause=reason)


def at(mono: int) -> Now:
    return Now(1_800_000_000_000 + mono, mono)


def test_ten_thousand_refusals_are_two_rows_that_count_them() -> None:
    counter = RefusalCounter()
    first = counter.merge("lobby", [refused()] * 4_000, at(0))
    assert first == [refused()]
    assert counter.merge("lobby", [refused()] * 6_000, at(MINUTE - 1)) == []
    assert counter.take_merged() == {"unreadable": 9_999}
    assert counter.take_merged() == {}
    (rest,) = counter.merge("lobby", [], at(MINUTE))
    assert (rest.cause, rest.sender, rest.attempt, rest.ts_ms) == ("unreadable", None, 9_999, at(MINUTE).wall)
    assert counter.merge("lobby", [], at(2 * MINUTE)) == []
    assert counter.merge("lobby", [refused()], at(2 * MINUTE + 1)) == [refused()]


def test_reasons_and_senders_are_counted_apart() -> None:
    counter = RefusalCounter()
    rows = [refused("a"), refused("b"), refused("a", "altered"), refused("a")]
    assert counter.merge("lobby", rows, at(0)) == rows[:3]
    (rest,) = counter.merge("lobby", [], at(MINUTE))
    assert (rest.sender, rest.cause, rest.attempt) == ("a", "unreadable", 1)


def test_invented_senders_share_a_row() -> None:
    counter = RefusalCounter()
    rows = counter.merge("lobby", [refused(str(number)) for number in range(1000)], at(0))
    assert len(rows) == SENDERS + 1
    (rest,) = counter.merge("lobby", [], at(MINUTE))
    assert (rest.sender, rest.attempt) == (None, 1000 - SENDERS - 1)


def test_of_what_comes_twice_some_rows_are_kept_and_the_rest_is_counted() -> None:
    counter = RefusalCounter()
    rows = [JournalRow("duplicate", "lobby", 1, 1000, message_id=str(number), sender="a") for number in range(5_000)]
    kept = counter.merge("lobby", rows, at(0))
    assert kept[:DUPLICATES] == rows[:DUPLICATES]
    (rest,) = counter.merge("lobby", [], at(MINUTE))
    assert (rest.event, rest.sender) == ("duplicate", "a")
    assert len(kept) + (rest.attempt or 0) == len(rows)
    assert counter.take_merged() == {}
    assert counter.merge("lobby", rows[:2], at(MINUTE + 1)) == rows[:2]


def test_other_rows_stay_as_they_are() -> None:
    rows = [JournalRow("delivered", "lobby", 1, 1000, message_id=str(number)) for number in range(5)]
    assert RefusalCounter().merge("lobby", rows, at(0)) == rows
