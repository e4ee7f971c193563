"""Commands that find and show messages of the log."""

from __future__ import annotations

import asyncio
import re
import resource
from collections.abc import Awaitable
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from sdschat.node.private.record import create_private
from sdschat.node.view.moments import parse_moment
from sdschat.node.view.private import invite
from sdschat.tui.model.results import CommandError
from tests.tui.stage import Stage, staged

NOW = datetime(2025, 11, 20, 12, 0, 0)


async def talk(s: Stage, count: int, text: str = "number {} of many") -> None:
    for number in range(count):
        s.app.node.send("lobby", text.format(number))
    await s.settle()


@staged(size=(100, 20))
async def test_search_finds_in_the_whole_history_and_jumps_there(s: Stage) -> None:
    s.app.node.send("lobby", "the needle itself")
    await talk(s, 60)
    assert "needle" not in s.text()
    await s.enter("/search needle")
    assert any("needle" in line for line in s.log())
    assert "hit 1 of 1" in s.hint()


@staged(size=(100, 20))
async def test_hits_go_on_to_older_ones_and_back(s: Stage) -> None:
    for at in range(3):
        s.app.node.send("lobby", f"needle {at}")
        await talk(s, 30)
    await s.enter("/search needle")
    assert any("needle 2" in line for line in s.log())
    await s.enter("/hit")
    assert any("needle 1" in line for line in s.log())
    await s.press("f6", "n")
    assert any("needle 0" in line for line in s.log())
    await s.press("n")
    assert "oldest hit of 3" in s.hint()
    await s.press("N")
    assert any("needle 1" in line for line in s.log())
    await s.press("f6")
    await s.enter("/hit back")
    assert any("needle 2" in line for line in s.log())


@staged()
async def test_search_that_finds_nothing_says_so(s: Stage) -> None:
    await s.enter("/search nowhere")
    assert "Nothing in this channel has all of: nowhere" in s.hint()
    await s.enter_instead("/hit")
    assert "There was no search here" in s.hint()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10:02", NOW.replace(hour=10, minute=2)),
        ("10:02:30", NOW.replace(hour=10, minute=2, second=30)),
        ("13:00", NOW.replace(hour=13) - timedelta(days=1)),
        ("today", NOW.replace(hour=0)),
        ("yesterday", NOW.replace(hour=0) - timedelta(days=1)),
        ("2h", NOW - timedelta(hours=2)),
        ("30 m", NOW - timedelta(minutes=30)),
        ("2025-11-01", datetime(2025, 11, 1)),
        ("2025-11-01 08:30", datetime(2025, 11, 1, 8, 30)),
    ],
)
def test_moments_as_people_write_them(text: str, expected: datetime) -> None:
    assert parse_moment(text, _milliseconds(NOW)) == _milliseconds(expected)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


@staged(size=(100, 20))
async def test_goto_jumps_to_a_time_and_to_an_id(s: Stage) -> None:
    first = s.app.node.send("lobby", "the very first")
    await talk(s, 60)
    await s.enter("/goto today")
    assert any("the very first" in line for line in s.log())
    await s.enter("/end")
    assert not any("the very first" in line for line in s.log())
    await s.enter(f"/goto {first.message_id[:8]}")
    assert s.app.selection == first.message_id


@staged()
async def test_goto_says_where_nothing_is_so_old(s: Stage) -> None:
    await s.enter("the very first")
    await s.enter("/goto yesterday")
    assert "nothing from then is here: the oldest message is of" in s.hint()


@staged()
async def test_goto_says_what_it_takes(s: Stage) -> None:
    await s.enter("/goto")
    assert "/goto needs a time or an id" in s.hint()
    await s.enter_instead("/goto zzzz")
    assert "'zzzz' is no moment. Write 10:02" in s.hint()
    assert "No message of this channel has an id that begins with zzzz" in s.hint()


@staged(size=(80, 24))
async def test_links_of_several_rows_are_shown_whole(s: Stage) -> None:
    """There is room for four rows above the input, and the end of the second one was cut off."""
    await s.enter("https://example.org/1")
    await s.enter(f"https://example.org/{'a' * 100}/end")
    await s.enter("/links")
    assert "a/end" in "".join(s.app.sheet.page.lines if s.app.sheet.page is not None else ())


@staged()
async def test_open_says_where_there_is_no_link(s: Stage) -> None:
    await s.enter("nothing to open")
    await s.enter("/open")
    assert "There is no link in this log." in s.hint()
    await s.press("alt+up")
    await s.enter_instead("/open")
    assert "There is no link in the selected message." in s.hint()


@staged("lobby", peers=("bob",), size=(100, 30))
async def test_open_joins_by_an_invite_that_stands_in_a_message(s: Stage) -> None:
    bob = s.peers["bob"].node
    garden = create_private(bob.profile.store, bob.gate.identity, "garden")
    bob.join(garden)
    s.say(f"all move: {invite(bob, garden)} (as in https://example.org/notes)")
    await s.until_text("all move")
    await s.press("f6", "up")
    await s.until_text("o join")
    await s.press("o")
    assert s.hint().endswith("this is an invite to a private channel; /open yes joins it")
    await s.press("slash", *"open", "space", *"yes", "enter")
    await s.until_text("private, key 1")
    assert s.app.shown == garden


