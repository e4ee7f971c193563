"""What batches remember of the ones before, by arithmetic alone."""

from __future__ import annotations

from collections.abc import Collection

from sdschat.pipeline.stream.seen import Span, by_whose, joined, parts_before, parts_to_take_over, together


def parts(count: int, empty: Collection[int] = ()) -> dict[int, list[int]]:
    """Of each batch what its part has, where each batch adds its own number."""
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
