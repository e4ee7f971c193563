"""Bounds on the work that others cause by asking and wanting without end. Keys cost nothing, so one may be many."""

from __future__ import annotations

import pytest

from sdschat.catchup import HIGHEST, LOWEST, responder
from sdschat.catchup.provider import WINDOW_FIRST
from sdschat.catchup.responder import AT_ONCE, READING_BUDGET, READING_RATE, ReadingBudgets, answer
from sdschat.catchup.values import LEAF, AnswerFrame, Ask, Frame, LogKey, Question, QuestionKind, Stretch, Want
from sdschat.mvds.values import Now, Payload
from sdschat.sim.companion import MemoryLog
from sdschat.wire.catchup_codec import Records
from tests.catchup.compare import some_keys
from tests.catchup.world import Peer

EVERYTHING = Want((Stretch(LOWEST, HIGHEST),), 10_000)
KEYS = some_keys(20_000)


def costly(number: int) -> Ask:
    """Questions each of which takes reading much of the log."""
    return Ask(number, (Question(QuestionKind.PARTS, LogKey(*KEYS[1]), LogKey(*KEYS[-1]), 64),) * 64)


def offers(ann: Peer) -> int:
    """The number of pages that ann offers by what she has to send."""
    found = [ann.codec.decode(post.payload) for post in ann.exchange.frames]
    ann.exchange.frames.clear()
    payloads = [one.payload for one in found if isinstance(one, Records)]
    return sum(len(one.offers) for one in payloads if isinstance(one, Payload))


def test_pages_that_were_wanted_before_the_last_want_are_forgotten() -> None:
    ann = Peer("ann", KEYS, 1)
    for number in range(100):
        ann.exchange.frame("eve", Frame(1, number, EVERYTHING), Now(number, number))
    ann.exchange.frames.clear()
    ann.exchange.advance(Now(60_000, 60_000))
    assert offers(ann) <= WINDOW_FIRST


def test_pages_for_who_left_are_forgotten() -> None:
    ann = Peer("ann", KEYS, 1)
    for number in range(100):
        ann.exchange.frame(f"eve {number}", Frame(1, 1, EVERYTHING), Now(number, number))
        ann.exchange.gone(f"eve {number}")
    ann.exchange.frames.clear()
    for time in (1000, 8000):
        ann.exchange.advance(Now(time, time))
    assert offers(ann) == 0


def test_a_frame_takes_no_more_reading_than_a_message_behind_it_can_wait_for() -> None:
    budgets = ReadingBudgets()
    before = budgets.of("eve", 0).left
    replies = answer(costly(1), MemoryLog(KEYS), budgets.of("eve", 0)).replies
    assert 1 <= len(replies) < 64
    assert before - budgets.of("eve", 0).left < 2 * AT_ONCE


def test_many_keys_have_no_more_read_than_one() -> None:
    ann = Peer("ann", KEYS, 1)
    asked = 2 * READING_BUDGET // AT_ONCE
    for number in range(asked):
        ann.exchange.frame(f"eve {number}", Frame(1, 1, costly(number)), Now(0, 0))
    found = [ann.codec.decode(post.payload) for post in ann.exchange.frames]
    answers = [one.what for one in found if isinstance(one, Frame) and isinstance(one.what, AnswerFrame)]
    assert len(answers) == asked
    assert 0 < sum(bool(one.replies) for one in answers) <= READING_BUDGET // AT_ONCE + 1


def test_new_keys_use_up_nothing_of_what_those_who_are_known_may_have_read() -> None:
    budgets = ReadingBudgets(lambda peer: peer.startswith("bob"))
    for number in range(2 * READING_BUDGET // AT_ONCE):
        budgets.of(f"eve {number}", 0).spend(AT_ONCE)
    assert budgets.of("eve", 0).left < 0
    assert answer(costly(1), MemoryLog(KEYS), budgets.of("bob", 0)).replies
    budgets.of("bob 2", 0).spend(READING_BUDGET)
    assert budgets.of("bob 3", 0).left < 0, "together they have no more than one"


def test_who_wants_by_short_ids_without_end_is_served_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these takes the reading of two leaves, and each page as much as may be read at once."""
    monkeypatch.setattr(responder, "READING_BUDGET", 5 * AT_ONCE)
    ann = Peer("ann", KEYS, 1)
    stretch = Stretch(LogKey(*KEYS[0]), LogKey(*KEYS[2 * LEAF]), (1,))
    wanted = Want((stretch,) * 1024, 10_000)
    pages = []
    for number in range(0, 6000, 100):
        now = Now(number, number)
        ann.exchange.frame("eve", Frame(1, number, wanted), now)
        ann.exchange.advance(now)
        pages.append(offers(ann))
    assert sum(pages[:10]) >= 3
    assert sum(pages[10:]) <= 5000 * READING_RATE / AT_ONCE