@staged(size=(100, 20))
async def test_start_and_end(s: Stage) -> None:
    await talk(s, 400)
    await s.enter("/start")
    assert "number 0 of" in s.log()[1]
    await s.enter("/end")
    assert "number 399 of" in s.log()[-1]
    assert s.app.log_view.following


@staged(peers=("bob",))
async def test_info_tells_everything_of_a_message(s: Stage) -> None:
    await s.enter("look at me")
    await s.until_text("✓")
    await s.press("alt+up")
    await s.enter("/info")
    assert (s.app.selection or "nothing") in s.text()
    assert "known    bob (" in s.text()


@staged(peers=("bob",))
async def test_without_a_selection_info_and_why_tell_of_the_newest_own_message(s: Stage) -> None:
    await s.enter("did this arrive?")
    await s.until_text("✓")
    s.say("something else")
    await s.until_text("something else")
    await s.press("f5")
    assert "did this arrive?" in (page := s.text())
    assert "bob is known to have it." in page
    await s.press("escape")
    await s.enter("/why")
    await s.until_text("did this arrive?")


@staged(peers=("bob",), size=(80, 24))
async def test_details_of_a_selection_are_one_sentence(s: Stage) -> None:
    await s.enter("did this arrive?")
    await s.until_text("✓")
    await s.press("alt+up")
    assert re.fullmatch(r"bob is known to have it \| id [0-9a-f]{8} \| F5 all of it", s.app.panes.said("details"))
    s.say("it did")
    await s.until_text("it did")
    await s.press("alt+down")
    who, at, how, keys = s.app.panes.said("details").split(" | ")
    assert who == f"bob ({s.peers['bob'].node.sender_id[:8]})"
    assert re.fullmatch(r"\d\d:\d\d:\d\d", at)
    assert how == "signed, by a new key, not met before: /verify compares it"
    assert keys == "F5 all of it"


@staged(peers=("bob",), size=(100, 40))
async def test_info_says_what_a_message_follows_and_when_it_was_written(s: Stage) -> None:
    asked = s.say("who has the rope?")
    await s.until_text("who has the rope?")
    await s.enter("I do")
    await s.press("f5")
    assert f"follows  {asked[:8]} bob: who has the rope?" in s.text()
    assert re.search(r"written  \w{3} \d+ \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d\d:\d\d", s.text())


@staged(peers=("bob",), size=(100, 40))
async def test_details_keep_their_order_beside_a_nick_and_a_text_from_right_to_left(s: Stage) -> None:
    nick, text = "\u05e2\u05de\u05d9", "\u05e9\u05dc\u05d5\u05dd 12"
    s.peers["bob"].node.rename(nick)
    s.say(text)
    await s.until_text("12")
    await s.enter("I do")
    await s.until_text("✓")
    await s.press("f5")
    page = s.text()
    assert f" \u2068{nick}\u2069: \u2068{text}\u2069" in page, "what it follows"
    assert f"known    \u2068{nick}\u2069 (" in page
    await s.press("escape", "alt+up")
    assert s.app.panes.said("details").startswith(f"\u2068{nick}\u2069 is known to have it")
    await s.press("alt+up", "f5")
    assert f"from     \u2068{nick}\u2069 ({s.peers['bob'].node.sender_id[:8]})" in (page := s.text())
    assert f" \u2068{text}\u2069" in page
    assert "\u2066" not in "".join(line for line in page.split("\n") if "from   " in line), "once"


@staged(peers=("bob",))
async def test_sending_ends_the_selection(s: Stage) -> None:
    s.say("look at me")
    await s.until_text("look at me")
    await s.press("alt+up")
    await s.enter("and now?")
    assert s.app.selection is None
    assert s.app.panes.said("details") == ""


@staged()
async def test_info_takes_the_beginning_of_an_id(s: Stage) -> None:
    sent = s.app.node.send("lobby", "one")
    await s.settle()
    await s.enter(f"/info {sent.message_id[:5]}")
    assert sent.message_id in s.text()


@staged()
async def test_links_are_listed_and_opened_only_after_asking(s: Stage) -> None:
    await s.enter("see https://a.example/one and http://b.example/two")
    await s.enter("/links")
    assert "1 https://a.example/one" in s.text()
    assert "2 http://b.example/two" in s.text()
    await s.enter("/open 2")
    assert "http://b.example/two would be opened" in s.hint()
    await s.enter("/open 7")
    assert "There is no link 7" in s.hint()


@staged(size=(80, 24))
async def test_more_scrolls_as_the_keys_do(s: Stage) -> None:
    for number in range(60):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    await s.enter("/more back")
    assert not any("number 59" in line for line in s.log())
    await s.enter("/more")
    assert any("number 59" in line for line in s.log())
    await s.enter("/more on")
    assert s.hint() == "/more goes on in the log, and /more back goes back."


