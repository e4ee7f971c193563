"""`sdschat demo --theatre` in a real terminal: keys are bytes, the four nodes are real."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from textual.geometry import Size

from sdschat.node.settings import make_settings
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.model.words import ASCII, UNICODE
from sdschat.tui.theatre.app import LEAST, TheatreApp
from sdschat.tui.theatre.group import TheatreGroup
from sdschat.tui.theatre.pane import LogEnd, row_lines
from sdschat.tui.theatre.script import ACTS, BETWEEN_SIDES, KEYS_OF_HELP, LINKS, PEOPLE, Deed, help_in
from tests.cli.processes import run
from tests.needs import needs_module
from tests.tui.stage import stage
from tests.tui.terminal import Terminal

RUN = """
import sys
from sdschat.cli.program import run
{planted}
sys.exit(run(["demo", "--theatre", *sys.argv[1:]]))
"""
SILENT = """
from sdschat.tui.theatre import player
player.ACTS = player.ACTS[:1]
player.cycle = lambda acts: acts
"""
BROKEN = """
from sdschat.tui.theatre.group import TheatreGroup
def broken(self, nick, text):
    raise RuntimeError("a planted error")
TheatreGroup.say = broken
"""
TITLE = re.compile(r"(ann|bob|carol|dave) \S ([0-9a-f]{4}) ")


def theatre(planted: str, *options: str) -> list[str]:
    return [sys.executable, "-c", RUN.format(planted=planted), *options]


def fingerprints(terminal: Terminal) -> list[str]:
    return [found for _, found in TITLE.findall(terminal.text())]


def test_logs_part_at_a_cut_and_come_together_when_it_is_mended(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("ann", "dave", "? help", "q quit")
        terminal.press("s")
        terminal.until_text("4 of 6 links cut")
        terminal.press("\rover the water\r")  # q is a letter in a line, and a key after Esc
        terminal.until(lambda: terminal.text().count("over the water") == 2, "the left half does not have it")
        terminal.until_text("2 different logs")
        terminal.press("quietly\r")
        terminal.escape()
        terminal.until(lambda: terminal.text().count("quietly") == 2, "q was not written")
        terminal.press("m")
        terminal.until(lambda: terminal.text().count("quietly") == 4, "the right half does not have it")
        terminal.until_text("all logs are equal")
        terminal.until(
            lambda: len(found := fingerprints(terminal)) == 4 and len(set(found)) == 1, "not one fingerprint for all"
        )
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored()


def test_nothing_is_drawn_while_nothing_happens(tmp_path: Path) -> None:
    """All panes were drawn ten times a second, also over a slow connection."""
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("all logs are equal")
        terminal.until(lambda: not terminal.read(1.0), "it goes on drawing")


def test_the_caption_says_what_has_really_happened_and_a_fault_by_hand_halts_the_script(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(""), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("hello, all", "space pause", "Enter write", "m mend", "k kill", "? help", "q quit")
        terminal.press("1")
        terminal.until_text("Cut: ann and bob do not hear one another.", "the script waits: space")
        terminal.press("2")
        terminal.until_text("Cut: ann and carol do not hear one another.")
        terminal.press("1")
        terminal.until_text("Mended: ann and bob hear one another. Still cut: 1 link.")
        terminal.press("s")
        terminal.until_text("Cut: ann and carol, at the left, do not hear bob and dave.")
        terminal.press("\rapart\r")
        terminal.escape()
        terminal.until_text("The logs have come apart: there are")
        terminal.press("m")
        terminal.until_text("All links are mended")
        terminal.until_text("The four logs are equal")
        terminal.press("l")
        terminal.until_text("get lost: what is missing is asked for")
        terminal.press("m")
        terminal.until_text("No packet is lost any more.")
        terminal.press("k")
        terminal.until_text("The program of dave is killed")
        terminal.until_text("The program of dave runs again")
        assert "the left side" not in terminal.text(), "the script said no word of what it did not do"
        terminal.press(" ")
        terminal.until(lambda: "the script waits" not in terminal.text(), "space lets it go on")


def test_what_one_does_not_hear_at_a_cut_link_is_passed_on_by_others(tmp_path: Path) -> None:
    """The message was lost whoever passed it on, so that one cut link was enough for the logs to differ for good."""
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("all logs are equal")
        terminal.press("5")
        terminal.until_text("Cut: ann and dave do not hear one another. Others pass on what they say.")
        terminal.press("\rthe long way round\r")
        terminal.until(lambda: terminal.text().count("the long way round") == 4, "nobody passed it on to dave")
        terminal.escape()
        terminal.until_text("1 of 6 links cut", "all logs are equal")
        terminal.press("34")
        terminal.until_text("Cut: carol and dave do not hear one another.", "3 of 6 links cut")
        assert "Others pass on" not in terminal.text(), "dave is alone"


def test_keys_of_one_burst_act_in_their_order(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("ann", "dave", "? help")
        terminal.press("s\rmine 1 s\r")  # letters and digits behind Enter are text
        terminal.until(lambda: terminal.text().count("mine 1 s") == 2, "the left half does not have it")
        terminal.until_text("4 of 6 links cut", "2 different logs")
        terminal.escape()
        terminal.press("k\t")  # of dave, who is chosen, and not of the next one
        terminal.until_text("The program of dave is killed")


def test_esc_in_one_burst_with_a_line_comes_after_the_line_was_sent(tmp_path: Path) -> None:
    """Esc overtook Enter, so that the line was left in the input."""
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("ann", "dave", "? help")
        terminal.press("\rin one burst\r\x1b[27u")  # Esc as the protocol of kitty writes it: nothing waits for more
        terminal.until(lambda: terminal.text().count("in one burst") == 4, "it was not sent")
        terminal.until_text("Enter: write")


@pytest.mark.parametrize("size", [(80, 24), LEAST])
def test_the_screen_says_that_one_writes_until_esc(tmp_path: Path, size: tuple[int, int]) -> None:
    """An empty Enter left the line without a word, so that the next letters cut, killed or ended."""
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=size) as terminal:
        terminal.until_text("ann", "dave", "? help", "Enter: write")
        terminal.press("\r")
        terminal.until_text("write as ann", "Enter sends · Esc back to the keys · Ctrl+C quits")
        assert "? help" not in terminal.text(), "no letter is a key now"
        terminal.press("sent\r")
        terminal.until(lambda: terminal.text().count("sent") == 4, "it was not sent")
        terminal.until_text("write as ann", "Esc back to the keys")
        terminal.press("\r")
        terminal.until_text("You write as ann: Esc goes back to the keys.")
        terminal.press("kq")
        terminal.until(lambda: bool(re.search(r"\bkq\b", terminal.text())), "the letters are no text")
        terminal.escape()
        terminal.until_text("? help")
        terminal.press("q")
        assert terminal.wait() == 0


@pytest.mark.parametrize("size", [(80, 24), LEAST])
def test_the_state_is_whole_with_every_fault(tmp_path: Path, size: tuple[int, int]) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=size) as terminal:
        terminal.until_text("all logs are equal")
        terminal.press("sl")
        terminal.until_text("all logs are equal ⋅ 4 of 6 cut ⋅ 30% lost ⋅ paused")
        terminal.press("mk")
        terminal.until_text("dave killed, the other logs are equal")


def test_help_is_whole_in_the_smallest_terminal(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=LEAST) as terminal:
        terminal.until_text("? help")
        terminal.press("?")
        terminal.until_text("Four participants", "as faults do; next act", "q quits", "Any key closes this page.")
        terminal.press("x")
        terminal.until_text("? help")


@pytest.mark.parametrize("size", [(80, 24), LEAST])
def test_the_frame_says_what_k_kills(tmp_path: Path, size: tuple[int, int]) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=size) as terminal:
        terminal.until_text("all logs are equal", "k kills it")
        terminal.press("\t")
        terminal.until(lambda: "k kills it" in terminal.text().split("dave")[0], "the frame of ann is chosen")


def test_help_has_a_frame_where_there_is_room_and_ascii_signs_where_they_are_wanted(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT, "--ascii"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("? help")
        terminal.press("?")
        terminal.until_text(
            "Any key closes this page.",
            "+- help -",
            "+ known to have it, ? perhaps",
            "space, right pauses the script, as faults do; next act",
        )
        assert all(ord(sign) < 128 for sign in terminal.text())


def test_a_log_is_not_called_empty_when_its_program_runs_again(tmp_path: Path) -> None:
    """The frame said so until the next look at the fingerprints."""
    needs_module("iotcore")

    async def story() -> None:
        group = TheatreGroup(LocalGroup(tmp_path, make_settings({}, "demo"), "demo"))
        await group.open()
        try:
            app = TheatreApp(group, 60.0)
            async with app.run_test(size=(80, 24)):
                group.say("dave", "hello, all")
                titles = []
                for away, seconds in ((set[str](), 1.0), ({"dave"}, 1.0), (set[str](), 0.0)):
                    group.away, app._looked_at = away, time.monotonic() - seconds
                    app.draw()
                    titles.append(str(app.panes["dave"].border_title))
                assert "killed" in titles[1]
                assert "empty" not in titles[2]
        finally:
            await group.close()

    asyncio.run(story())


def test_a_participant_is_killed_and_starts_again(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT, "--ascii"), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("dave", "? help")
        terminal.press("k")
        terminal.until_text("dave ! killed")
        terminal.until(lambda: "killed" not in terminal.text(), "it does not start again")
        terminal.press("\rwelcome\r")
        terminal.escape()
        terminal.until(lambda: terminal.text().count("welcome") == 4, "it does not take part")
        assert all(ord(sign) < 128 for sign in terminal.text())
        terminal.press("q")
        assert terminal.wait() == 0


def test_a_window_that_is_made_smaller_takes_nothing_from_what_one_writes(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("? help")
        terminal.press("\rhalf a")
        terminal.until_text("half a", "Esc back to the keys")
        terminal.resize(40, 12)
        terminal.until_text("The theatre needs", "Ctrl+C quits")
        terminal.resize(80, 24)
        terminal.until_text("half a", "Esc back to the keys")
        terminal.press(" question\r")
        terminal.until(lambda: terminal.text().count("half a question") == 4, "it was not sent")


def test_no_letter_is_a_key_where_nothing_is_seen(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=LEAST) as terminal:
        terminal.until_text("all logs are equal")
        terminal.resize(40, 12)
        terminal.until_text("The theatre needs")
        terminal.press("s")
        terminal.resize(*LEAST)
        terminal.until_text("all logs are equal", "? help")
        assert "cut" not in terminal.text().splitlines()[0]


def test_without_colour_and_in_a_small_terminal_one_line_says_what_is_needed(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(59, 15), env={"NO_COLOR": "1"}) as terminal:
        terminal.until_text("needs 60 columns and 15 lines; here are 59 and 15")
        assert b"\x1b[38;2" not in terminal.written
        terminal.press("q")
        assert terminal.wait() == 0


def test_a_script_that_fails_ends_the_program_with_its_error(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(BROKEN), tmp_path) as terminal:
        assert terminal.wait() == 1
        after = bytes(terminal.written).rpartition(b"\x1b[?1049l")[2].decode()
        assert "unexpected failure: RuntimeError: a planted error" in after
        assert "Traceback" not in after


@pytest.mark.parametrize("option", [("--headless",), ("--record", "x"), ("--peers", "3")])
def test_options_of_the_other_demonstration_are_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    done = run(tmp_path, "demo", "--theatre", *option)
    assert done.returncode == 2
    assert "four participants on one screen" in done.stderr


def test_the_script_ends_every_fault_that_it_begins() -> None:
    deeds = [act.deed for act in ACTS]
    assert Deed.MEND in deeds[deeds.index(Deed.SPLIT) :]
    assert Deed.MEND in deeds[deeds.index(Deed.LOSS) :]
    assert {act.who for act in ACTS if act.who} <= set(PEOPLE)
    left, right = {"ann", "carol"}, {"bob", "dave"}
    assert all(set(LINKS[number]) & left and set(LINKS[number]) & right for number in BETWEEN_SIDES)


def test_esc_and_a_question_mark_act_before_the_letters_of_one_burst(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("ann", "dave", "? help")
        terminal.press("\rsome more\r\x1bs")  # Esc and a letter are also the bytes of Alt and that letter
        terminal.until(lambda: terminal.text().count("some more") >= 1, "what was written before Esc is said")
        terminal.until_text("4 of 6 links cut")
        terminal.press("?m")  # any key closes help, and does nothing else
        terminal.press("m")
        terminal.until_text("All links are mended")
        terminal.press("?xl")
        terminal.until_text("get lost: what is missing is asked for")
        terminal.press("\ra question? \x1b?")
        terminal.until_text("Any key closes this page.")
        terminal.press("\x1b")
        terminal.until_text("a question?")
        terminal.press("\x1bq")
        assert terminal.wait() == 0


def test_the_keys_that_help_names_are_marked() -> None:
    wanted = [*"142356", "s", "m", "l", "Tab, k", "space, →", "Enter", "q"]
    assert sorted(KEYS_OF_HELP.findall(help_in(UNICODE))) == sorted(wanted)
    assert "space, right" in KEYS_OF_HELP.findall(help_in(ASCII))


def test_q_closes_help_and_ends_nothing(tmp_path: Path) -> None:
    """It ended the theatre, where help says that any key closes the page."""
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(80, 24)) as terminal:
        terminal.until_text("ann", "dave", "? help")
        terminal.press("?")
        terminal.until_text("Any key closes this page.")
        terminal.press("qk")
        terminal.until_text("The program of dave")  # is killed, and runs again a moment later


def test_help_lies_over_the_theatre_where_there_is_room(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(theatre(SILENT), tmp_path, size=(94, 30)) as terminal:
        terminal.until_text("ann", "dave", "? help")
        terminal.press("?")
        terminal.until_text("Any key closes this page.", "? help q quit")
        assert all(f"─ {nick} " in terminal.text() for nick in ("ann", "bob", "carol")), "it goes on behind the page"


def test_a_tick_without_room_for_its_cells_keeps_its_number_beside_the_text(tmp_path: Path) -> None:
    async def told() -> None:
        async with stage(tmp_path, peers=("bob", "carol", "dave")) as s:
            await s.until_text("4 here")
            Injection(s.app.node, "lobby").share("loss", 1.0, "in")
            await s.enter("does anybody hear")
            (entry,) = s.app.model.timeline.messages()
            assert entry.fate is not None
            drawn = row_lines(entry, 28, s.app.line_style, 0, s.app.model.present)
            assert ["".join(segment.text for segment in line) for line in drawn] == ["ann   does anybody hear  0/3"]
            entry = replace(entry, fate=entry.fate._replace(addressed=frozenset()))  # nobody is here, or was
            drawn = row_lines(entry, 28, s.app.line_style, 0)
            assert ["".join(segment.text for segment in line) for line in drawn][-1].strip() == "⇡ unacked", (
                "a word is whole"
            )

    asyncio.run(told())


def test_rows_of_a_pane_are_whole(tmp_path: Path) -> None:
    """There is room for two lines: the end of a longer row above them says nothing."""

    class Small(LogEnd):
        size = Size(20, 3)

        def refresh(self, *_: object, **__: object) -> Self:
            return self

    async def told() -> None:
        async with stage(tmp_path) as s:
            end = Small(s.app.line_style, notes=False)
            await s.enter("a text of such a length that it takes three lines of a small pane")
            end.draw(s.app.model)
            assert len(end._strips) == 3, "of the newest its beginning"
            assert end._strips[0].text.startswith("ann   a text of")
            await s.enter("hm")
            end.draw(s.app.model)
            assert [strip.text.split()[:2] for strip in end._strips] == [["ann", "hm"]]

    asyncio.run(told())
