"""A seeker and its clock: when it asks again, whom it leaves alone, and for how long."""

from __future__ import annotations

import pytest

from sdschat.catchup.peers import (
    AFTER_YOU,
    ALONE,
    EXPECTED,
    REST_FIRST,
    REST_OF_PEERS,
    TURN,
    HistorySource,
    HistorySources,
    Rests,
    by_turns,
)
from sdschat.catchup.responder import ReadingBudgets, answer
from sdschat.catchup.session import (
    FRUITLESS,
    LIAR_REST,
    PATIENCE,
    PATIENCE_DOUBTFUL,
    PATIENCE_LATER,
    SILENCE,
    TRIES,
    CatchUpSession,
)
from sdschat.catchup.values import (
    HIGHEST,
    LOWEST,
    AnswerFrame,
    Ask,
    CatchUpState,
    Declined,
    Frame,
    HistoryPage,
    LogKey,
    RangePart,
    RangeReply,
    Want,
    summarise,
)
from sdschat.sim.companion import MemoryLog
from tests.catchup.compare import some_keys

ANN = HistorySource("ann")
BOB = HistorySource("bob")
KEYS = some_keys(400)
SESSION = 77


def seeking(keys: list[tuple[int, str]] = KEYS) -> CatchUpSession:
    """A seeker that has just sent its first question, at 1000."""
    seeker = CatchUpSession(MemoryLog(keys), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN], 1000)
    return seeker


def sent(seeker: CatchUpSession) -> list[Frame]:
    found = [frame for _, frame in seeker.frames]
    seeker.frames.clear()
    return found


def shown(keys: list[tuple[int, str]]) -> AnswerFrame:
    """A log as a single part."""
    whole = summarise(keys)
    return AnswerFrame((RangeReply((RangePart(HIGHEST, whole.messages, whole.fingerprint(SESSION)),)),))


def test_the_first_question_is_asked_again_after_a_short_while_and_a_few_times() -> None:
    seeker = seeking()
    first = sent(seeker)
    assert seeker.next_wake() == 1000 + PATIENCE
    seeker.advance(1000 + PATIENCE - 1)
    assert sent(seeker) == []
    for tried in range(1, TRIES):
        seeker.advance(1000 + tried * PATIENCE)
        assert sent(seeker) == first
    assert seeker.next_wake() == 1000 + TRIES * PATIENCE
    seeker.advance(1000 + TRIES * PATIENCE)
    assert (sent(seeker), seeker.source, seeker.state) == ([], "", CatchUpState.WAITING)
    assert seeker.next_wake() == 1000 + TRIES * PATIENCE + REST_FIRST


def test_later_questions_have_more_time_and_as_many_tries() -> None:
    seeker = seeking()
    sent(seeker)
    seeker.heard("ann", Frame(SESSION, 1, shown([*KEYS, *some_keys(2000)[1200:]])), 1500)
    second = sent(seeker)
    assert [frame.number for frame in second] == [2]
    assert seeker.next_wake() == 1500 + PATIENCE_LATER
    for tried in range(1, TRIES):
        seeker.advance(1500 + tried * PATIENCE_LATER)
        assert sent(seeker) == second
    seeker.advance(1500 + TRIES * PATIENCE_LATER)
    assert (sent(seeker), seeker.source) == ([], "")


def test_too_much_asked_for_at_once_is_asked_again_later() -> None:
    seeker = seeking()
    first = sent(seeker)
    seeker.heard("ann", Frame(SESSION, 1, AnswerFrame(())), 1500)
    assert (sent(seeker), seeker.next_wake()) == ([], 1500 + PATIENCE_LATER)
    seeker.advance(1500 + PATIENCE_LATER)
    assert sent(seeker) == first


def test_answers_to_other_questions_and_of_others_are_nothing() -> None:
    for source, session, number in (("bob", SESSION, 1), ("ann", SESSION + 1, 1), ("ann", SESSION, 2)):
        seeker = seeking()
        sent(seeker)
        seeker.heard(source, Frame(session, number, Declined("busy")), 1500)
        assert (seeker.source, seeker.next_wake()) == ("ann", 1000 + PATIENCE)


def test_who_declines_is_left_alone_for_a_moment() -> None:
    seeker = seeking()
    seeker.heard("ann", Frame(SESSION, 1, Declined("busy")), 1500)
    assert (seeker.source, seeker.state, seeker.next_wake()) == ("", CatchUpState.WAITING, 1500 + REST_FIRST)
    seeker.advance(1500 + REST_FIRST - 1)
    assert seeker.source == ""
    seeker.advance(1500 + REST_FIRST)
    assert seeker.source == "ann"


