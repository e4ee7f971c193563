"""A Store that leaves out of a page what it had said to have."""

from __future__ import annotations

import pytest

from sdschat.node.store_client.verify import StoreClaims
from sdschat.wire.store_codec import Range, StoreAnswer, StoreKey

QID = bytes(8)


def _left_out(
    asked: Range, given: str, last: StoreKey | None = None, floor: int = 0, said: str = "abcdef"
) -> str | None:
    promises = StoreClaims()
    promises.note("s", [(10 * (1 + ord(name) - ord("a")), name) for name in said])
    return promises.left_out("s", asked, StoreAnswer(QID, more=last is not None, last=last, floor=floor), set(given))


@pytest.mark.parametrize(
    ("asked", "given", "last", "floor", "missing"),
    [
        (Range(0, 100), "abcdef", None, 0, None),
        (Range(0, 100), "abdef", None, 0, "c"),
        (Range(0, 100), "abdefxyz", None, 0, "c"),
        (Range(20, 40), "bcd", None, 0, None),
        (Range(20, 40), "bd", None, 0, "c"),
        (Range(0, 100, StoreKey(20, "b")), "cdef", None, 0, None),
        (Range(0, 100, StoreKey(20, "b")), "def", None, 0, "c"),
        (Range(0, 100), "ab", StoreKey(20, "b"), 0, None),
        (Range(0, 100), "a", StoreKey(30, "c"), 0, "b"),
        (Range(0, 100, None, True), "fe", StoreKey(50, "e"), 0, None),
        (Range(0, 100, None, True), "f", StoreKey(40, "d"), 0, "e"),
        (Range(0, 100, StoreKey(30, "c"), True), "ba", None, 0, None),
        (Range(0, 100, StoreKey(30, "c"), True), "a", None, 0, "b"),
        (Range(0, 100), "def", None, 40, None),
        (Range(0, 100), "ef", None, 40, "d"),
        (Range(61, 100), "", None, 0, None),
    ],
)
def test_what_was_promised_must_be_in_a_page_that_reaches_over_it(
    asked: Range, given: str, last: StoreKey | None, floor: int, missing: str | None
) -> None:
    assert _left_out(asked, given, last, floor) == missing


def test_another_store_promised_nothing() -> None:
    promises = StoreClaims()
    promises.note("s", [(1, "a")])
    assert promises.left_out("other", Range(0, 10), StoreAnswer(QID), set()) is None


def test_what_is_remembered_is_bounded() -> None:
    promises = StoreClaims()
    for store in range(200):
        promises.note(str(store), [(at, str(at)) for at in range(50)])
    promises.note("199", [(at, str(at)) for at in range(10_000)])
    assert len(promises._said) <= 64
    assert len(promises._said["199"]) <= 4096
