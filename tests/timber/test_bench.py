"""The benchmark of Timber on few posts: it measures what it claims to."""

from __future__ import annotations

from tests.timber.bench import committee, ours
from tests.timber.bench.posts import sample


def test_deleted_posts_are_in_no_file_and_a_writer_who_was_away_loses_nothing() -> None:
    found = ours.measure(sample(150))
    assert all(text.startswith("0 of ") for text in found.found.values())
    assert found.away.endswith("10 of its 10 posts arrive")
    assert 0 < found.exchanged / found.posts < 1000


def test_an_operation_of_a_few_writers_costs_its_own_bytes_whatever_the_committee() -> None:
    assert committee.cost(10, 5, 50)[1] == committee.cost(100, 5, 50)[1]