def test_who_answers_what_was_not_asked_is_left_alone_for_an_hour() -> None:
    seeker = seeking()
    seeker.heard("ann", Frame(SESSION, 1, AnswerFrame((RangeReply(cells=(1, 2, 3)),))), 1500)
    assert seeker.next_wake() == 1500 + LIAR_REST


def test_the_first_comparison_guesses_which_single_message_is_lacking() -> None:
    seeker = seeking(KEYS[:-1])
    sent(seeker)
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    (frame,) = sent(seeker)
    assert isinstance(frame.what, Want)
    assert [(stretch.sole, len(stretch.shorts)) for stretch in frame.what.stretches] == [(True, 1)]


def test_the_second_comparison_with_a_source_does_not_guess() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    sent(seeker)
    seeker.took([], 0, True, 1600)
    assert not sent(seeker)  # what was taken is not in the log yet
    assert seeker.next_wake() == 1600
    seeker.advance(1600)
    sent_now = sent(seeker)[-1]
    assert isinstance(sent_now.what, Ask)
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1700)
    (frame,) = sent(seeker)
    assert isinstance(frame.what, Ask)


def test_a_source_without_pages_for_long_is_left() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    assert seeker.state is CatchUpState.LOADING
    seeker.took([LogKey(5, "a")], 1, False, 2000)
    assert seeker.next_wake() == 2000 + SILENCE
    seeker.advance(2000 + SILENCE - 1)
    assert seeker.source == "ann"
    seeker.advance(2000 + SILENCE)
    assert seeker.source == ""


def test_who_fails_again_and_again_rests_twice_as_long_up_to_a_minute() -> None:
    sources = HistorySources(Rests())
    sources.replace([ANN], 0)
    rests, now = [], 100
    for _ in range(12):
        sources.failed("ann", now)
        until = sources.next_wake() or 0
        rests.append(until - now)
        now = until
    assert rests == [2000, 4000, 8000, 16_000, 32_000, *[REST_OF_PEERS] * 7]
    sources.gave("ann")
    sources.failed("ann", now)
    assert sources.next_wake() == now + REST_FIRST


def test_of_those_that_rest_the_first_to_be_asked_says_when() -> None:
    sources = HistorySources(Rests())
    sources.replace([ANN, HistorySource("bob"), HistorySource("cid")], 0)
    sources.failed("ann", 0, 500)
    sources.failed("bob", 0, 300)
    sources.failed("cid", 0, 100)
    sources.done_with("cid", LOWEST)
    assert sources.next_wake() == 300
    assert sources.next(299) is None
    assert sources.next(300) == HistorySource("bob")
    assert sources.next(500) == ANN


def test_who_comes_when_we_were_here_asks_first() -> None:
    for here, rest in ((ALONE - 1, None), (ALONE, 50 + ALONE + AFTER_YOU)):
        sources = HistorySources(Rests())
        sources.replace([], 50)
        sources.replace([], 50 + here)
        sources.replace([ANN], 50 + here)
        assert sources.next_wake() == rest


def test_who_asks_us_while_it_rests_goes_on_resting() -> None:
    sources = HistorySources(Rests())
    sources.replace([ANN], 0)
    sources.asks_us("ann", 0)
    assert sources.next_wake() is None
    sources.goes_first("ann", 0)
    sources.asks_us("ann", AFTER_YOU - 1)
    assert sources.next_wake() == 2 * AFTER_YOU - 1
    sources.asks_us("ann", 2 * AFTER_YOU - 1)
    assert sources.next_wake() == 2 * AFTER_YOU - 1


def _yielded() -> CatchUpSession:
    """A seeker that is done with ann, and let bob go first, who had asked more questions already."""
    seeker = seeking()
    seeker.sources([ANN, BOB], 1000)
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1100)
    assert seeker.source == "bob"
    question = sent(seeker)[-1].what
    assert isinstance(question, Ask)
    seeker.compared_by("bob", Frame(SESSION, 2, question), question, 1200)
    assert seeker.source == ""
    return seeker


def test_nobody_is_done_while_somebody_who_goes_first_has_not_said_what_we_lack() -> None:
    seeker = _yielded()
    assert seeker.state is CatchUpState.WAITING
    seeker.nudged("bob", 1300)
    assert (seeker.source, seeker.state) == ("bob", CatchUpState.COMPARING)


def test_who_goes_first_and_says_nothing_is_asked_after_a_while() -> None:
    seeker = _yielded()
    assert seeker.next_wake() == 1200 + AFTER_YOU
    seeker.advance(1200 + AFTER_YOU)
    assert seeker.source == "bob"


