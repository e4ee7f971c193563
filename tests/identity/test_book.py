"""The book of keys and nicks: the first holder of a nick, new keys, look-alikes."""

# ruff: noqa: RUF001, RUF003 - this file is about letters that look like others

from __future__ import annotations

import hashlib

import pytest

from sdschat.identity import key_book as book_module
from sdschat.identity.content import OpenedContent, Verdict
from sdschat.identity.key_book import (
    MAX_NICKS_OF_A_KEY,
    PEOPLE_A_MINUTE,
    KeyBook,
    KeyMet,
    KeyStanding,
    NickChanged,
    NickClaimed,
)
from sdschat.identity.key_rows import BookRow, KeyForgotten, KeyRow, NickRow, StandingForgotten, StandingRow
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
    assert meeting.events == (KeyMet(ONE, "bob"),)
    person = StandingRow(ONE, KeyStanding.PERSON, 10)
    assert meeting.rows == (person, KeyRow(K1, "bob", 10), NickRow("bob", "bob", K1, 10))
    assert book.meet(said(K1, "bob", Verdict.KNOWN), 11) == ((), ())
    assert book.knows(K1)
    assert book.signs(ONE)
    assert book.holder("BOB") == ONE


def test_a_nick_that_comes_with_a_new_key_is_told_once() -> None:
    book = KeyBook()
    book.meet(said(K1, "bob"), 10)
    claim = book.meet(said(K2, "Bоb"), 20)  # a Cyrillic о
    assert claim.events == (KeyMet(TWO, "Bоb"), NickClaimed(TWO, "Bоb", "bob", ONE))
    assert claim.rows == (StandingRow(TWO, KeyStanding.PERSON, 20), KeyRow(K2, "Bоb", 20))
    assert book.meet(said(K2, "Bоb"), 21).events == ()
    assert book.holder("bob") == ONE


def test_a_nick_once_held_stays_its_first_holders_after_a_change() -> None:
    book = KeyBook()
    book.meet(said(K1, "bob"), 10)
    change = book.meet(said(K1, "robert"), 20)
    assert change.events == (NickChanged(ONE, "bob", "robert"),)
    assert change.rows == (KeyRow(K1, "robert", 10), NickRow("robert", "robert", K1, 20))
    assert NickClaimed(TWO, "bob", "bob", ONE) in book.meet(said(K2, "bob"), 30).events
    assert book.meet(said(K1, "bob"), 40).events == (NickChanged(ONE, "robert", "bob"),)


def test_an_older_message_does_not_bring_an_earlier_nick_back() -> None:
    book = KeyBook()
    book.meet(said(K1, "robert"), 1000, said_at=900)
    older = book.meet(said(K1, "bob"), 1001, dated=500, said_at=500)
    assert older == ((NickRow("bob", "bob", K1, 1001),), ()), "the nick stays with its key, and nobody is renamed"
    assert book.meet(said(K1, "bob"), 1002, dated=501, said_at=501) == ((), ())
    assert dict(book.nicks()) == {ONE: "robert"}
    assert NickClaimed(TWO, "bob", "bob", ONE) in book.meet(said(K2, "bob"), 1003).events
    assert book.meet(said(K1, "carl"), 1004, said_at=1004).events == (NickChanged(ONE, "robert", "carl"),)


def test_an_older_message_does_not_bring_a_nick_back_after_a_restart_either() -> None:
    book = KeyBook((KeyRow(K1, "robert", 1000),))
    assert book.meet(said(K1, "bob"), 2000, dated=500, said_at=500).events == ()
    assert book.meet(said(K1, "bob"), 2000, dated=1500, said_at=1500).events == (NickChanged(ONE, "robert", "bob"),)


def test_an_earlier_nick_that_belongs_to_another_key_is_told_once() -> None:
    book = KeyBook()
    book.meet(said(K2, "bob"), 10)
    book.meet(said(K1, "robert"), 1000, said_at=900)
    claim = NickClaimed(ONE, "bob", "bob", TWO)
    assert book.meet(said(K1, "bob"), 1001, dated=500, said_at=500).events == (claim,)
    assert book.meet(said(K1, "bob"), 1002, dated=501, said_at=501).events == ()


@pytest.mark.parametrize("verdict", [Verdict.UNSIGNED, Verdict.BAD_SIGNATURE, Verdict.MISMATCHED])
def test_what_is_not_proven_teaches_nothing(verdict: Verdict) -> None:
    book = KeyBook()
    assert book.meet(said(K1, "bob", verdict), 10) == ((), ())
    assert not book.knows(K1)


