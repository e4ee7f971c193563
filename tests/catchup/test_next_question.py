"""The question that follows a reply: it depends on how many messages each side has there, at exact bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sdschat.catchup import HIGHEST, LOWEST, AnswerFrame, BadAnswer, LogKey, RangeComparer
from sdschat.catchup import values as v
from sdschat.catchup.responder import ReadingBudget, answer
from sdschat.catchup.sketch import Shortener
from sdschat.sim.companion import MemoryLog

PARTS, CELLS, KEYS = v.QuestionKind.PARTS, v.QuestionKind.CELLS, v.QuestionKind.KEYS
SALT = 5
OTHER = b"another!"  # a fingerprint that no stretch here has
BEGIN, END = LogKey(10_000, ""), LogKey(20_000, "")
LISTED = 2 * v.LEAF  # as many cells as can be asked for: the reply is a list


Asked = tuple[v.QuestionKind, LogKey, LogKey, int]


class Conversation:
    """Ours are `ours` messages between `BEGIN` and `END`, and a message on each side of it."""

    def __init__(self, ours: int, *, guess: bool = True) -> None:
        self.keys = [(10_000 + at, f"{at:064x}") for at in range(ours)]
        self.log = MemoryLog([(1, "before"), *self.keys, (30_000, "after")])
        self.comparer = RangeComparer(self.log, LOWEST, HIGHEST, SALT, guess=guess)
        first = self.comparer.ask()
        assert first is not None
        assert (first.salt, first.messages) == (SALT, ours + 2)
        assert first.questions[0][:4] == (PARTS, LOWEST, HIGHEST, 64)

    def same(self, low: LogKey, high: LogKey) -> v.RangePart:
        own = self.log.summary(low, high)
        return v.RangePart(high, own.messages, own.fingerprint(SALT))

    def told(self, theirs: int, fingerprint: bytes = OTHER) -> tuple[Asked, ...]:
        """Return the questions after they have so many messages in the middle, and before and after it what we have."""
        return self.after(
            v.RangeReply((self.same(LOWEST, BEGIN), v.RangePart(END, theirs, fingerprint), self.same(END, HIGHEST)))
        )

    def after(self, *replies: v.RangeReply) -> tuple[Asked, ...]:
        self.comparer.answered(AnswerFrame(replies))
        ask = self.comparer.ask()
        return tuple((one.kind, one.low, one.high, one.number) for one in ask.questions) if ask else ()


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "number"),
    [
        (318, 320, CELLS, 9),  # few messages are looked at
        (319, 321, PARTS, 2),  # more are cut, where two of them differ
        (328, 287, CELLS, 3 * (2 + 24)),  # one of eight differs: they are looked at
        (328, 288, PARTS, 2),  # one of 8.2
        (1024, 896, CELLS, 3 * (2 + 76)),  # the largest stretch that is looked at
        (1025, 885, PARTS, 4),
        (3000, 2994, PARTS, 9),  # one and a half for each that differs
        (3000, 2995, PARTS, 8),
        (3000, 2900, PARTS, 11),  # each as large as a bucket
        (600, 597, PARTS, 2),
        (9000, 20_000, PARTS, 64),
        (320, 240, CELLS, LISTED),  # where a third may differ, the ids are shorter than the cells
        (320, 241, CELLS, 3 * (2 + 47)),
        (1500, 64, KEYS, 64),  # a few are told in full
        (1500, 65, PARTS, 5),
    ],
)
def test_a_part_that_differs_is_cut_or_looked_at(ours: int, theirs: int, kind: v.QuestionKind, number: int) -> None:
    assert Conversation(ours).told(theirs) == ((kind, BEGIN, END, number),)


def test_what_they_have_not_at_all_is_counted() -> None:
    here = Conversation(300)
    assert here.told(0) == ()
    assert (here.comparer.lacking, here.comparer.needs) == (300, [])
    assert here.comparer.equal == [(LOWEST, BEGIN), (END, HIGHEST)]


@pytest.mark.parametrize("ours", [0, 1, 1024])
def test_one_message_more_is_known_from_the_fingerprints(ours: int) -> None:
    here = Conversation(ours)
    assert here.told(ours + 1) == ()
    own = here.log.summary(BEGIN, END).fingerprint(SALT)
    sole = v.Need(BEGIN, END, ours + 1 if not ours else 1, (v.difference(OTHER, own),) if ours else (), bool(ours))
    assert here.comparer.needs == [sole]
    assert here.comparer.lacks == 1


def test_it_is_not_guessed_in_a_large_part_nor_a_second_time() -> None:
    assert Conversation(1025).told(1026) == ((PARTS, BEGIN, END, 4),)
    assert Conversation(30, guess=False).told(31) == ((CELLS, BEGIN, END, 3 * 2),)


@pytest.mark.parametrize("ours", [2, 1024])
def test_the_one_that_they_lack_is_known_from_the_fingerprints(ours: int) -> None:
    here = Conversation(ours)
    assert here.told(ours - 1, v.summarise(here.keys[1:]).fingerprint(SALT)) == ()
    assert (here.comparer.lacking, here.comparer.needs) == (1, [])


def test_if_no_message_explains_the_difference_there_is_another_question() -> None:
    assert Conversation(30).told(29) == ((CELLS, BEGIN, END, 6),)
    assert Conversation(1025).told(1024) == ((PARTS, BEGIN, END, 4),)


def test_what_we_have_nothing_of_is_needed_as_a_whole() -> None:
    here = Conversation(0)
    assert here.told(5000) == ()
    assert here.comparer.needs == [v.Need(BEGIN, END, 5000)]


def cuts(ends: list[LogKey], oldest: bool) -> list[tuple[Asked, ...]]:
    """Return the questions after each time that they cut the end of the log, in which we have nothing, in two."""
    log = MemoryLog([(15_000, "middle")])
    comparer = RangeComparer(log, LOWEST, HIGHEST, SALT)
    own = log.summary(LOWEST, HIGHEST)
    found: list[tuple[Asked, ...]] = []
    for end in ends:
        ask = comparer.ask()
        assert ask is not None
        high = ask.questions[0].high
        inner = v.RangeSummary(30, 1) if found else own
        far, near = (1025, OTHER), (inner.messages, inner.fingerprint(SALT))
        first, second = (far, near) if oldest else (near, far)
        comparer.answered(AnswerFrame((v.RangeReply((v.RangePart(end, *first), v.RangePart(high, *second))),)))
        following = comparer.ask()
        found.append(tuple(one[:4] for one in following.questions) if following else ())
    assert sorted(need.messages for need in comparer.needs) == [30, 30, 30, 1025]
    return found


def test_the_oldest_and_the_newest_part_are_cut_three_times_so_as_to_know_what_to_expect() -> None:
    """Fetching begins there."""
    downwards = [LogKey(at, "") for at in (8000, 4000, 2000, 1000)]
    assert cuts(downwards, True) == [*(((PARTS, LOWEST, end, 64),) for end in downwards[:3]), ()]
    upwards = [LogKey(at, "") for at in (20_000, 40_000, 60_000, 80_000)]
    assert cuts(upwards, False) == [*(((PARTS, end, HIGHEST, 64),) for end in upwards[:3]), ()]


@pytest.mark.parametrize("messages", [1024, 1025])
def test_only_what_is_large_and_not_the_whole_is_cut_at_an_end(messages: int) -> None:
    here = Conversation(0)
    here.log._keys.pop(0)
    begin = (v.RangePart(BEGIN, messages, OTHER), here.same(BEGIN, HIGHEST))
    assert len(here.after(v.RangeReply(begin))) == (messages > 1024)
    empty = RangeComparer(MemoryLog(), LOWEST, HIGHEST, SALT)
    empty.ask()
    empty.answered(AnswerFrame((v.RangeReply((v.RangePart(HIGHEST, messages, OTHER),)),)))
    assert (empty.ask(), empty.needs) == (None, [v.Need(LOWEST, HIGHEST, messages)])


@pytest.mark.parametrize(("theirs", "kind"), [(2048, CELLS), (2049, PARTS)])
def test_a_whole_that_they_cannot_cut_is_looked_at(theirs: int, kind: v.QuestionKind) -> None:
    here = Conversation(1500)
    assert [one[0] for one in here.after(v.RangeReply((v.RangePart(HIGHEST, theirs, OTHER),)))] == [kind]


@pytest.mark.parametrize(
    ("theirs", "kind", "number", "fits"), [(3, CELLS, 2048, 64), (1024, CELLS, 2048, 4), (20_000, PARTS, 64, 8)]
)
def test_a_packet_has_so_many_questions_or_cells_or_parts(
    theirs: int, kind: v.QuestionKind, number: int, fits: int
) -> None:
    """The newest first. What is left over comes in the next packet, and a packet is the same until it is answered."""
    parts = min(fits + 1, 64)
    ends = [*(LogKey(at * 1000, "") for at in range(1, parts)), HIGHEST]
    comparer = RangeComparer(MemoryLog((end.lamport - 1, "id") for end in ends), LOWEST, HIGHEST, SALT)
    comparer.ask()
    comparer.answered(AnswerFrame((v.RangeReply(tuple(v.RangePart(end, theirs, OTHER) for end in ends)),)))
    first = comparer.ask()
    assert first is not None
    assert [(one.kind, one.high, one.number) for one in first.questions] == [
        (kind, end, number) for end in reversed(ends[-fits:])
    ]
    assert comparer.ask() == first
    assert comparer.questions == 1 + fits
    comparer.answered(AnswerFrame((v.RangeReply(listed=True) if kind is CELLS else v.RangeReply(equal=True),) * fits))
    second = comparer.ask()
    assert [one.high for one in second.questions] == ends[: parts - fits] if second else parts == fits


@pytest.mark.parametrize(("count", "sound"), [(2048, True), (2049, False)])
def test_a_list_of_short_ids_may_be_of_the_largest_stretch(count: int, sound: bool) -> None:
    here = Conversation(320)
    here.told(200)
    reply = AnswerFrame((v.RangeReply(cells=tuple(range(count)), listed=True),))
    if sound:
        here.comparer.answered(reply)
        assert (here.comparer.lacks, here.comparer.lacking) == (count, 320)
    else:
        with pytest.raises(BadAnswer):
            here.comparer.answered(reply)


def test_a_list_tells_what_is_lacking_on_both_sides() -> None:
    here = Conversation(320)
    here.told(200)
    shorts = Shortener(SALT).shorts(here.keys)
    here.after(v.RangeReply(cells=(*shorts[:200], 7, 9), listed=True))
    assert (here.comparer.needs, here.comparer.lacking) == ([v.Need(BEGIN, END, 2, (7, 9))], 120)


def test_two_messages_with_one_short_id_are_fetched_with_all_of_the_stretch() -> None:
    for theirs, needs in ((321, [v.Need(BEGIN, END, 321)]), (320, [])):
        here = Conversation(320)
        here.told(200)
        here.after(v.RangeReply(cells=(7, *range(theirs - 1)), listed=True))
        assert here.comparer.needs == needs


def test_more_cells_than_were_asked_for_are_refused() -> None:
    for count, sound in ((9, True), (12, False)):
        here = Conversation(318)
        assert here.told(320)[0][3] == 9
        reply = AnswerFrame((v.RangeReply(cells=(1,) * count),))
        if sound:
            here.comparer.answered(reply)
        else:
            with pytest.raises(BadAnswer):
                here.comparer.answered(reply)


def test_cells_that_do_not_tell_are_asked_for_again_in_greater_number() -> None:
    """At first double, then as a list. What they cannot tell in cells is cut."""
    here = Conversation(318)
    here.told(320)
    numbers = [here.after(v.RangeReply(cells=(3,) * 9))[0][3]]
    while numbers[-1] < LISTED:
        numbers.append(here.after(v.RangeReply(cells=(3,) * (numbers[-1] // 3 * 3)))[0][3])
    assert numbers == [18, 36, 72, 144, LISTED]
    assert here.after(v.RangeReply()) == ((PARTS, BEGIN, END, 64),)


def test_keys_are_needed_newest_first_if_they_are_not_here() -> None:
    here = Conversation(1500)
    assert here.told(64)[0][0] is KEYS
    new = [LogKey(10_003, "new"), LogKey(10_007, "new")]
    here.after(v.RangeReply(keys=(LogKey(*here.keys[2]), *new)))
    assert here.comparer.needs == [v.Need(key, v.behind(key), 1) for key in reversed(new)]


@pytest.mark.parametrize(
    "keys",
    [
        (END,),
        (LogKey(9999, "x"),),
        (LogKey(10_002, "b"), LogKey(10_002, "a")),
        (LogKey(10_002, "a"),) * 2,
        tuple(LogKey(10_100 + at, "") for at in range(65)),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys: tuple[LogKey, ...]) -> None:
    here = Conversation(1500)
    here.told(64)
    with pytest.raises(BadAnswer):
        here.comparer.answered(AnswerFrame((v.RangeReply(keys=keys),)))


@pytest.mark.parametrize("ends", [(), (BEGIN,), (HIGHEST, HIGHEST), (END, BEGIN, HIGHEST), (LOWEST, HIGHEST)])
def test_parts_that_are_not_the_whole_are_refused(ends: tuple[LogKey, ...]) -> None:
    with pytest.raises(BadAnswer):
        Conversation(3).after(v.RangeReply(tuple(v.RangePart(end, 1, OTHER) for end in ends)))


def test_what_changed_since_the_question_is_not_equal() -> None:
    for grown in (False, True):
        here = Conversation(3)
        if grown:
            here.log.add([(12_000, "new")])
        assert here.after(v.RangeReply(equal=True)) == ()
        assert here.comparer.equal == ([] if grown else [(LOWEST, HIGHEST)])


class CountedLog(MemoryLog):
    """A log that counts the keys that are read of it."""

    read = 0

    def keys(self, low: LogKey, high: LogKey, limit: int = -1) -> Sequence[tuple[int, str]]:
        found = super().keys(low, high, limit)
        self.read += len(found)
        return found


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("theirs", [1, 2, 64])
def test_who_has_few_messages_is_compared_with_at_the_cost_of_these(theirs: int, foreign: bool) -> None:
    """With one message there, all of our log was read. With two to 64, nobody told them what they lack."""
    keys = [(10_000 + at, f"{at:064x}") for at in range(20_000)]
    known = [(15_000, f"{at:064x} theirs") for at in range(theirs)] if foreign else keys[-theirs:]
    log = CountedLog(keys)
    comparer = RangeComparer(log, LOWEST, HIGHEST, SALT)
    log.read = 0
    while (ask := comparer.ask()) is not None:
        comparer.answered(answer(ask, MemoryLog(known), ReadingBudget(10**9, 0, 0)))
    assert sum(need.messages for need in comparer.needs) == (theirs if foreign else 0)
    assert comparer.lacking == len(keys) - (0 if foreign else theirs)
    assert log.read <= 4 * v.BUCKET