def test_who_goes_first_and_leaves_is_not_waited_for() -> None:
    seeker = _yielded()
    seeker.sources([ANN], 1300)
    assert seeker.state is CatchUpState.DONE


def test_who_has_more_is_asked_again_at_once() -> None:
    sources = HistorySources(Rests())
    sources.replace([ANN], 0)
    sources.done_with("ann", LOWEST)
    assert sources.next(0) is None
    sources.failed("ann", 0)
    sources.has_more("ann")
    assert sources.next(0) == ANN


def test_the_reach_is_that_of_the_source_that_goes_back_farthest() -> None:
    sources = HistorySources(Rests())
    sources.floors["ann"] = LogKey(500, "")
    sources.done_with("ann", LogKey(100, ""))
    assert sources.reach == LogKey(500, "")
    sources.done_with("bob", LogKey(300, ""))
    assert sources.reach == LogKey(300, "")
    sources.done_with("cid", LogKey(400, ""))
    assert sources.reach == LogKey(300, "")


def test_a_source_that_dropped_everything_is_asked_nothing_more() -> None:
    seeker = seeking()
    seeker.floor("ann", HIGHEST.lamport)
    seeker.failed("ann", 1500)
    sent(seeker)
    seeker.advance(20_000)
    assert (seeker.state, sent(seeker), seeker.next_wake()) == (CatchUpState.DONE, [], None)


def test_pages_of_a_source_that_was_dropped_are_not_used() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    assert seeker.page("ann", HistoryPage(SESSION, 2, 0, (b"packet",)))
    seeker.offline()
    assert seeker.take_pages() == []


def test_progress_never_says_more_than_all() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    assert seeker.progress()[1:] == (0, 1, "ann")
    seeker.took([LogKey(5, "a"), LogKey(6, "b")], 2, False, 2000)
    assert seeker.progress()[1:] == (1, 1, "ann")


def test_every_source_is_tried_once_before_any_is_tried_again() -> None:
    ghosts = [HistorySource(f"ghost{number}") for number in range(40)]
    seeker = CatchUpSession(MemoryLog(KEYS), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    present = [*ghosts, ANN]
    seeker.sources(present, 0)
    asked: list[str] = []
    now = 0
    while len(asked) < len(present):
        if seeker.source and seeker.source not in asked[-1:]:
            asked.append(seeker.source)
        wake = seeker.next_wake()
        assert wake is not None
        now = wake
        seeker.advance(now)
    assert asked == [source.name for source in present]
    assert now <= len(present) * PATIENCE_DOUBTFUL + PATIENCE


def test_who_answers_late_is_asked_again_at_once_and_has_more_time() -> None:
    """On a busy machine an honest source was left after 0.6 s each time, and asked after all that answer nothing."""
    ghosts = [HistorySource(f"ghost{number}") for number in range(40)]
    seeker = CatchUpSession(MemoryLog(KEYS), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN, *ghosts], 0)
    (question,) = sent(seeker)
    seeker.advance(PATIENCE_DOUBTFUL)
    assert seeker.source == "ghost0"
    seeker.heard("ann", question._replace(what=shown(KEYS)), 1000)
    seeker.advance(2 * PATIENCE_DOUBTFUL)
    assert seeker.source == "ann"
    seeker.advance(2 * PATIENCE_DOUBTFUL + PATIENCE - 1)
    assert seeker.source == "ann"


def test_who_answers_after_the_end_is_compared_with_all_the_same() -> None:
    """Somebody who said that nothing is lacking ended it while the only honest source, which was slow, was left."""
    seeker = CatchUpSession(MemoryLog([]), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN, HistorySource("stranger")], 0)
    (question,) = sent(seeker)
    seeker.advance(PATIENCE_DOUBTFUL)
    seeker.heard("stranger", question._replace(what=shown([])), 700)
    assert not seeker.active
    seeker.heard("ann", question._replace(what=shown(KEYS)), 800)
    assert seeker.source == "ann"
    seeker.heard("ann", question._replace(what=shown(KEYS)), 900)
    assert seeker.state is CatchUpState.LOADING


def test_a_source_that_gives_nothing_of_what_it_says_to_have_is_compared_with_three_times() -> None:
    """The second comparison shows what the first one guessed wrong; after that it is said for nothing."""
    log, seeker = MemoryLog(KEYS), CatchUpSession(MemoryLog([]), lambda: SESSION)
    budgets = ReadingBudgets(lambda peer: True)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN], 0)
    comparisons = now = 0
    while seeker.source:
        now += 1
        for frame in sent(seeker):
            comparisons += frame.number == 1
            if isinstance(frame.what, Ask):
                reply = answer(frame.what, log, budgets.of("ann", now))
                seeker.heard("ann", frame._replace(what=reply), now)
            else:
                seeker.took([], 0, True, now)
        seeker.advance(now)
    assert (comparisons, seeker.state) == (3, CatchUpState.DONE)