def test_rows_restore_the_book() -> None:
    first = KeyBook()
    met = [first.meet(said(key, nick), 1) for key, nick in ((K1, "bob"), (K2, "bob"), (K3, "eve"))]
    again = KeyBook(row for meeting in met for row in meeting.rows if isinstance(row, KeyRow | NickRow | StandingRow))
    assert again.holder("bob") == ONE
    assert again.row(TWO) == KeyRow(K2, "bob", 1)
    assert again.row("nobody") is None
    assert again.meet(said(K2, "bob"), 2).events == ()


def key_of(number: int) -> bytes:
    return number.to_bytes(32)


def crowd(book: KeyBook, numbers: range, now: int) -> list[BookRow]:
    """Let keys speak once, each under a nick of its own. Return the rows to save."""
    return [row for number in numbers for row in book.meet(said(key_of(number), f"{number:x}"), now).rows]


def test_a_key_takes_a_few_nicks() -> None:
    book = KeyBook()
    for number in range(20):
        book.meet(said(K1, f"zoë-{chr(97 + number)}"), 2)
    assert sum(book.holder(f"zoë-{chr(97 + number)}") == ONE for number in range(20)) == MAX_NICKS_OF_A_KEY


def test_people_are_never_forgotten_and_of_strangers_the_longest_silent_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 3)
    book = KeyBook()
    crowd(book, range(PEOPLE_A_MINUTE), 0)
    assert book.strangers == 0
    crowd(book, range(PEOPLE_A_MINUTE, PEOPLE_A_MINUTE + 3), 1)
    assert book.strangers == 3
    first, second = key_of(PEOPLE_A_MINUTE), key_of(PEOPLE_A_MINUTE + 1)
    assert book.meet(said(first, f"{PEOPLE_A_MINUTE:x}"), 2).rows == ()  # it is heard again
    rows = crowd(book, range(100, 101), 3)
    assert KeyForgotten(second) in rows
    assert [book.knows(key) for key in (first, second, key_of(100))] == [True, False, True]
    assert book.holder(f"{PEOPLE_A_MINUTE + 1:x}") is None
    crowd(book, range(200, 300), 4)
    assert all(book.is_person(sender_id_of(key_of(number))) for number in range(PEOPLE_A_MINUTE))


def test_of_too_many_people_the_first_of_the_most_crowded_day_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_PEOPLE", 10)
    book, day = KeyBook(), 24 * 3_600_000
    book.meet(said(K1, "ann"), 0)
    book.meet(said(K2, "bob"), 0)
    opened, verified = key_of(50), key_of(51)
    rows = crowd(book, range(50, 52), 10 * day)
    book.set_standing(sender_id_of(opened), KeyStanding.PERSON, 10 * day)
    book.set_standing(sender_id_of(verified), KeyStanding.VERIFIED, 10 * day)
    for number in range(100, 130):
        rows += crowd(book, range(number, number + 1), 10 * day + number * 60_000)
    assert [book.is_person(one) for one in (ONE, TWO, sender_id_of(opened), sender_id_of(verified))] == [True] * 4
    assert [number for number in range(100, 130) if book.knows(key_of(number))] == list(range(122, 130))
    first = sender_id_of(key_of(100))
    assert {StandingForgotten(first, 10 * day + 6_000_000), KeyForgotten(key_of(100))} <= set(rows)
    assert (book.holder("64"), book.holder("ann"), book.standing(first)) == (None, ONE, 0)
    met = book.meet(said(key_of(100), "64"), 11 * day)
    assert KeyMet(first, "64") in met.events
    for name in range(20):
        rows = list(book.meet_unsigned(f"name{name}", 12 * day))
    assert isinstance(rows[-1], StandingForgotten)
    assert sum(book.is_shown(f"name{name}") for name in range(20)) == 3  # and four of the other day
    assert book.is_person(ONE)


def test_a_stranger_becomes_a_person_when_there_is_room_or_the_user_says_so() -> None:
    book = KeyBook()
    crowd(book, range(PEOPLE_A_MINUTE + 2), 1000)
    late, other = key_of(PEOPLE_A_MINUTE), key_of(PEOPLE_A_MINUTE + 1)
    assert not book.is_person(sender_id_of(late))
    rows = book.meet(said(late, f"{PEOPLE_A_MINUTE:x}"), 61_000).rows
    assert rows == (StandingRow(sender_id_of(late), KeyStanding.PERSON, 61_000),)
    book.set_standing(sender_id_of(other), KeyStanding.PERSON, 61_000)
    assert book.strangers == 0


