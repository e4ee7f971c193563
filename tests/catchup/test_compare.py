"""A comparison finds exactly what is lacking, at a cost that grows with it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.catchup import HIGHEST, LOWEST, AnswerFrame, Ask, BadAnswer, LogKey, RangeComparer, answer, comparer
from sdschat.catchup import values as v
from sdschat.catchup.index import RangeIndex, split
from sdschat.catchup.responder import ReadingBudget
from sdschat.sim.companion import MemoryLog
from tests.catchup.compare import PLENTY, Keys, compare, fetched, some_keys


def _without(keys: Keys, count: int, seed: int) -> Keys:
    gone = set(Random(seed).sample(range(len(keys)), count))
    return [key for at, key in enumerate(keys) if at not in gone]


def test_equal_logs_cost_one_packet_each_way() -> None:
    keys = some_keys(5000)
    assert compare(keys, keys)[:3] == (set(), 0, 2)


def test_two_empty_logs_are_equal() -> None:
    assert compare([], [])[:3] == (set(), 0, 2)


def test_whoever_has_nothing_lacks_all_and_need_not_hear_a_single_id() -> None:
    keys = some_keys(5000)
    found = compare([], keys)
    assert found.lacks == set(keys)
    assert found.packets == 2
    assert not any(need.shorts for need in found.needs)


def test_whoever_has_all_learns_how_much_the_other_lacks() -> None:
    keys = some_keys(5000)
    found = compare(keys, keys[:30])
    assert (found.lacks, found.packets <= 6) == (set(), True)
    assert compare(keys, [])[:3] == (set(), 5000, 2)


@pytest.mark.parametrize(("count", "differ"), [(3000, 1), (3000, 40), (3000, 1500), (20_000, 3), (20_000, 300)])
def test_what_lacks_here_and_there_is_found_on_both_sides(count: int, differ: int) -> None:
    keys = some_keys(count)
    ours, theirs = _without(keys, differ, 1), _without(keys, differ, 2)
    found = compare(ours, theirs)
    assert found.lacks == set(theirs) - set(ours)
    assert compare(theirs, ours).lacks == set(ours) - set(theirs)


def test_a_week_apart_is_found_as_one_stretch() -> None:
    common, ours, theirs = some_keys(20_000), some_keys(1000, 2), some_keys(1000, 3)
    later = [(lamport + 10**9, name) for lamport, name in ours]
    others = [(lamport + 10**9, name) for lamport, name in theirs]
    assert compare(common + later, common + others).lacks == set(others)


def test_messages_of_one_moment_are_told_apart_by_their_ids() -> None:
    keys = [(5, f"{number:06x}") for number in range(4000)]
    ours = _without(keys, 10, 4)
    assert compare(ours, keys).lacks == set(keys) - set(ours)


def test_the_other_side_reads_only_where_there_is_a_difference() -> None:
    keys = some_keys(60_000)
    assert compare(keys, keys).read < 1000
    assert compare(_without(keys, 1, 1), keys).read < 12_500


def test_only_the_stretch_that_is_asked_for_is_compared() -> None:
    keys = some_keys(4000)
    low = LogKey(*keys[3000])
    assert compare([], keys, low=low).lacks == set(keys[3000:])
    assert compare(keys[3000:], keys, low=low).packets == 2


def test_what_is_too_much_for_one_packet_is_asked_again() -> None:
    keys = some_keys(20_000)
    ours = _without(keys, 400, 1)
    assert compare(ours, keys, room=600).lacks == set(keys) - set(ours)


def test_the_same_id_at_two_dates_is_no_reason_to_go_on_for_ever() -> None:
    keys = some_keys(2000)
    other = [(lamport + (1 if at == 900 else 0), name) for at, (lamport, name) in enumerate(keys)]
    assert compare(keys, other).lacks <= set(other)


_KEYS = st.sets(st.tuples(st.integers(0, 40), st.text("abé", max_size=3)), max_size=60)


def test_the_cost_of_scattered_differences_is_a_fraction_of_their_ids() -> None:
    keys = some_keys(100_000)
    found = compare(_without(keys, 300, 1), keys)
    assert len(found.lacks) == 300
    assert found.bytes < 100 * 300


@given(_KEYS, _KEYS, _KEYS)
def test_any_two_logs_end_up_equal(
    common: set[tuple[int, str]], ours: set[tuple[int, str]], theirs: set[tuple[int, str]]
) -> None:
    mine, other = sorted(common | ours), sorted(common | theirs)
    ids: dict[str, tuple[int, str]] = {}
    for key in other:
        ids.setdefault(key[1], key)
    other = sorted(ids.values())  # an id has one date
    mine = sorted(ids.get(key[1], key) for key in mine)
    mine = sorted({key[1]: key for key in mine}.values())
    assert compare(mine, other).lacks == set(other) - set(mine)


_LOG = MemoryLog(some_keys(3000))
_NUMBER = st.integers(0, 2**61)
_BOUND = st.builds(LogKey, st.integers(0, 2**61), st.text(max_size=3))
_REPLY = st.builds(
    v.RangeReply,
    st.lists(st.builds(v.RangePart, _BOUND, _NUMBER, st.binary(min_size=8, max_size=8)), max_size=4).map(tuple),
    st.lists(_NUMBER, max_size=9).map(tuple),
    st.booleans(),
    st.lists(_BOUND, max_size=4).map(tuple),
    st.booleans(),
)


@given(st.lists(st.lists(_REPLY, max_size=5).map(tuple).map(AnswerFrame), min_size=1, max_size=30))
def test_whatever_is_answered_it_ends_or_is_refused(answers: list[AnswerFrame]) -> None:
    asker = RangeComparer(_LOG, LOWEST, HIGHEST, 1)
    for one in answers:
        if asker.ask() is None:
            return
        try:
            asker.answered(one)
        except BadAnswer:
            return


def _until_cells(asker: RangeComparer, other: MemoryLog) -> v.Question:
    while (ask := asker.ask()) is not None and ask.questions[0].kind is not v.QuestionKind.CELLS:
        asker.answered(answer(ask, other, ReadingBudget(PLENTY, 0, 0)))
    assert ask is not None
    return ask.questions[0]


def test_cells_that_are_no_triples_are_refused() -> None:
    """A short id stands in three cells, one in each third of them."""
    keys = some_keys(3000)
    asker = RangeComparer(MemoryLog(_without(keys, 30, 1)), LOWEST, HIGHEST, 1)
    _until_cells(asker, MemoryLog(keys))
    with pytest.raises(BadAnswer):
        asker.answered(AnswerFrame((v.RangeReply(cells=(1, 2, 3, 4)),)))


def test_a_log_that_grows_meanwhile_is_no_lie() -> None:
    """It is catching up itself: a stretch may have too many messages for cells when it is asked for them."""
    keys = some_keys(3000)
    ours = _without(keys, 30, 1)
    asker = RangeComparer(MemoryLog(ours), LOWEST, HIGHEST, 77)
    low, high = _until_cells(asker, MemoryLog(keys))[1:3]
    middle = max(low.lamport, keys[0][0])
    grown = sorted({*keys, *((middle + 1, f"more {number}") for number in range(2 * v.LEAF))})
    assert low < LogKey(middle + 1, "more") < high
    other = MemoryLog(grown)
    while (ask := asker.ask()) is not None:
        asker.answered(answer(ask, other, ReadingBudget(PLENTY, 0, 0)))
    assert set(fetched(asker.needs, other)) >= set(keys) - set(ours)


def _endless(question: v.Question) -> v.RangeReply:
    low, high = question.low.lamport, question.high.lamport
    ends = [LogKey(low + (high - low) * part // 8, str(part)) for part in range(1, 8)]
    return v.RangeReply(tuple(v.RangePart(end, 10**9, bytes(8)) for end in (*ends, question.high)))


def test_whoever_cuts_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparer, "MOST_KNOWN", 500)
    ours = MemoryLog([(at << 52, "id") for at in range(1, 500)])
    asker = RangeComparer(ours, LOWEST, LogKey(2**61, ""), 1)
    while (ask := asker.ask()) is not None:
        asker.answered(AnswerFrame(tuple(_endless(question) for question in ask.questions)))
    assert 100 < len(asker.needs) < 600


def test_what_is_too_much_for_one_comparison_is_found_by_those_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparer, "MOST_KNOWN", 10)
    keys = some_keys(30_000)
    ours, rounds = set(_without(keys, 400, 1)), 0
    while (found := compare(sorted(ours), keys).lacks - ours) and rounds < 30:
        ours, rounds = ours | found, rounds + 1
    assert ours == set(keys)
    assert rounds > 1


def test_questions_beyond_the_budget_are_left_unanswered() -> None:
    log = MemoryLog(some_keys(3000))
    ask = RangeComparer(MemoryLog(), LOWEST, HIGHEST, 1).ask()
    assert ask is not None
    many = Ask(ask.salt, ask.questions * 64)
    budget = ReadingBudget(1000, 1, 0)
    assert len(answer(many, log, budget).replies) < 8
    assert answer(many, log, budget).replies == ()
    budget.refresh(50_000)
    assert budget.left == 1000
    assert len(answer(many, log, ReadingBudget(PLENTY, 0, 0)).replies) <= 17


@given(
    st.sets(st.tuples(st.integers(0, 2**62), st.text(max_size=9)), min_size=1, max_size=20), st.integers(0, 2**64 - 1)
)
def test_fingerprints_of_two_logs_that_differ_in_one_message_tell_which(keys: set[tuple[int, str]], salt: int) -> None:
    whole = v.summarise(sorted(keys))
    for key in keys:
        fingerprint = whole.without_key(key).fingerprint(salt)
        assert v.makes_up(sorted(keys), v.difference(whole.fingerprint(salt), fingerprint), salt) == [key]


def test_a_message_that_is_alone_in_its_part_costs_neither_a_question_nor_reading() -> None:
    keys = some_keys(60_000)
    found = compare(keys[:30_000] + keys[30_001:], keys)
    assert found.lacks == {keys[30_000]}
    assert [need.sole for need in found.needs] == [True]
    assert found.bytes < 2200


def test_the_buckets_of_nearly_the_same_logs_begin_at_the_same_dates() -> None:
    keys = some_keys(40_000)
    one, other = split(LOWEST, keys), split(LOWEST, _without(keys, 40, 1)[300:])
    shared = {bucket.start for bucket in one} & {bucket.start for bucket in other}
    assert len(shared) > len(one) * 0.9
    assert len({bucket.start for bucket in one} & set(_grown(keys).starts)) > len(one) * 0.9


def test_a_stretch_is_cut_at_the_starts_of_buckets_where_there_are_enough() -> None:
    """The sums of such parts cost no reading; nor does it to find the places."""
    buckets = split(LOWEST, some_keys(5000))
    starts, asked = [bucket.start for bucket in buckets], 0
    index = RangeIndex(buckets)

    def read(low: LogKey, high: LogKey, limit: int) -> Keys:
        nonlocal asked
        asked += 1
        return []

    assert index.cut(starts[1], starts[5], 3, read) == [starts[3], starts[4]]
    assert index.cut(starts[1], LogKey(starts[5].lamport + 1, ""), 3, read) == [starts[3], starts[4]]
    assert not asked
    index.cut(starts[1], starts[4], 3, read)
    assert asked


def _grown(keys: Keys) -> RangeIndex:
    """As the messages come, some at a time."""
    index = RangeIndex()
    for end in range(100, len(keys) + 1, 100):
        log = MemoryLog()
        log._keys = keys[:end]
        index.apply(index.draft(keys[end - 100 : end], (), log.keys))
    return index