def test_a_late_answer_of_one_who_was_compared_with_changes_nothing() -> None:
    seeker = CatchUpSession(MemoryLog(KEYS), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN, BOB], 0)
    (question,) = sent(seeker)
    seeker.advance(PATIENCE_DOUBTFUL)
    seeker.heard("bob", question._replace(what=Declined("busy")), 700)
    seeker.advance(PATIENCE_DOUBTFUL + REST_FIRST)
    assert seeker.source == "ann"
    seeker.heard("ann", question._replace(what=shown(KEYS)), 2650)
    assert seeker.next_wake() is None
    assert (seeker.source, seeker.state) == ("", CatchUpState.DONE)
    sent(seeker)
    seeker.heard("ann", question._replace(what=shown(KEYS)), 2660)
    assert (sent(seeker), seeker.state) == ([], CatchUpState.DONE)


def test_a_late_answer_ends_a_rest_once() -> None:
    sources = HistorySources(Rests())
    sources.replace([ANN, BOB], 0)
    assert not sources.answered_late("ann"), "it was not left"
    sources.failed("ann", 0)
    assert sources.answered_late("ann")
    assert sources.next(1) == ANN._replace(proven=True)
    sources.failed("ann", 1)
    assert not sources.answered_late("ann")
    assert sources.next(2) == BOB
    sources.restart()
    assert sources.next(3) == ANN, "it may be quicker now"