@staged()
async def test_links_are_the_newest_of_the_whole_log_wherever_one_reads(s: Stage) -> None:
    """They were those of the messages in memory: none behind 200 others, and old ones, called newest, after a jump."""
    await s.enter("see https://a.example/first")
    for number in range(450):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    await s.enter("/links")
    assert "1 https://a.example/first" in s.text()
    await s.enter("and https://a.example/last")
    await s.enter("/start")
    await s.until_text("see https://a.example/first")
    await s.enter("/links")
    assert "1 https://a.example/last" in s.text()
    assert "2 https://a.example/first" in s.text()
    await s.enter("/open 1")
    assert "https://a.example/last would be opened" in s.hint()


@staged(size=(80, 24))
async def test_links_stand_below_one_another(s: Stage) -> None:
    for number in range(10):
        s.app.node.send("lobby", f"https://a.example/{number}")
    await s.settle()
    await s.enter("/links")
    listed = [line.index("https:") for line in s.lines() if line.startswith("│") and "https:" in line]
    assert len(listed) == 10
    assert len(set(listed)) == 1


@staged()
async def test_links_of_a_channel_without_any(s: Stage) -> None:
    await s.enter("/urls")
    assert "there is no link" in s.hint()


@staged()
async def test_copy_puts_the_message_into_the_clipboard_and_a_file(s: Stage) -> None:
    await s.enter("two\nlines https://a.example/x")
    await s.press("alt+up")
    await s.enter("/copy")
    assert s.app.clipboard == "two\nlines https://a.example/x"
    assert s.app.copies is not None
    assert s.app.copies.read_text() == s.app.clipboard
    assert s.app.copies.stat().st_mode & 0o777 == 0o600
    await s.enter("/copy id")
    assert s.app.clipboard == s.app.selection
    await s.enter("/copy link 1")
    assert s.app.clipboard == "https://a.example/x"


@staged()
async def test_export_writes_the_log_and_never_over_a_file(s: Stage) -> None:
    path = Path(s.world.folder) / "out.txt"
    await talk(s, 3, "line {}\nand more")
    await s.enter(f"/export {path}")
    lines = path.read_text().splitlines()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(lines) == 6
    assert lines[0].endswith("ann: line 0")
    assert lines[1] == "    and more"
    await s.enter(f"/export {path}")
    assert "is there already" in s.hint()


@staged()
async def test_the_node_works_on_during_an_export_and_a_failed_one_leaves_no_file(s: Stage) -> None:
    """A part of a log stood there like the whole, and a second try was refused for it."""
    path, turns, export = Path(s.world.folder) / "out.txt", list[int](), s.app.registry.find("export").run
    await talk(s, 3, "{}" + "-" * 2000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    asyncio.get_running_loop().call_soon(turns.append, 1)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(CommandError, match="cannot be written"):
            await cast("Awaitable[None]", export(s.app, str(path)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert turns
    assert not path.exists()


@staged(peers=("bob",))
async def test_export_names_what_an_answer_answers(s: Stage) -> None:
    """It was lost in the file, as in that of /log, and was in what `sdschat export` writes."""
    path = Path(s.world.folder) / "out.txt"
    asked = s.say("where is the rope?\nand the boat?")
    await s.until_text("and the boat?")
    await s.enter(f"/reply {asked[:6]} on the pier")
    s.say("why?", reply_to="ab" * 32)
    await s.until_text("why?")
    await s.enter(f"/export {path}")
    lines = path.read_text().splitlines()
    assert lines[2].endswith(" ann (answers bob: where is the rope?): on the pier")
    assert lines[3].endswith(" bob (answers abab): why?")


@staged()
async def test_export_writes_no_text_into_a_file_that_is_named_as_another_format(s: Stage) -> None:
    path = Path(s.world.folder) / "out.md"
    await talk(s, 1)
    await s.enter(f"/export {path}")
    assert s.hint() == "/export writes text: out.txt. `sdschat export` writes .md files."
    assert not path.exists()


@staged("lobby", "dev", peers=("bob",))
async def test_unread_jumps_to_the_first_unread_message(s: Stage) -> None:
    await s.enter("/go dev")
    s.say("you missed this")
    for number in range(60):
        s.say(f"and this, {number}")
    await s.until(lambda: s.app.models["lobby"].unread == 61)
    await s.enter("/go lobby")
    assert not any("you missed this" in line for line in s.log())
    await s.press("alt+u")
    assert any("you missed this" in line for line in s.log())
    assert any(" new " in line for line in s.log())


@staged()
async def test_unread_says_when_there_is_nothing(s: Stage) -> None:
    await s.enter("/unread")
    assert "everything in this channel is read" in s.hint()


@staged()
async def test_late_says_when_there_is_nothing(s: Stage) -> None:
    await s.enter("/late")
    assert "no message came late" in s.hint()
