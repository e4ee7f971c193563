"""The chat line by line: everything in words, and no text that looks like a line of the program."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from sdschat.node.events import ConnectionChanged, MessageDelivered, NodeEvent
from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.plain.lines import StateLines
from tests.tui.plain_lines import Lines, plain


def test_messages_states_and_people_come_as_lines(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        assert await s.enter("hello")
        line = await s.until("your message")
        assert line.startswith("* ")
        assert "acked 1: your message " in line or "perhaps 1: your message " in line
        assert line.endswith(", hello")
        assert (await s.until("bob is here")).startswith("* ")
        assert (await s.until("hello")).partition(" ")[2].startswith("ann")

    plain(tmp_path, story)


def test_that_nobody_has_a_message_is_said_once_after_some_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was said, which looks as if it had arrived."""
    monkeypatch.setattr("sdschat.tui.plain.host._SILENT", 0.05)

    async def story(s: Lines) -> None:
        await s.until("bob is here")
        await s.bob.node.close(0.1)
        await s.until("bob is gone")
        await s.enter("anybody there")
        told = await s.until("so it waits")
        assert re.fullmatch(r"\* nobody else is here, so it waits: your message [0-9a-f]{4}, anybody there", told)
        await s.enter("hello")
        await asyncio.sleep(0.2)  # what is told of the second one is due after 0.05
        assert s.text().count("so it waits") == 1

    plain(tmp_path, story)


def test_own_lines_name_their_channel_where_more_than_one_is_open(tmp_path: Path) -> None:
    """After /join and a line of the other channel one could not see where one's own line went."""

    async def story(s: Lines) -> None:
        await s.enter("one channel")
        assert (await s.until("one channel")).partition(" ")[2].startswith("ann")
        await s.enter("/join dev")
        assert "* You write in dev now." in s.text()
        s.bob.node.send("lobby", "are you there?")
        assert "[lobby] bob" in await s.until("are you there?")
        await s.enter("where does this go")
        assert "[dev] ann: " in await s.until("where does this go")
        await s.enter("/go lobby")
        assert "* You write in lobby now." in s.text()
        await s.enter("/legend")
        assert "[dev] before a name" in s.text()

    plain(tmp_path, story)


def test_a_state_is_told_once_and_again_when_everybody_here_has_the_message() -> None:
    told, present = StateLines(), ("bob", "carol", "dora")

    def words(phase: Phase, *known: str, perhaps: str = "") -> str:
        fate = Fate(phase, frozenset(known), frozenset(filter(None, [perhaps])), addressed=frozenset(present))
        return told.words("m1", fate, present)

    assert words(Phase.UNACKED) == ""
    assert words(Phase.MAYBE, perhaps="bob") == "perhaps 1"
    assert words(Phase.MAYBE, perhaps="carol") == ""
    assert words(Phase.ACKED, "bob") == "acked 1"
    assert words(Phase.ACKED, "bob", perhaps="carol") == ""
    assert words(Phase.ACKED, "bob", "carol") == ""
    assert words(Phase.ACKED, "bob", "carol", "dora") == "acked 3, by everybody here"
    assert words(Phase.ACKED, "bob", "carol", "dora") == ""
    assert StateLines().words("m2", Fate(Phase.ACKED, frozenset({"bob"})), ("bob",)) == "acked 1"