def test_the_others_wait_and_what_waits_is_known_after_a_restart() -> None:
    book = KeyBook()
    rows = crowd(book, range(PEOPLE_A_MINUTE + 1), 1000)
    late = sender_id_of(key_of(PEOPLE_A_MINUTE))
    assert StandingRow(late, KeyStanding.WAITING, 1000) in rows
    again = KeyBook(row for row in rows if isinstance(row, KeyRow | NickRow | StandingRow))
    assert [one.is_waiting(late) for one in (book, again)] == [True, True]
    assert again.strangers == 1
    again.set_standing(late, KeyStanding.MUTED, 2000)
    assert (again.is_waiting(late), again.is_person(late), again.openings) == (False, True, 1)


def test_who_is_welcome_waits_for_nobody() -> None:
    book = KeyBook()
    crowd(book, range(PEOPLE_A_MINUTE + 1), 1000)
    book.meet(said(K1, "invited"), 1001, welcome=True)
    assert book.is_person(ONE)
    late = key_of(PEOPLE_A_MINUTE)
    book.meet(said(late, f"{PEOPLE_A_MINUTE:x}"), 1002, welcome=True)
    assert book.is_person(sender_id_of(late))


def test_the_authors_of_an_old_log_are_people_by_the_minutes_of_their_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "PEOPLE_OF_HISTORY", 40)
    book = KeyBook()
    now = 10_000_000
    for number in range(50):
        book.meet(said(key_of(number), f"{number:x}"), now, dated=number * 60_000)
    assert sum(book.is_person(sender_id_of(key_of(number))) for number in range(50)) == 40
    other = KeyBook()
    for number in range(50):
        other.meet(said(key_of(number), f"{number:x}"), now, dated=60_000)
    assert sum(other.is_person(sender_id_of(key_of(number))) for number in range(50)) == PEOPLE_A_MINUTE


def test_who_is_forgotten_leaves_nothing_in_memory_but_the_row_that_hides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 1)
    book = KeyBook()
    rows = crowd(book, range(PEOPLE_A_MINUTE + 2), 0)
    gone = sender_id_of(key_of(PEOPLE_A_MINUTE))
    assert StandingRow(gone, KeyStanding.WAITING, 0) in rows
    kept = [
        row for row in rows if isinstance(row, KeyRow | NickRow | StandingRow) and key_of(PEOPLE_A_MINUTE) not in row
    ]
    assert [one.standing(gone) for one in (book, KeyBook(kept))] == [0, 0]


def test_names_without_a_key_wait_as_new_keys_do_and_are_known_after_a_restart() -> None:
    book = KeyBook()
    names = [f"name{number}" for number in range(PEOPLE_A_MINUTE + 1)]
    rows = [row for name in names for row in book.meet_unsigned(name, 1000)]
    for each in (book, KeyBook(row for row in rows if isinstance(row, StandingRow))):
        assert [name for name in names if each.is_waiting(name)] == names[-1:]
        assert (each.waits(names[0], 1000), each.is_person(names[0])) == (False, False)
        assert each.meet_unsigned(names[0], 2000) == ()
    assert book.waits(names[-1], 1000)
    assert book.meet_unsigned(names[-1], 61_000) == (StandingRow(names[-1], KeyStanding.UNSIGNED, 61_000),)
    assert (book.is_waiting(names[-1]), book.openings) == (False, 1)


def test_whoever_speaks_in_the_id_of_a_key_without_it_takes_nothing_from_its_owner() -> None:
    book = KeyBook()
    book.meet_unsigned(ONE, 0)
    book.meet(said(K1, "ann"), 1)
    assert book.is_person(ONE)
    assert book.meet_unsigned(ONE, 100_000) == ()


def test_of_names_without_a_key_those_heard_least_lately_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 2)
    book = KeyBook()
    for number in range(PEOPLE_A_MINUTE):
        book.meet_unsigned(f"early{number}", 0)
    for name in ("a", "b", "a", "c"):
        book.meet_unsigned(name, 1)
    assert [name for name in "abc" if book.is_waiting(name)] == ["a", "c"]


def test_a_key_that_spoke_unsigned_first_can_be_forgotten_in_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 1)
    book = KeyBook()
    crowd(book, range(PEOPLE_A_MINUTE), 0)
    book.meet_unsigned(ONE, 1)
    book.meet(said(K1, "two-faced"), 1)
    assert book.is_waiting(ONE)
    book.meet_unsigned("a", 1)
    assert book.is_waiting(ONE)  # its key is known
    crowd(book, range(100, 101), 1)
    book.meet_unsigned("b", 1)
    assert [book.is_waiting(name) for name in (ONE, "a", "b")] == [False, False, True]