def test_those_who_say_to_be_stores_and_never_answer_do_not_stand_before_all_others() -> None:
    ghosts = [HistorySource(f"ghost{number}", store=True) for number in range(300)]
    seeker = CatchUpSession(MemoryLog(KEYS), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources(by_turns(ghosts, [ANN]), 0)
    assert seeker.source == "ghost0", "a Store has all, and is there for that"
    seeker.advance(PATIENCE_DOUBTFUL)
    assert seeker.source == "ann"


def test_who_offers_what_is_lacking_is_asked_before_others_that_were_not_tried() -> None:
    sources = HistorySources(Rests())
    sources.replace([*(HistorySource(f"ghost{number}") for number in range(3)), ANN], 0)
    sources.failed("ghost0", 0)
    sources.has_more("ann")
    assert sources.next(1) == ANN
    sources.failed("ann", 1)
    assert sources.next(1) == HistorySource("ghost1")


def test_who_answers_nothing_again_and_again_is_left() -> None:
    seeker = seeking()
    now = 1000
    while seeker.source and now <= 2 * FRUITLESS:
        now += 1000
        seeker.heard("ann", Frame(SESSION, 1, AnswerFrame(())), now)
        seeker.advance(now)
    assert (seeker.source, now) == ("", 1000 + FRUITLESS)


def test_who_gives_nothing_new_page_after_page_is_left_and_goes_on_resting() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    now = 1500
    seeker.took([LogKey(5, "a")], 1, False, 2000)
    while seeker.source and now <= 2 * FRUITLESS:
        now += 500
        seeker.took([LogKey(5, "a")] * (now % 2), 0, False, now)
        seeker.advance(now)
    assert (seeker.source, now) == ("", 2000 + FRUITLESS)


def test_who_gives_something_new_now_and_then_is_asked_on() -> None:
    seeker = seeking(KEYS[:-1])
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    for now in range(2000, 3 * FRUITLESS, SILENCE // 2):
        seeker.took([], int(now % FRUITLESS < SILENCE), False, now)
        seeker.advance(now)
    assert seeker.source == "ann"


def test_before_it_begins_nothing_is_left_out() -> None:
    seeker = CatchUpSession(MemoryLog(KEYS), lambda: SESSION)
    assert (seeker.reach, seeker.begun, seeker.active) == (LOWEST, False, False)


def _loading_from_ann() -> CatchUpSession:
    """A seeker that loads from ann, while bob waits."""
    seeker = seeking(KEYS[:-1])
    seeker.sources([ANN, BOB], 1000)
    seeker.heard("ann", Frame(SESSION, 1, shown(KEYS)), 1500)
    assert seeker.state is CatchUpState.LOADING
    return seeker


def _gives(seeker: CatchUpSession, first: int, new: int, until: int, every: int = 100) -> int:
    """Let ann give some new messages at a time. Return the time at which she is left, or `until`."""
    for now in range(first, until, every):
        if seeker.source != "ann":
            return now
        seeker.took([LogKey(5, "a")], new, False, now)
        wake = seeker.next_wake()
        assert wake is not None
        if wake <= now + every:
            seeker.advance(wake)
    return until


def test_who_gives_less_in_a_turn_than_is_expected_of_others_is_left() -> None:
    seeker = _loading_from_ann()
    assert _gives(seeker, 1600, 1, 100_000) in range(1000 + TURN, 1000 + TURN + 200)
    assert seeker.source == "bob"


def test_the_next_turn_of_who_gave_next_to_nothing_is_twice_as_long() -> None:
    seeker = _loading_from_ann()
    now = _gives(seeker, 1600, 0, 100_000)
    seeker.failed("bob", now)
    assert seeker.source == "ann"
    left = _gives(seeker, now, 0, 1_000_000)
    assert left - now in range(2 * TURN, 2 * TURN + 200)


def test_who_gives_much_goes_on_until_another_one_may_give_as_much_for_its_turn() -> None:
    times = 20  # as many as are expected of another one
    left = _gives(_loading_from_ann(), 1600, EXPECTED * times * 100 // TURN, 10**6)
    assert left - 1000 in range(TURN * (times - 5), TURN * times)


def _turns(seeker: CatchUpSession, rates: dict[str, int], until: int) -> dict[str, int]:
    """Let sources give so many messages a second. Return the time that each had, in milliseconds."""
    times = dict.fromkeys(rates, 0)
    for now in range(0, until, 500):
        seeker.advance(now)
        if not seeker.source:
            continue
        times[seeker.source] += 500
        for _, frame in seeker.frames:
            if isinstance(frame.what, Ask):
                seeker.heard(seeker.source, Frame(frame.session, frame.number, shown(KEYS)), now)
        seeker.frames.clear()
        seeker.took([LogKey(5, "a")], rates[seeker.source] // 2, False, now)
    return times


@pytest.mark.parametrize("rate", [0, 2, 13, 40])
def test_invented_messages_take_time_in_proportion_to_those_of_others(rate: int) -> None:
    """Whoever gave more than a bound went on for five minutes, and whoever gave less than it was asked as often as all
    others."""
    liars = [f"liar{number}" for number in range(8)]
    seeker = CatchUpSession(MemoryLog(KEYS[:-1]), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([HistorySource(name) for name in [*liars, "ann"]], 0)
    minute = 60_000
    times = _turns(seeker, {**dict.fromkeys(liars, rate), "ann": 500}, 2 * minute)
    assert times["ann"] > minute
    assert all(times[liar] <= 2 * TURN for liar in liars)


def test_who_gives_something_does_not_wait_for_all_who_do_not_answer() -> None:
    ghosts = [HistorySource(f"ghost{number}") for number in range(300)]
    seeker = CatchUpSession(MemoryLog(KEYS[:-1]), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([ANN, *ghosts], 0)
    time_of_ann = 0
    for now in range(0, 60_000, 100):
        seeker.advance(now)
        frames, seeker.frames = seeker.frames, []
        if seeker.source != "ann":
            continue
        time_of_ann += 100
        for _, frame in frames:
            if isinstance(frame.what, Ask):
                seeker.heard("ann", Frame(frame.session, frame.number, shown(KEYS)), now)
        seeker.took([LogKey(5, "a")], 2, False, now)  # 20 a second
    assert time_of_ann > 40_000


def test_who_gives_little_because_it_is_busy_comes_before_those_who_give_less() -> None:
    liars = [f"liar{number}" for number in range(8)]
    seeker = CatchUpSession(MemoryLog(KEYS[:-1]), lambda: SESSION)
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([HistorySource(name) for name in ["ann", *liars]], 0)
    times = _turns(seeker, {**dict.fromkeys(liars, 0), "ann": 8}, 180_000)
    assert all(times["ann"] >= 3 * times[liar] for liar in liars)


def test_who_gives_little_goes_on_where_nobody_waits() -> None:
    seeker = _loading_from_ann()
    seeker.sources([ANN], 1500)
    assert _gives(seeker, 1600, 1, 200_000) == 200_000


def test_who_answers_and_gives_nothing_is_left_for_somebody_who_waits() -> None:
    seeker = seeking()
    seeker.sources([ANN, BOB], 1000)
    now = 1000
    while seeker.source == "ann":
        now += 500
        seeker.heard("ann", Frame(SESSION, 1, AnswerFrame(())), now)
        seeker.advance(now)
    assert now == 1000 + TURN