def test_what_goes_from_right_to_left_leaves_the_rest_of_the_line_in_place(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.rename("\u05e2\u05de\u05d9")
        s.bob.node.send("lobby", "\u05e9\u05dc\u05d5\u05dd 12\nand\n\u05e9 3")
        line = await s.until(" 12")
        assert "\u2068\u05e2\u05de\u05d9\u2069" in line
        assert line.endswith(": \u2068\u05e9\u05dc\u05d5\u05dd 12\u2069")
        assert "\n    and\n    \u2068\u05e9 3\u2069\n" in s.text()
        await s.until("\u2068\u05e2\u05de\u05d9\u2069 is here")

    plain(tmp_path, story)


def test_the_start_says_who_one_is_and_an_answer_has_no_empty_lines(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("You are ann. ")
        assert await s.enter("hello")
        await s.until("your message")
        assert await s.enter("/info")
        assert "bob is known to have it." in (await s.until("known to have it"))
        assert "*" not in [line.strip() for line in s.text().splitlines()]

    plain(tmp_path, story)


def test_no_message_looks_like_a_line_of_the_program(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("lobby", "hi\n* bob is verified\n\x1b[2J* gone")
        await s.until("is verified")
        assert not any(line.startswith("* bob is verified") for line in s.text().splitlines())
        assert "    * bob is verified" in s.text().splitlines()
        assert "\x1b" not in s.text()

    plain(tmp_path, story)


def test_lines_of_another_channel_name_it(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("dev", "over here")
        assert "[dev] " in await s.until("over here")
        assert await s.enter("/go dev")
        assert await s.enter("said in dev")
        told = await s.bob.until(MessageDelivered, lambda told: told.said.opened.text == "said in dev")
        assert told.said.message.channel_id == "dev"

    plain(tmp_path, story, "lobby", "dev")


def test_the_command_runs_for_what_is_to_the_user(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.host.preferences.notify_command = ["/nowhere/hook"]
        s.bob.node.send("lobby", "for all")
        await s.until("for all")
        assert "/nowhere/hook" not in s.text()
        s.bob.node.send("lobby", "ann: for you")
        await s.until("notify_command /nowhere/hook cannot be started")

    plain(tmp_path, story)


def test_a_message_that_names_the_user_says_so(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("lobby", "for all")
        assert "to you" not in await s.until("for all")
        s.bob.node.send("lobby", "ann: for you")
        assert " bob (to you): ann: for you" in await s.until("for you")

    plain(tmp_path, story)


def test_a_lost_connection_is_one_line_for_all_channels_in_sentences(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        def change(state: str, at: int, why: str = "", detail: str = "", retry_at: int = 0) -> str:
            before = len(s.text())
            for channel in ("lobby", "dev"):
                body = ConnectionChanged(state, "mqtt://a:1", why, detail, retry_at)
                s.host.hear(NodeEvent(channel, at, body))
            return s.text()[before:]

        await s.until("connected")
        now = s.host.view.now().wall
        gone = change("disconnected", now, "connection_lost", "The connection was lost.", now + 1000)
        assert gone == (
            "* offline: The connection was lost. What you write is kept. It is tried again by itself; /reconnect tries "
            "now.\n"
        )
        assert change("connecting", now) == ""
        assert change("disconnected", now, "connection_lost", "The connection was lost.", now + 2000) == ""
        still = "* still offline: Is it running?\n"
        assert change("disconnected", now, "unreachable", "Is it running?", now + 3000) == still
        assert change("connected", now + 61_000) == "* connected, after 1m offline\n"
        assert s.text().splitlines().count("* connected") == 1

    plain(tmp_path, story, "lobby", "dev")


def test_states_are_words_without_signs(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        assert await s.enter("hello")
        await s.until("acked 1: your message")
        assert await s.enter("/why")
        sent = [" ".join(line.split()) for line in s.text().splitlines() if "acked, sent" in line]
        assert [line.partition("sent ")[0] for line in sent] == ["* acked, "], sent  # once, or more often if it is slow
        assert await s.enter("/fault offline")
        await s.until("offline on purpose.")
        assert await s.enter("not now")
        await s.until("(queued): not now")
        assert await s.enter("/why")
        assert "* queued, not sent yet" in [" ".join(line.split()) for line in s.text().splitlines()]
        before = len(s.text())
        assert await s.enter("/outbox")
        assert re.search(r"\* +[0-9a-f]{4} queued, written", s.text()[before:])

    plain(tmp_path, story)


def test_a_machine_that_slept_is_told_of(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        assert s.host.workspace._awake is not None
        s.host.workspace._awake -= 38 * 60_000
        assert re.search(r"^\* asleep from [\w :]+ to [\d:]+ \(38m\)$", await s.until("asleep"))

    plain(tmp_path, story)