def test_a_key_that_was_shown_before_it_signed_and_is_forgotten_leaves_the_crowd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 1)
    monkeypatch.setattr(book_module, "MAX_PEOPLE", PEOPLE_A_MINUTE)
    book = KeyBook()
    book.meet_unsigned(ONE, 0)
    crowd(book, range(PEOPLE_A_MINUTE - 1), 0)
    book.meet(said(K1, "ann"), 1)
    crowd(book, range(100, 102), 2)
    assert not book.knows(K1)
    rows = crowd(book, range(200, 203), 60_000)
    assert [row.sender_id for row in rows if isinstance(row, StandingForgotten)] == [
        sender_id_of(key_of(number)) for number in range(2)
    ]


def test_a_claimed_nick_is_told_however_many_keys_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 3)
    book = KeyBook()
    book.meet(said(K1, "bob"), 0)
    crowd(book, range(100), 1)
    assert NickClaimed(TWO, "bob", "bob", ONE) in book.meet(said(K2, "bob"), 2).events


def test_a_stranger_whose_nick_is_free_again_holds_it_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_STRANGERS", 1)
    book = KeyBook()
    crowd(book, range(PEOPLE_A_MINUTE), 0)
    book.meet(said(K1, "squatter"), 1)
    book.meet(said(K2, "other"), 2)
    assert book.holder("squatter") is None
    assert [row for row in book.meet(said(K3, "squatter"), 3).rows if isinstance(row, NickRow)]


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
        ("alice", "aIice"),
        ("will", "wiII"),
        ("ann", "ɑnn"),
        ("ann", "ᴀɴɴ"),
        ("ann", "ann\u2800"),
        ("ann", "ann\u3164"),
        ("Hugo", "Ηugo"),
        ("HANNA", "ΗΑΝΝΑ"),
        ("carl", "Ϲarl"),
        ("bob", "Ꮟဝb"),
        ("tom", "ꓔom"),
        ("ann", "ⲁⲛⲛ"),
        ("Tom", "Ⲧⲟⲙ"),
        ("ann", "ann (verified)"),
        ("carol", "carol [you]"),
        ("carol", "carol（you）"),
        ("ann", "(new key) ann"),
        ("Νίκος", "νίκος"),
    ],
)
def test_nicks_that_look_alike_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_what_may_stand_around_a_name_makes_no_other_name() -> None:
    for nick in ("ann\u02d0", "ann\u00b7", "ann:", "\u25cfann", "ann>", "<ann>", "* ann", "\u2014ann", "ann\u2713"):
        assert skeleton(nick) == skeleton("ann"), nick
    for first in (0x1F150, 0x1F170, 0x1F1E6):  # letters in circles and squares, and those of flags
        assert skeleton("".join(chr(first + ord(letter) - ord("a")) for letter in "ann")) == skeleton("ann")
    others = ("ann-2", "a-nn", "ann\U0001f98a", "\U0001f98a", "\U0001f43b", "-", "*", "ann")
    assert len({skeleton(nick) for nick in others}) == len(others)


def test_different_nicks_have_different_skeletons() -> None:
    nicks = ["alice", "bob", "carol", "dave", "eve", "frank", "иван", "Ольга", "明", "عمر", "zoe", "zack"]
    nicks += ["Νίκος", "Ηλίας", "Νίνα", "wanja", "vanja"]
    assert len({skeleton(nick) for nick in nicks}) == len(nicks)


def test_who_goes_by_the_nick_of_another_is_known_on_both_sides() -> None:
    book, first, second = KeyBook(), key_of(1), key_of(2)
    book.meet(said(first, "bob"), 1)
    assert not book.others_called("bob", sender_id_of(first))
    book.meet(said(second, "B\u00f6b"), 2)
    book.meet(said(second, "robert"), 3)  # what it said as bob is still in the log
    assert book.others_called("bob", sender_id_of(first))
    assert book.others_called("bob", sender_id_of(second))
    assert not book.others_called("robert", sender_id_of(second))


def test_of_the_nicks_of_a_key_those_it_holds_and_the_last_few_count() -> None:
    book, first, many = KeyBook(), key_of(1), key_of(2)
    for number in range(100):
        book.meet(said(many, f"nick {number}"), number)
    others = [book.others_called(f"nick {number}", sender_id_of(first)) for number in (0, 50, 99)]
    assert others == [{sender_id_of(many)}, set(), {sender_id_of(many)}]


def test_a_nick_that_an_older_program_saved_is_held_still() -> None:
    book = KeyBook([KeyRow(K1, "alice", 1), NickRow("form of old", "alice", K1, 1)])
    assert book.holder("aIice") == ONE
    assert book.meet(said(K2, "aIice"), 2).events == (KeyMet(TWO, "aIice"), NickClaimed(TWO, "aIice", "alice", ONE))
