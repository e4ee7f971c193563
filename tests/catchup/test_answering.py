"""Answers at their bounds: how much is told, and how much reading it takes."""

from __future__ import annotations

import pytest

from sdschat.catchup import values
from sdschat.catchup.responder import ReadingBudget, answer
from sdschat.catchup.sketch import Shortener, fill
from sdschat.catchup.values import HIGHEST, LOWEST, Ask, LogKey, Question, QuestionKind, RangeReply, summarise
from sdschat.sim.companion import MemoryLog

SALT = 5
PLENTY = 10**9


def log_of(count: int) -> list[tuple[int, str]]:
    return [(at + 1, f"m{at}") for at in range(count)]


def replied(count: int, kind: QuestionKind, number: int, fingerprint: bytes = b"") -> tuple[RangeReply, int]:
    """The reply about a whole log of so many messages, and the messages read for it."""
    budget = ReadingBudget(PLENTY, 0, 0)
    ask = Ask(SALT, (Question(kind, LOWEST, HIGHEST, number, fingerprint),))
    (reply,) = answer(ask, MemoryLog(log_of(count)), budget).replies
    return reply, PLENTY - budget.left


@pytest.mark.parametrize(("count", "told", "read"), [(0, 0, 0), (64, 64, 1024), (65, 0, 65), (200, 0, 65)])
def test_keys_are_told_up_to_sixty_four(count: int, told: int, read: int) -> None:
    reply, spent = replied(count, QuestionKind.KEYS, 1)
    assert reply.keys == tuple(LogKey(*one) for one in log_of(told))
    assert spent == read


@pytest.mark.parametrize(("count", "told", "read"), [(2048, 2048, 4096), (2049, 0, 4098), (3000, 0, 4098)])
def test_short_ids_are_told_up_to_two_leaves(count: int, told: int, read: int) -> None:
    reply, spent = replied(count, QuestionKind.CELLS, 2 * values.LEAF)
    assert (len(reply.cells), reply.listed) == (told, told > 0)
    assert spent == read


@pytest.mark.parametrize(("number", "cells", "listed"), [(9, 9, False), (11, 9, False), (12, 12, True), (13, 12, True)])
def test_as_many_cells_as_messages_are_a_list(number: int, cells: int, listed: bool) -> None:
    reply, _ = replied(12, QuestionKind.CELLS, number)
    shorts = Shortener(SALT).shorts(log_of(12))
    assert (list(reply.cells), reply.listed) == (shorts if listed else fill(shorts, cells), listed)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_too_few_cells_to_hold_a_message_are_not_filled(number: int) -> None:
    """Anybody may ask for them, and the question ended in a division by zero."""
    reply, spent = replied(12, QuestionKind.CELLS, number)
    assert reply == RangeReply()
    assert spent == 24
    few, _ = replied(number, QuestionKind.CELLS, number)
    assert (len(few.cells), few.listed) == (number, True)


def test_an_equal_log_says_so_and_nothing_else() -> None:
    own = summarise(log_of(40)).fingerprint(SALT)
    assert replied(40, QuestionKind.PARTS, 8, own) == (RangeReply(equal=True), values.BUCKET)


@pytest.mark.parametrize(("count", "number", "parts"), [(40, 1, 1), (1, 8, 1), (2, 8, 2), (40, 2, 2), (40, 99, 40)])
def test_parts_are_no_more_than_asked_for_and_of_use(count: int, number: int, parts: int) -> None:
    reply, spent = replied(count, QuestionKind.PARTS, number)
    assert len(reply.parts) == parts
    assert sum(part.messages for part in reply.parts) == count
    assert reply.parts[-1].high == HIGHEST
    assert spent == values.BUCKET + (2 * count if parts > 1 else 0)


def test_no_more_parts_than_the_other_side_takes() -> None:
    reply, _ = replied(1000, QuestionKind.PARTS, 10**6)
    assert len(reply.parts) == 63  # of 16 messages each, rounded up
    assert replied(64, QuestionKind.PARTS, 10**6)[0].parts[-1].messages == 1


def test_a_peer_that_asks_too_much_gets_the_first_replies() -> None:
    budget = ReadingBudget(960, 16, 0)
    ask = Ask(SALT, (Question(QuestionKind.KEYS, LOWEST, HIGHEST, 1),) * 3)
    log = MemoryLog(log_of(30))
    assert len(answer(ask, log, budget).replies) == 2
    assert (len(answer(ask, log, budget).replies), budget.left) == (0, 0)
    budget.refresh(1)
    assert (len(answer(ask, log, budget).replies), budget.left) == (1, -464)
    budget.refresh(11)
    assert budget.left == -304
    budget.refresh(10_000)
    assert budget.left == 960


def test_replies_end_where_a_packet_would_be_too_large() -> None:
    log = MemoryLog(log_of(values.LEAF * 2))
    cells = Ask(SALT, (Question(QuestionKind.CELLS, LOWEST, HIGHEST, 2 * values.LEAF),) * 12)
    assert len(answer(cells, log, ReadingBudget(PLENTY, 0, 0)).replies) == values.CELLS_IN_ALL // (2 * values.LEAF) + 1
    parts = Ask(SALT, (Question(QuestionKind.PARTS, LOWEST, HIGHEST, 64),) * 40)
    replies = answer(parts, MemoryLog(log_of(64)), ReadingBudget(PLENTY, 0, 0)).replies
    assert len(replies) == values.PARTS_IN_ALL // 64 + 1
