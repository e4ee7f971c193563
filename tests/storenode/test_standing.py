"""Choice of the Store to ask: all get their share, silent Stores rest, liars are left."""

from __future__ import annotations

from collections import Counter

from sdschat.catchup.peers import REST_FIRST, REST_LONGEST
from sdschat.node.store_client.verify import BUSY, StoreReputation

STORES = ["a" * 32, "b" * 32, "c" * 32]


def _first(standing: StoreReputation, question: int, stores: list[str] = STORES, now: int = 0) -> str:
    return standing.ranked(stores, question.to_bytes(8, "big"), now)[0]


def test_the_load_is_shared() -> None:
    shares = Counter(_first(StoreReputation(), question) for question in range(3000))
    assert set(shares) == set(STORES)
    assert min(shares.values()) > 800


def test_a_store_that_goes_moves_only_its_own_share() -> None:
    before = [_first(StoreReputation(), question) for question in range(300)]
    after = [_first(StoreReputation(), question, STORES[:2]) for question in range(300)]
    assert all(old == new for old, new in zip(before, after, strict=True) if old != STORES[2])


def test_who_is_known_to_have_it_is_asked_first() -> None:
    assert StoreReputation().ranked(STORES, b"q", 0, first=STORES[1])[0] == STORES[1]


def test_a_silent_store_rests_twice_as_long_each_time_up_to_a_bound() -> None:
    standing, now = StoreReputation(), 0
    for times in range(12):
        standing.silent(STORES[0], now)
        rest = min(REST_FIRST << times, REST_LONGEST)
        assert standing.ranked(STORES[:1], b"q", now + rest - 1) == []
        assert standing.ranked(STORES[:1], b"q", now + rest) == STORES[:1]
        now += rest


def test_a_busy_store_rests_no_longer_the_second_time() -> None:
    standing = StoreReputation()
    for now in (0, BUSY, 2 * BUSY):
        standing.busy(STORES[0], now)
        assert standing.ranked(STORES[:1], b"q", now + BUSY - 1) == []
        assert standing.ranked(STORES[:1], b"q", now + BUSY) == STORES[:1]


def test_questions_that_fail_together_are_one_failure() -> None:
    standing = StoreReputation()
    for _ in range(8):
        standing.silent(STORES[0], 0)
    assert standing.ranked(STORES[:1], b"q", REST_FIRST) == STORES[:1]


def test_who_rests_is_still_in_the_order() -> None:
    standing = StoreReputation()
    standing.silent(STORES[0], 0)
    assert set(standing.shared(STORES, b"q")) == set(STORES)


def test_an_answer_ends_the_rest() -> None:
    standing = StoreReputation()
    standing.silent(STORES[0], 0)
    standing.answered(STORES[0])
    assert standing.ranked(STORES[:1], b"q", 0) == STORES[:1]


def test_a_liar_is_left_once_and_for_all() -> None:
    standing = StoreReputation()
    assert standing.leave(STORES[0], "it lied")
    assert not standing.leave(STORES[0], "again")
    assert standing.trusted(STORES) == STORES[1:]
    assert standing.left == {STORES[0]: "it lied"}


def test_made_up_stores_fill_no_memory() -> None:
    standing = StoreReputation()
    for number in range(5000):
        standing.silent(f"{number:032x}", number)
        standing.leave(f"{number + 10**6:032x}", "it lied")
    assert standing.size <= 4096
