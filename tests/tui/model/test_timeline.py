"""The rows in memory: in log order, in whatever order they arrive, and never too many."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sdschat.tui.model.items import MessageItem, NoteItem, Tone, gap_items
from sdschat.tui.model.timeline import MOST, ProgramLines, Timeline
from sdschat.tui.model.words import strangers_words
from tests.tui.model.samples import NOON, entry, missing


def timeline(*numbers: int, at_start: bool = True, at_end: bool = True) -> Timeline:
    made = Timeline()
    made.replace_all([entry(number) for number in numbers], at_start=at_start, at_end=at_end)
    return made


def numbers(found: Timeline) -> list[int]:
    return [int(item.message_id[:4], 16) for item in found.items if isinstance(item, MessageItem)]


@given(st.permutations(range(12)))
def test_messages_stand_in_log_order_however_they_come(order: list[int]) -> None:
    found = timeline()
    for number in order:
        found.put(entry(number))
    assert numbers(found) == list(range(12))


def test_a_message_outside_of_what_is_at_hand_is_not_put_in() -> None:
    found = timeline(10, 11, at_start=False, at_end=False)
    assert not found.put(entry(9))
    assert not found.put(entry(12))
    assert found.put(entry(11, "another text"))
    assert numbers(found) == [10, 11]


def test_a_page_above_is_joined_without_doubles() -> None:
    found = timeline(10, 11, at_start=False)
    found.extend_before([entry(8), entry(9), entry(10)], at_start=False)
    assert numbers(found) == [8, 9, 10, 11]


def test_lines_of_the_program_keep_their_order_when_an_older_message_comes_between_them() -> None:
    found = timeline()
    lines = ProgramLines(found)
    lines.add("bob knocks", NOON - 1000)
    lines.add("bob is a member", NOON + 60_000)
    found.put(entry(1))
    lines.add("cas is a member", NOON + 61_000)
    assert [item.text for item in found.items if isinstance(item, NoteItem)] == [
        "bob knocks",
        "bob is a member",
        "cas is a member",
    ]


def test_rows_far_from_the_viewport_are_let_go_on_both_sides() -> None:
    found = timeline(*range(MOST + 500))
    found.trim(900, 930)
    assert len(found) == MOST
    assert 900 in numbers(found)
    assert not (found.at_start and found.at_end)


def test_nothing_is_let_go_while_there_are_few() -> None:
    found = timeline(*range(100))
    found.trim(50, 60)
    assert len(found) == 100
    assert found.at_start
    assert found.at_end


def test_a_gap_stands_before_the_message_that_waits_for_it() -> None:
    found = timeline(1, 2, 4)
    found.set_gaps(gap_items([missing(3)], {}, found.messages(), lambda sender: sender or ""))
    assert [item.message_id[4] for item in found.items] == ["f", "f", "e", "f"]


def test_a_gap_that_closed_is_gone_and_the_others_stay() -> None:
    found = timeline(1, 2, 4, 6)
    found.set_gaps(gap_items([missing(3), missing(5)], {}, found.messages(), lambda sender: ""))
    found.set_gaps(gap_items([missing(5)], {}, found.messages(), lambda sender: ""))
    assert list(found.gaps) == [missing(5).message_id]


def test_a_line_of_the_program_stays_below_what_was_newest_when_it_was_said() -> None:
    found = timeline(1, 5)
    last = found.last_key()
    assert last is not None
    found.put(NoteItem("said now", Tone.INFO, NOON, last, 1))
    found.put(entry(3))
    found.put(entry(7))
    assert [type(item).__name__ for item in found.items] == [
        "MessageItem",
        "MessageItem",
        "MessageItem",
        "NoteItem",
        "MessageItem",
    ]


def _said(found: Timeline) -> list[str]:
    return [item.text for item in found.items if isinstance(item, NoteItem)]


def test_a_line_of_the_program_from_before_the_log_is_read_stands_in_it() -> None:
    """A channel that one had not looked at yet showed no line of an absence or of new keys."""
    found = Timeline()
    lines = ProgramLines(found)
    lines.add("asleep", NOON)
    lines.say_strangers(1, 1, NOON)
    lines.say_strangers(2, 3, NOON)
    found.replace_all([entry(number) for number in (1, 2)], at_start=True, at_end=True)
    assert _said(found) == ["asleep", strangers_words(2, 3)]


def test_a_line_of_the_program_comes_back_with_the_rows_around_it() -> None:
    found = timeline(1, 2)
    ProgramLines(found).add("asleep", NOON, below=entry(2).key)
    found.replace_all([entry(0)], at_start=True, at_end=False)
    assert _said(found) == []
    found.extend_after([entry(1), entry(2), entry(3)], at_end=True)
    assert [type(item).__name__ for item in found.items][-2:] == ["NoteItem", "MessageItem"]
    found.trim(0, 0, most=2)
    found.extend_after([entry(2), entry(3)], at_end=True)
    assert _said(found) == ["asleep"]


def test_of_very_many_lines_of_the_program_the_newest_stay() -> None:
    found = timeline(1)
    lines = ProgramLines(found)
    for number in range(1000):
        lines.add(str(number), NOON + number)
    assert len(_said(found)) < 1000
    assert _said(found)[-1] == "999"


def test_every_change_is_seen_by_its_version() -> None:
    found, seen = timeline(1), set()
    for change in (
        lambda: found.put(entry(2)),
        lambda: found.remove(entry(2)),
        lambda: found.extend_before([entry(0)], True),
        found.clear_notes,
    ):
        change()
        seen.add(found.version)
    assert len(seen) == 4


def test_positions_are_found_after_many_changes() -> None:
    found, random = timeline(), Random(1)
    for number in random.sample(range(200), 200):
        found.put(entry(number))
    for number in range(200):
        at = found.index_of_message(entry(number).message_id)
        assert at == number
