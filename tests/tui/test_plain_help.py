"""The help of the chat line by line: no key and no part of a screen, and every line can be found."""

from __future__ import annotations

import re
from pathlib import Path

from sdschat.tui.manual import TOPICS
from tests.tui.plain_lines import Lines, plain


def test_commands_work_and_those_that_need_a_screen_say_so(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("find me")
        await s.until("find me")
        assert await s.enter("/search find")
        await s.until("hit 1 of 1")
        assert await s.enter("/hits")
        await s.until("ann: find me")
        for line in ("/help", "/who", "/legend", "/keys", "/outbox", "/channels", "/theme light", "/end"):
            assert await s.enter(line), line
        for line in ("/split", "/bare"):
            assert not await s.enter(line), line
        assert await s.enter("/quit")
        assert s.host.ended.is_set()

    plain(tmp_path, story)


def test_every_help_names_no_key_and_no_part_of_a_screen(tmp_path: Path) -> None:
    absent = re.compile(r"\bF\d|\b(?:Alt|Ctrl)\+(?!Enter\b|[CDRUW]\b)|\bmouse\b|\bcell|frame|first column|\bEsc\b")

    async def story(s: Lines) -> None:
        commands = s.host.registry.commands
        for line in ("/help", "/keys", "/legend", "/help chat", *(f"/help {one.name}" for one in commands)):
            before = len(s.text())
            assert await s.enter(line)
            told = s.text()[before:]
            assert told.strip("* \n"), line
            assert not absent.search(told), (line, absent.search(told))

    plain(tmp_path, story)


def test_the_legend_and_the_keys_tell_of_what_is_printed_and_typed(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("/legend")
        for printed in ("acked 2: your message e2bd", "(7e20)", "(new key)", "(late)", "fay edited", "settled"):
            assert printed in s.text(), printed
        before = len(s.text())
        await s.enter("/keys")
        assert "at the second press leaves" in s.text()[before:]
        assert "Ctrl+D" in s.text()[before:]
        assert "There are no other keys" in s.text()[before:]
        assert not await s.enter("/keys help f9")
        assert "There are no keys to change here." in s.text()

    plain(tmp_path, story)


def test_help_lists_the_commands_and_no_key_of_a_screen(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("/help")
        assert "/who" in s.text()
        assert "Alt+Up" not in s.text()
        assert "F5" not in s.text()
        assert "* /quit" in s.text().replace("*   ", "* ")
        assert s.text().count("\n*   ") < 45, "a list that one can listen to"
        assert "/create" not in s.text()
        await s.enter("/help all")
        assert "/create" in s.text()

    plain(tmp_path, story)


def test_help_says_how_to_read_each_topic_and_finds_every_line_with_some_words(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        async def told(line: str) -> list[str]:
            before = len(s.text())
            assert await s.enter(line), line
            return s.text()[before:].splitlines()

        listed = await told("/help")
        topics = [line.split()[2] for line in listed if line.startswith("*   /help ") and line.split()[2] in TOPICS]
        assert topics == ["plain", *(topic for topic in TOPICS if topic not in ("chat", "plain"))]
        headings = [line.split(maxsplit=3)[3] for line in listed if line.startswith("*   /help ")]
        assert len(headings) == len(set(headings)), "no two topics have one title"
        assert (await told("/help chat")) == (await told("/help plain"))
        everything = [line.removeprefix("*").strip() for topic in TOPICS for line in await told(f"/help {topic}")]
        for words in ("signed", "Epoch", "members key"):
            found = [line.removeprefix("*").strip() for line in await told(f"/help all {words}")]
            wanted = [line for line in everything if all(word in line.lower() for word in words.lower().split())]
            assert wanted
            assert all(any(line in whole for whole in found) for line in wanted), words
        places = [line for line in await told("/help key") if line.startswith("* in ")]
        assert {"* in /help signs:", "* in /help private:", "* in /help:"} <= set(places)
        assert (await told("/help search"))[0].startswith("* /search WORDS")
        assert any("/search WORDS" in line for line in await told("/help all search"))
        assert not await s.enter("/help no such words")
        assert "No line of the help has no such words." in s.text()
        assert not await s.enter("/help nonsense")
        assert "No command, topic or line of help has nonsense" in s.text()

    plain(tmp_path, story)


def test_a_line_that_help_finds_says_what_it_is_about(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        assert await s.enter("/help away")
        lines = s.text()[s.text().index("* in /help") :].splitlines()
        assert lines[0] == "* in /help:", "what one can type comes first"
        assert any(line.startswith("*   state_taken, fork sender_id") or "state_taken" in line for line in lines)
        assert not any(line.startswith("*   the state of a member took") for line in lines), "a row without its head"
        assert any("write to one participant alone. Opens a conversation" in line for line in lines)

    plain(tmp_path, story)
