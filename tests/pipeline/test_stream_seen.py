"""The arithmetic of parts: each batch's part includes rows of earlier batches."""

from __future__ import annotations

from collections.abc import Collection

from sdschat.audit.schemas import Journal
from sdschat.pipeline.stream.seen import (
    Span,
    by_whose,
    joined,
    numbers_in,
    parts_before,
    parts_to_take_over,
    together,
    unseen_at,
)


def parts(count: int, empty: Collection[int] = ()) -> dict[int, list[int]]:
    """Return the content of each batch's part, if each batch adds its own number."""
    found: dict[int, list[int]] = {}
    for batch in range(count):
        if batch not in empty:
            taken = [row for part in parts_to_take_over(batch, found.__contains__) for row in found[part]]
            found[batch] = [*taken, batch]
    return found


def test_spans_that_touch_or_overlap_are_one() -> None:
    assert joined([(8, 9), (1, 3), (4, 5), (2, 4)]) == [(1, 5), (8, 9)]
    assert joined([(1, 9), (2, 3)]) == [(1, 9)]


def test_spans_of_each_journal_are_joined_by_themselves() -> None:
    ours, theirs = Span("Journal", "field", "ann", "b", 1, 4), Span("Journal", "field", "bob", "b", 5, 6)
    later = ours._replace(first=5, last=7)
    assert together(by_whose([ours, theirs]), by_whose([later])) == [ours._replace(last=7), theirs]


ANN = ("Journal", "field", "ann", "b")
BOB = ("Journal", "field", "bob", "b")


def test_the_first_of_equal_rows_is_new_unless_a_stretch_has_it() -> None:
    rows = [(ANN, 4), (ANN, 4), (ANN, 7), (BOB, 4), (ANN, 9), (ANN, 8)]
    new, came = unseen_at(rows, {ANN: [(1, 3), (7, 8)]})
    assert new == [0, 3, 4]
    assert came == {ANN: [(4, 4), (7, 9)], BOB: [(4, 4)]}


def test_stretches_need_not_be_in_order_to_be_looked_into() -> None:
    new, _ = unseen_at([(ANN, seq) for seq in range(1, 12)], {ANN: [(9, 10), (1, 2), (4, 6), (6, 7)]})
    assert [seq + 1 for seq in new] == [3, 8, 11]


def test_rows_are_counted_by_their_stretches() -> None:
    spans = {ANN: [(1, 3), (2, 4)], BOB: [(7, 7)], ("Packet", "field", "tap", ""): [(1, 9)]}
    assert numbers_in(spans, Journal) == 5


def test_each_earlier_batch_is_read_once_from_few_parts() -> None:
    made = parts(300)
    for count in range(300):
        read = list(parts_before(count, made.__contains__))
        assert sorted(row for part in read for row in made[part]) == list(range(count))
        assert len(read) <= count.bit_length()


def test_batches_that_had_nothing_are_stepped_over() -> None:
    empty = {0, 3, 4, 7, 8, 15, 16, 31, 62, 63}
    made = parts(64, empty)
    for count in range(65):
        read = list(parts_before(count, made.__contains__))
        assert sorted(row for part in read for row in made[part]) == sorted(set(range(count)) - empty)
