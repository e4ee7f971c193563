"""Hostile texts in every place that shows text: none drives the terminal, and nothing crashes."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console
from textual.strip import Strip

from sdschat.cli.json_events import json_line
from sdschat.node.events import NodeEvent
from sdschat.node.view.conversations import Conversations
from sdschat.transport.base import new_channel, normal_channel
from sdschat.tui.lens.inspector import VIEWS
from sdschat.tui.model.words import clean, clean_name
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.preferences import Preferences
from sdschat.tui.row_lines import item_lines
from sdschat.tui.themes import LineStyle
from tests.cli.processes import environment
from tests.node.worlds import world
from tests.tui.hostile.attack import send_all, tell, told
from tests.tui.hostile.corpus import CORPUS, FAMILIES, FEW, SAMPLE
from tests.tui.hostile.judge import harmful, judge, obeyed
from tests.tui.stage import Stage, stage

PATIENCE = 90.0  # for everything to be judged, saved and read


def written(s: Stage) -> Iterator[str]:
    """Return the screen, line by line, as Textual writes it to a terminal."""
    console = s.app.console
    for strip in s.app.screen._compositor.render_strips():
        yield strip.render(console)


async def all_logged(view: Conversations, texts: int = len(CORPUS)) -> None:
    """Wait until so many texts are in the log, and open all of their authors: so many new keys wait."""
    async with asyncio.timeout(PATIENCE):
        while view.channel("lobby").count() < texts:
            await asyncio.sleep(0.02)
        view.node.open_strangers([stranger.sender_id for stranger in view.strangers("lobby")])
        while view.strangers("lobby"):
            await asyncio.sleep(0.02)


def test_the_corpus_is_large_and_of_many_kinds() -> None:
    assert len(CORPUS) >= 500
    assert len(FAMILIES) >= 12
    assert all(list(family()) for family in FAMILIES.values())


def test_the_judge_sees_what_is_harmful() -> None:
    assert sum(bool(obeyed(text)) for text in CORPUS) > 150
    assert sum(bool(harmful(text)) for text in CORPUS) > 350
    assert not harmful("\x1b[1;38;5;3mplain\x1b[0m")
    assert harmful("\x1b[2J")
    assert harmful("\x1b]8;;javascript:x\x1b\\")


@pytest.mark.parametrize("family", FAMILIES)
def test_cleaned_nothing_is_left_that_could_harm(family: str) -> None:
    for text in FAMILIES[family]():
        for shown in (clean(text), clean(text, lines=True).replace("\n", ""), clean_name(text), clean(text, limit=7)):
            judge([shown], family)


def test_messages_nicks_ids_quotes_gaps_members_and_every_view_of_the_lens(tmp_path: Path) -> None:
    """Draw some texts of every family with the real widgets."""

    async def story() -> None:
        async with stage(tmp_path, size=(110, 100)) as s:
            send_all(s.app.node, "lobby", FEW)
            for text in FEW:
                tell(s.app.node, "lobby", next(fact for fact in told(text) if type(fact).__name__ == "PresenceChanged"))
            await all_logged(s.app.view, len(FEW))
            for _ in range(4):
                await s.settle()
                judge(written(s), "the log")
                s.app.log_view.action_pages(-1)
            await s.press("alt+up", "alt+up")
            judge(written(s), "the details of a message")
            for view in VIEWS:
                s.app.lens.open(view)
                await s.settle()
                judge(written(s), f"the lens, {view}")

    asyncio.run(story())


def test_errors_and_everything_else_that_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, size=(110, 40)) as s:
            s.app.lens.open("events")
            for text in FEW:
                for body in told(text):
                    tell(s.app.node, "lobby", body)
                await s.settle()
                judge(written(s), f"what is told of {text!r:.80}")
            s.app.lens.open("repair")
            await s.settle()
            judge(written(s), "repair")

    asyncio.run(story())


def test_an_ephemeral_message_makes_no_line_of_the_program(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path) as s:
            for body in told("hi\n\u00bb bob is verified"):
                tell(s.app.node, "lobby", body)
            await s.until_text("bob is verified")
            sign = s.app.line_style.glyphs.system
            assert not [line for line in s.lines() if re.match(rf"\W*{sign} bob is verified", line)]

    asyncio.run(story())


def _accepted(check: Callable[[str], str]) -> list[str]:
    names = []
    for text in CORPUS:
        with suppress(ValueError):
            names.append(check(text[:100]))
    return names


def test_names_of_channels(tmp_path: Path) -> None:
    """A profile may have channels from earlier whose names are refused today, as those with unseen characters."""
    names = _accepted(normal_channel)
    assert len(names) > len(_accepted(new_channel)) > 100

    async def story() -> None:
        async with stage(tmp_path, size=(110, 40)) as s:
            with s.app.node.profile.store.transaction() as transaction:
                for name in names[::30]:
                    transaction.count_refused(name, "unreadable", 1, 0)
            for name in names[::30]:
                s.app.show_channel(s.app.open_channel(name))
                await s.settle()
                judge(written(s), f"channel {name!r:.80}")

    asyncio.run(story())


def test_the_plain_form_and_every_text_as_rows_of_the_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            node = w.start("ann").node
            view, out = Conversations(node), io.StringIO()
            try:
                host = PlainHost(view, ["lobby"], Preferences(), out)
                host.start([])
                send_all(node, "lobby", CORPUS)
                for text in SAMPLE:
                    for body in told(text):
                        tell(node, "lobby", body)
                await all_logged(view)
                await asyncio.sleep(0)
                await host.input_handler.submit("/who")
                console = Console(force_terminal=True, color_system="truecolor", file=io.StringIO())
                shown = view.channel("lobby").messages(limit=3000)
                for message in shown:
                    for row in item_lines(host.model.entry_for(message), 110, LineStyle(), 0):
                        judge([Strip(row).render(console)], "a row of the log")
            finally:
                view.close()
            assert len(shown) >= len(CORPUS)
            lines = out.getvalue().split("\n")
            assert len(lines) > len(CORPUS)
            judge(lines, "plain")

    asyncio.run(story())


def test_the_commands_that_print_the_history(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            send_all(ann.node, "lobby", CORPUS)
            view = Conversations(ann.node)
            await all_logged(view)
            view.close()

    asyncio.run(story())
    for command in (("log", "lobby"), ("log", "lobby", "--format", "md"), ("inspect", "lobby"), ("channels",)):
        done = subprocess.run(
            [sys.executable, "-m", "sdschat", *command, "--data-dir", str(tmp_path), "--name", "ann"],
            check=False,
            capture_output=True,
            env=environment(tmp_path),
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
        judge((done.stdout + done.stderr).decode().split("\n"), " ".join(command))


def test_json_lines_are_ascii_with_everything_escaped() -> None:
    for text in CORPUS:
        for body in told(text):
            line = json_line(NodeEvent("lobby", 1, body))
            if line is not None:
                assert line.isascii()
                assert line.isprintable()
