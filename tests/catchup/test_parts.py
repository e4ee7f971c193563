"""Small parts of catching up: the index when a bucket is emptied, packets of questions, pages in their order."""

from __future__ import annotations

from sdschat.catchup import HIGHEST, LOWEST, LogKey, RangeComparer
from sdschat.catchup.fetch_plan import Sequenced
from sdschat.catchup.values import (
    BUCKET,
    BUCKET_PART,
    AnswerFrame,
    HistoryPage,
    QuestionKind,
    RangePart,
    RangeReply,
    summarise,
)
from sdschat.sim.companion import MemoryLog
from tests.catchup.compare import some_keys


def test_a_bucket_that_is_emptied_is_gone_from_the_sums_too() -> None:
    keys = some_keys(4 * BUCKET)
    log = MemoryLog(keys)
    starts = list(log.index.starts)
    gone = [key for key in keys if starts[2] <= key < starts[3]]
    assert gone
    log.discard(gone)
    assert log.index.starts == [*starts[:2], *starts[3:]]
    left = [key for key in keys if key not in set(gone)]
    for low in (LOWEST, starts[1], starts[3], starts[4]):
        assert log.summary(low, HIGHEST) == summarise([key for key in left if key >= low])


def _following(size: int, messages: int) -> RangeComparer:
    """One that has just heard that all parts differ, of so many messages each, where it has `size` of its own."""
    keys = [(at * 1000 + number, f"{number:064x}") for at in range(64) for number in range(size)]
    asker = RangeComparer(MemoryLog(keys), LOWEST, LogKey(64_000, ""), 7)
    assert asker.ask() is not None
    parts = tuple(RangePart(LogKey((at + 1) * 1000, ""), messages, b"x" * 8) for at in range(64))
    asker.answered(AnswerFrame((RangeReply(parts=parts),)))
    return asker


def test_a_packet_asks_for_no_more_parts_than_are_allowed() -> None:
    ask = _following(BUCKET_PART * 2, BUCKET_PART * 30).ask()
    assert ask is not None
    assert {question.kind for question in ask.questions} == {QuestionKind.PARTS}
    assert len(ask.questions) < 64
    assert sum(question.number for question in ask.questions) <= 512


def test_a_packet_asks_for_no_more_cells_than_are_allowed() -> None:
    ask = _following(200, 300).ask()
    assert ask is not None
    assert {question.kind for question in ask.questions} == {QuestionKind.CELLS}
    assert len(ask.questions) < 64
    assert sum(min(question.number, 300) for question in ask.questions) <= 4096


def test_a_page_is_kept_until_its_turn_and_too_many_are_refused() -> None:
    pages = [HistoryPage(1, 1, number, (b"%d" % number,)) for number in range(70)]
    sequenced = Sequenced()
    assert [sequenced.put(page) for page in pages[1:]] == [True] * 64 + [False] * 5
    assert sequenced.take() == []
    sequenced = Sequenced()
    assert sequenced.put(pages[1])
    assert sequenced.put(pages[0])
    assert sequenced.take() == pages[:2]
    assert sequenced.put(pages[0])
    assert sequenced.take() == []
