"""The search as one types: hits marked, gone through, listed, and the way back."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from textual import events

from sdschat.node.view.searching import _PAGE, HistorySearch
from sdschat.node.view.values import Key
from sdschat.store.reader import Reader
from sdschat.tui.commands import searching
from sdschat.tui.row_lines import pattern_of
from tests.tui.stage import Stage, staged


async def _harbour(s: Stage) -> None:
    for at in range(3):
        s.app.node.send("lobby", f"the rope number {at}")
        for number in range(30):
            s.app.node.send("lobby", f"filler {number}")
    await s.settle()


async def _find(s: Stage, words: str) -> None:
    await s.press("ctrl+f")
    await s.press(*(("space" if letter == " " else letter) for letter in words))
    await s.until(lambda: "..." not in s.text() and "find" in s.text(), "the end of the search")


def _marked(s: Stage) -> list[str]:
    """Return what is marked on the visible lines of the log."""
    log = s.app.log_view
    strips = [log.render_line(y) for y in range(log.size.height)]
    return [one.text for strip in strips for one in strip if one.style and one.style.reverse and one.text.strip()]


@staged(size=(110, 20))
async def test_hits_are_marked_and_counted_while_one_types(s: Stage) -> None:
    await _harbour(s)
    await s.type("half a draft")
    await _find(s, "rop")
    assert "1 of 3" in s.text()
    assert any("rope number 2" in line for line in s.log())
    assert _marked(s) == ["rop"]
    assert s.app.composer.text == "half a draft"


@staged(size=(110, 20))
async def test_keys_of_one_burst_act_in_their_order(s: Stage) -> None:
    await s.press("ctrl+f")
    for key, letter in (*((one, one) for one in "ropes"), ("ctrl+u", None), *((one, one) for one in "boat")):
        s.app.post_message(events.Key(key, letter))
    for key in ("backspace", "m"):
        s.app.post_message(events.Key(key, "m" if key == "m" else None))
    assert s.app.finder is not None
    words = s.app.finder.words
    await s.until(lambda: words.value == "boam", "the words")


@staged(size=(110, 20))
async def test_enter_goes_to_older_hits_and_down_to_newer_ones(s: Stage) -> None:
    await _harbour(s)
    await _find(s, "rope")
    await s.press("enter", "enter")
    assert "3 of 3" in s.text()
    assert any("rope number 0" in line for line in s.log())
    await s.press("enter")
    assert "oldest hit of 3" in s.text()
    await s.press("down")
    assert "2 of 3" in s.text()
    assert any("rope number 1" in line for line in s.log())


@staged(size=(110, 20))
async def test_esc_stays_at_the_hit_without_marks_and_a_second_one_goes_to_the_end(s: Stage) -> None:
    await _harbour(s)
    await _find(s, "number 0")
    await s.press("escape")
    assert any("rope number 0" in line for line in s.log())
    assert _marked(s) == []
    assert s.app.composer.has_focus
    await s.press("escape")
    assert s.follows()
    assert s.app.selection is None


@staged(peers=("bob",), size=(110, 20))
async def test_who_said_a_hit_and_when_stands_beside_its_number(s: Stage) -> None:
    s.say("one thing")
    s.say("another rope")  # its row has no nick and no time: the one above it has
    await s.until_text("another rope")
    await _find(s, "rope")
    await s.until(lambda: re.search(r"1 of 1 bob, \d\d:\d\d:\d\d ⋅", s.text()) is not None, "author and time")
    await s.press("escape")
    await s.enter("/hit 1")
    assert "newest first: bob, " in s.hint()


@staged(size=(110, 20))
async def test_the_list_of_hits_begins_at_the_hit_that_is_shown(s: Stage) -> None:
    for at in range(40):
        s.app.node.send("lobby", f"the rope number {at}")
    await s.settle()
    await _find(s, "rope")
    await s.press(*["enter"] * 30)
    await s.press("tab")
    await s.until(lambda: s.app.sheet.scroll_y > 0, "the place of the hit")
    await s.press("enter")
    assert any("rope number 9" in line for line in s.log())
    assert s.app.model.hit_at == 9


@staged(size=(110, 20))
async def test_f6_stays_at_the_hit_where_n_goes_on(s: Stage) -> None:
    await _harbour(s)
    await _find(s, "rope")
    await s.press("f6", "n")
    assert any("rope number 1" in line for line in s.log())
    assert _marked(s) == ["rope"]


@staged(size=(110, 20))
async def test_the_list_of_hits_jumps_to_the_chosen_one(s: Stage) -> None:
    await _harbour(s)
    await _find(s, "rope")
    await s.press("tab")
    assert "3 hits" in s.text()
    await s.press("down", "down", "enter")
    assert any("rope number 0" in line for line in s.log())
    assert s.app.composer.has_focus
    await s.enter("/hits")
    await s.press("escape")
    assert "3 hits" not in s.text()


@staged(size=(110, 20))
async def test_of_very_many_hits_it_is_said_that_there_may_be_older_ones(s: Stage) -> None:
    """The list called the newest 200 of them *200 hits*, and the last of these the oldest."""
    for number in range(210):
        s.app.node.send("lobby", f"rope number {number}")
    await s.settle()
    await _find(s, "rope")
    await s.press("tab")
    assert "─ the newest 200 hits ─" in s.text()
    await s.press("escape", "escape")
    await s.enter("/hit 200")
    await s.until_text("hit 200 of the newest 200")
    await s.enter("/hit")
    assert s.hint() == ("That was the oldest hit of the newest 200. before:TIME among the words finds older ones.")


@staged(size=(110, 20))
async def test_the_line_about_a_hit_goes_with_it(s: Stage) -> None:
    """It stood below the sentence about another message, with another author and time."""
    await _harbour(s)
    await s.enter("/search rope")
    assert s.hint().startswith("hit 1 of 3")
    await s.press("alt+up")
    assert s.hint() == ""
    await s.enter("/hit")
    assert s.hint().startswith("hit 2 of 3")


@staged(peers=("bob",), size=(110, 20))
async def test_a_search_by_author_and_time(s: Stage) -> None:
    s.say("a rope of bob")
    await s.until_text("a rope of bob")
    await s.enter("a rope of ann")
    await _find(s, "rope from:bob since:1h")
    assert "1 of 1" in s.text()
    await s.press("escape")
    await s.enter("/search from:me")
    await s.until(lambda: "hit 1 of 1" in s.hint())
    await s.enter_instead("/search rope before:2001-01-01")
    await s.until(lambda: "Nothing in this channel" in s.hint())
    await s.enter_instead("/search from:nobody")
    assert "Nobody known here goes by nobody" in s.hint()
    await s.enter_instead("/search since:soon")
    assert "soon is no time" in s.hint()


@staged(size=(110, 20))
async def test_a_long_search_leaves_the_keys_alone_and_ends_for_a_newer_one(s: Stage) -> None:
    await _harbour(s)
    stopped: list[Callable[[], bool]] = []

    def slowly(reader: Reader, still: Callable[[], bool]) -> None:
        def lower(text: str) -> str:
            time.sleep(0.05)
            return text

        stopped.append(still)
        reader.connection.create_function("lower", 1, lower)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "abandon_when", slowly)
        await s.press("ctrl+f", "!")
        await s.until(lambda: bool(stopped), "the search")
        assert "..." in s.text()
        await s.press("x")
        assert stopped[0]()
        assert "!x" in s.text()


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        ("rope lo", "A rope, long; ropes, halo", ["rope", "lo"]),
        ("rope ", "ropes and a ROPE", ["ROPE"]),
        ("船", "小船来了", ["船"]),
        ("?!", "what?! no", ["?!"]),
    ],
)
def test_words_are_marked_as_the_index_finds_them(words: str, text: str, found: list[str]) -> None:
    pattern = pattern_of(words)
    assert pattern is not None
    assert pattern.findall(text) == found


@staged(size=(100, 24))
async def test_the_keys_of_the_search_stand_there_as_long_as_there_is_room(s: Stage) -> None:
    await s.enter("something like this")
    await _find(s, "something like this")
    await s.until_text("Enter older")
    await s.pilot.resize_terminal(60, 20)
    await s.pilot.pause()
    assert "something like this" in s.text()
    assert "Enter older" not in s.text()
    assert "⋅ Tab list, Esc ends" in s.text()


@staged(size=(80, 24))
async def test_without_a_hit_no_key_of_hits_is_named(s: Stage) -> None:
    await _find(s, "nothing like this")
    await s.until_text("not in this channel as a word or its beginning ⋅ Esc ends")
    assert "Tab list" not in s.text()


@staged(size=(80, 24))
async def test_words_that_only_others_said_are_not_said_to_be_missing(s: Stage) -> None:
    await s.enter("a rope is here")
    await _find(s, "rope from:ann before:2020-01-01")
    await s.until_text("no message with all of that ⋅ Esc ends")


async def _said_to_ann(s: Stage) -> None:
    """Let bob say four things, three of which are to ann."""
    await s.enter("who has a rope?")
    (own,) = s.app.model.timeline.messages()
    s.say("ann: I have one")
    s.say("the weather is fine")
    s.say("it is at the ferry")
    s.say("a short one", reply_to=own.message_id)
    await s.until_text("a short one")
    await s.enter("ann is my name")


@staged(peers=("bob",), size=(110, 30))
async def test_what_was_said_to_the_user_is_listed_newest_first(s: Stage) -> None:
    await _said_to_ann(s)
    await s.enter("/highlight ferry")
    await s.enter("/mentions")
    assert s.app.sheet.page is not None
    assert [line.partition("bob: ")[2] for line in s.app.sheet.page.lines] == [
        "a short one",
        "it is at the ferry",
        "ann: I have one",
    ]
    await s.press("down", "down", "enter")
    chosen = s.app.model.timeline.entries[s.app.selection or ""]
    assert chosen.text == "ann: I have one"


@staged("lobby", "dev", "attic", peers=("bob",), size=(110, 30))
async def test_what_is_unread_to_the_user_in_other_channels_is_told_beside_it(s: Stage) -> None:
    await _said_to_ann(s)
    s.say("ann: over here", channel="dev")
    await s.until(lambda: s.app.models["dev"].mentions == 1)
    await s.enter("/mentions weather")
    assert "Unread to you: 1 in dev" in s.hint()
    await s.enter_instead("/mentions")
    assert "Unread to you: 1 in dev" in s.text()
    assert "attic" not in s.hint()


@contextmanager
def _slow_search() -> Iterator[asyncio.Event]:
    """Hold all searches until the event is set, longer than the keys wait."""
    run, over = HistorySearch.run, asyncio.Event()

    async def held(search: HistorySearch) -> list[Key]:
        await over.wait()
        return await run(search)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "_QUICK", 0)
        patch.setattr(HistorySearch, "run", held)
        yield over


@staged(peers=("bob",), size=(110, 30))
async def test_no_key_waits_while_a_long_history_is_looked_through(s: Stage) -> None:
    await _said_to_ann(s)
    with _slow_search() as over:
        await s.enter("/mentions")
        await s.press("h", "e", "y")
        over.set()
        await s.until_text("2 to you in lobby: /hits there lists them")
    assert s.app.composer.text == "hey"
    assert s.app.sheet.page is None, "it would take the keys of who writes"


@staged(peers=("bob",), size=(110, 30))
async def test_who_waits_for_a_slow_search_gets_the_list(s: Stage) -> None:
    """It said where the list is, and did not show it, in every long history."""
    await _said_to_ann(s)
    with _slow_search() as over:
        await s.enter("/mentions")
        await s.until_text("looking through the whole history")
        over.set()
        await s.until(lambda: s.app.sheet.page is not None, "the list")
    assert s.app.sheet.page is not None
    assert len(s.app.sheet.page.lines) == 2


@staged(peers=("bob",), size=(110, 30))
async def test_a_search_with_to_me_finds_what_was_said_to_the_user_alone(s: Stage) -> None:
    await _said_to_ann(s)
    await s.enter("/search one to:me")
    assert "hit 1 of 2" in s.hint()
    await s.enter("/mentions weather")
    assert "nothing of that here is to you" in s.hint()


@staged(peers=("bob",))
async def test_what_was_said_to_the_user_is_found_behind_many_other_messages(s: Stage) -> None:
    """The database does not know what is to whom: the search looks at one page of messages after another."""
    s.say("ann: the first of all")
    await s.until_text("the first of all")
    for number in range(2 * _PAGE + 1):
        s.app.node.send("lobby", str(number))
    await s.settle()
    await s.enter("/search to:me")
    await s.until(lambda: "hit 1 of 1" in s.hint(), "the hit")


@staged(size=(80, 20))
async def test_the_words_of_a_search_are_in_sight_before_what_is_told_of_it(s: Stage) -> None:
    await _harbour(s)
    await s.press("ctrl+f")
    assert s.app.finder is not None
    s.app.finder.words.post_message(events.Paste("since:2d from:me the rope number rop"))
    await s.until(lambda: "1 of 3" in s.text(), "the hits")
    assert "find since:2d from:me the rope number rop" in s.text()
    await s.pilot.resize_terminal(40, 12)
    await s.until(lambda: "number rop" in s.text(), "the end of the words, where the cursor is")
