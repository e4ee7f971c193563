"""The book of keys and nicks: the first holder of a nick, new keys, look-alikes."""

# ruff: noqa: RUF001, RUF003 - this file is about letters that look like others

from __future__ import annotations

import hashlib

import pytest

from sdschat.identity import key_book as book_module
from sdschat.identity.content import OpenedContent, Verdict
from sdschat.identity.key_book import KeyBook, KeyMet, KeyRow, NickChanged, NickClaimed, NickRow
from sdschat.identity.lookalikes import skeleton
from sdschat.identity.signing import sender_id_of

K1, K2, K3 = b"1" * 32, b"2" * 32, b"3" * 32
ONE, TWO = sender_id_of(K1), sender_id_of(K2)


def said(key: bytes, nick: str, verdict: Verdict = Verdict.NEW) -> OpenedContent:
    return OpenedContent(verdict, "text", nick=nick, author_key=key)


def test_a_sender_id_is_the_hash_of_the_key() -> None:
    assert hashlib.sha256(K1).hexdigest()[:32] == ONE


def test_first_meeting_binds_the_nick_and_later_ones_say_nothing() -> None:
    book = KeyBook()
    meeting = book.meet(said(K1, "bob"), 10)
    assert meeting.facts == (KeyMet(ONE, "bob"),)
    assert meeting.rows == (KeyRow(K1, "bob", 10), NickRow("bob", "bob", K1, 10))
    assert book.meet(said(K1, "bob", Verdict.KNOWN), 11) == ((), ())
    assert book.knows(K1)
    assert book.signs(ONE)
    assert book.holder("BOB") == ONE


def test_a_nick_that_comes_with_a_new_key_is_told_once() -> None:
    book = KeyBook()
    book.meet(said(K1, "bob"), 10)
    claim = book.meet(said(K2, "Bоb"), 20)  # a Cyrillic о
    assert claim.facts == (KeyMet(TWO, "Bоb"), NickClaimed(TWO, "Bоb", "bob", ONE))
    assert claim.rows == (KeyRow(K2, "Bоb", 20),)
    assert book.meet(said(K2, "Bоb"), 21).facts == ()
    assert book.holder("bob") == ONE


def test_a_nick_once_held_stays_its_first_holders_after_a_change() -> None:
    book = KeyBook()
    book.meet(said(K1, "bob"), 10)
    change = book.meet(said(K1, "robert"), 20)
    assert change.facts == (NickChanged(ONE, "bob", "robert"),)
    assert change.rows == (KeyRow(K1, "robert", 10), NickRow("robert", "robert", K1, 20))
    assert NickClaimed(TWO, "bob", "bob", ONE) in book.meet(said(K2, "bob"), 30).facts
    assert book.meet(said(K1, "bob"), 40).facts == (NickChanged(ONE, "robert", "bob"),)


@pytest.mark.parametrize("verdict", [Verdict.UNSIGNED, Verdict.BAD_SIGNATURE, Verdict.MISMATCHED])
def test_what_is_not_proven_teaches_nothing(verdict: Verdict) -> None:
    book = KeyBook()
    assert book.meet(said(K1, "bob", verdict), 10) == ((), ())
    assert not book.knows(K1)


def test_rows_restore_the_book() -> None:
    first = KeyBook()
    rows = [row for key, nick in ((K1, "bob"), (K2, "bob"), (K3, "eve")) for row in first.meet(said(key, nick), 1).rows]
    again = KeyBook(rows)
    assert again.holder("bob") == ONE
    assert again.row(TWO) == KeyRow(K2, "bob", 1)
    assert again.row("nobody") is None
    assert again.meet(said(K2, "bob"), 2).facts == ()


def test_the_book_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_KEYS", 2)
    book = KeyBook()
    for key in (K1, K2, K3):
        book.meet(said(key, "n" + key.decode()[0] * 3), 1)
    assert [book.knows(key) for key in (K1, K2, K3)] == [True, True, False]
    for number in range(20):
        book.meet(said(K1, f"zoë-{chr(97 + number)}"), 2)
    assert sum(book.holder(f"zoë-{chr(97 + number)}") == ONE for number in range(20)) == 7


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice", "Alice"),
        ("alice", "аlісе"),
        ("paypal", "pаypаl"),
        ("bob", "b\u200bo\u200db"),
        ("bob", "ｂｏｂ"),
        ("bill", "bi11"),
        ("modern", "modem"),
        ("jose", "José"),
        ("oscar", "0scar"),
        ("al ice", "alice"),
        ("victor", "νісtоr"),
        ("bob", "\u202ebob"),
    ],
)
def test_nicks_that_look_alike_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_different_nicks_have_different_skeletons() -> None:
    nicks = ["alice", "bob", "carol", "dave", "eve", "frank", "иван", "Ольга", "明", "عمر", "zoe", "zack"]
    assert len({skeleton(nick) for nick in nicks}) == len(nicks)
