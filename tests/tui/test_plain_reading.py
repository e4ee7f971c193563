"""Reading the log line by line: what is unread, searches, jumps, and going on from there."""

from __future__ import annotations

import re
from pathlib import Path

from sdschat.node.events import CatchingUp, MessageDelivered, NodeEvent
from sdschat.tui.plain.lens import SHOWN_AT_START
from tests.tui.plain_lines import Lines, plain


def test_what_was_read_before_one_wrote_is_read_after_a_kill_too(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for text in ("one", "two"):
            s.bob.node.send("lobby", text)
            await s.until(f": {text}")
        assert s.host.conversation.unread() == 2
        assert await s.enter("read both")
        assert s.host.conversation.unread() == 0, "as the next run reads it"

    plain(tmp_path, story)


def test_a_history_that_came_names_what_is_to_the_user(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("lobby", "where are you, ann?")
        told = await s.bob.until(MessageDelivered)
        said = told.said._replace(own=False)
        now = s.host.view.now().wall
        for body in (
            CatchingUp("loading", 0, 1, "f" * 32, "fay", 0),
            MessageDelivered(said, False, (), "store"),
            CatchingUp("done", 1, 1, "f" * 32, "fay", 0),
        ):
            s.host.hear(NodeEvent("lobby", now, body))
        assert "* what was said before is here: 1 message, 1 to you: /mentions lists them" in s.text()

    plain(tmp_path, story)


def test_a_long_history_is_not_written_message_by_message(tmp_path: Path) -> None:
    """All of 30,000 messages were read out to a new participant, with what was said meanwhile in between."""

    async def story(s: Lines) -> None:
        now = s.host.view.now().wall
        s.bob.node.join("elsewhere")  # where ann does not hear bob

        async def come(text: str, via: str) -> None:
            s.bob.node.send("elsewhere", text)
            told = await s.bob.until(MessageDelivered, lambda told: told.said.opened.text == text)
            s.host.hear(NodeEvent("lobby", now, MessageDelivered(told.said._replace(own=False), False, (), via)))

        s.host.hear(NodeEvent("lobby", now, CatchingUp("loading", 0, 900, "f" * 32, "fay", 0)))
        await come("from the history", "sync")
        await come("said just now", "live")
        s.host.hear(NodeEvent("lobby", now, CatchingUp("done", 900, 900, "f" * 32, "fay", 0)))
        await come("a straggler", "sync")
        assert "from the history" not in s.text()
        assert "said just now" in s.text()
        assert "what was said before is here: 900 messages; /end lists the last ones" in s.text()
        assert "a straggler" in s.text()
        assert s.host.model.unread_line.unread == 1, "what was not written is not read"

    plain(tmp_path, story)


def test_a_short_history_is_told_too_once_it_is_here(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for state in ("waiting", "loading", "done", "done"):
            s.host.hear(NodeEvent("lobby", s.host.view.now().wall, CatchingUp(state, 9, 9, "f" * 32, "fay", 0)))
        assert s.text().count("* what was said before is here: 9 messages") == 1

    plain(tmp_path, story)


async def _news(s: Lines) -> None:
    """Let 15 more messages come into another channel than are written at first, and go there."""
    for number in range(SHOWN_AT_START + 15):
        s.bob.node.send("dev", f"news {number}.")
    await s.until(f"news {SHOWN_AT_START + 14}.")
    assert await s.enter("/go dev")


def test_what_was_not_written_here_stays_unread(tmp_path: Path) -> None:
    """Twenty are written at first. The others were read for the next run, though nobody had heard them."""

    async def story(s: Lines) -> None:
        await _news(s)
        await s.until("15 unread above these: /unread")
        s.bob.node.send("dev", "one more")
        await s.until("one more")
        s.host.save()
        assert s.host.conversation.unread() == SHOWN_AT_START + 16, "the line goes below the first of them"
        assert await s.enter("/unread")
        assert s.host.model.unread == 5
        assert await s.enter("/more")
        assert s.host.model.unread == 0
        s.host.save()
        assert s.host.conversation.unread() == 0

    plain(tmp_path, story, "lobby", "dev")


def test_the_end_of_the_log_counts_all_as_read(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await _news(s)
        assert s.host.model.unread == 15
        assert await s.enter("/end")
        assert s.host.model.unread == 0

    plain(tmp_path, story, "lobby", "dev")


def test_a_list_of_hits_says_how_to_come_to_one(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("find me")
        await s.enter("find me too")
        await s.until("find me too")
        assert await s.enter("/search find")
        assert await s.enter("/hits")
        await s.until("/hit N jumps to one")
        assert await s.enter("/hit 2")
        await s.until("hit 2 of 2")
        assert not await s.enter("/hit second")

    plain(tmp_path, story)


def test_who_has_jumped_reads_on_and_back_by_a_command(tmp_path: Path) -> None:
    """Ten messages were listed, and no command led to the next ones, or to those around a hit."""

    async def story(s: Lines) -> None:
        for number in range(40):
            s.host.node.send("lobby", f"number {number:02}")
        await s.until("number 39")

        async def listed(line: str) -> str:
            before = len(s.text())
            await s.enter(line)
            return " ".join(re.findall(r"number (\d+)", s.text()[before:]))

        def numbers(low: int, high: int) -> str:
            return " ".join(f"{number:02}" for number in range(low, high))

        assert await listed("/more back") == numbers(10, 20), "those above the ones that the start lists"
        assert await listed("/start") == numbers(0, 10)
        await s.until("* /more lists what follows, /more back what stands before it.")
        assert await listed("/more") == numbers(10, 20)
        assert await listed("/more") == numbers(20, 30)
        assert await listed("/more back") == numbers(10, 20)
        assert await listed("/search 27") == "27"
        assert await listed("/more") == numbers(28, 38)
        assert await listed("/more") == numbers(38, 40)
        assert not await s.enter("/more")
        await s.until("That was the newest message that is here.")
        assert not await s.enter("/more please")
        assert s.text().count("/more lists what follows") == 1

    plain(tmp_path, story)


def test_an_answer_names_what_it_answers(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        asked = s.bob.node.send("lobby", "what time is it?")
        await s.until("what time")
        assert await s.enter(f"/reply {asked.message_id[:8]} noon")
        assert "answers bob" in await s.until("noon")

    plain(tmp_path, story)


def test_messages_that_are_listed_have_ids_by_which_they_are_answered(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("/reply what")
        assert "/end lists the last ones with ids" in s.text()
        assert "Alt+Up" not in s.text()
        message_id = s.bob.node.send("lobby", "who has the rope?").message_id
        assert message_id[:4] not in await s.until("who has the rope?")
        await s.enter("/end")
        assert f"bob ({message_id[:4]}, new key): who has the rope?" in s.text()
        await s.enter(f"/reply {message_id[:4]} I have")
        await s.until("answers bob")
        await s.enter("/search rope")
        assert "/hit older, /hit back newer" in s.text()

    plain(tmp_path, story)


def test_a_hit_is_written_without_what_follows_it(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for text in ("a rope is here", "and something else"):
            await s.enter(text)
        await s.until(", and something else")  # acked: another line of it would come later
        before = len(s.text())
        await s.enter("/search rope")
        told = s.text()[before:]
        assert "a rope is here" in told
        assert "something else" not in told

    plain(tmp_path, story)


def test_a_hit_is_meant_until_the_next_message_or_the_end_and_commands_say_what_they_mean(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        said = s.bob.node.send("lobby", "a rope is here").message_id[:4]
        await s.until("a rope is here")
        for leaves in ("mine", "/end"):
            await s.enter("/search rope")
            await s.enter("/copy")
            assert f"* The message {said} by bob:" in s.text()
            await s.enter("/copy id")
            assert f"* The id of message {said} by bob:" in s.text()
            before = len(s.text())
            await s.enter("/why")
            assert f"* message {said}" in s.text()[before:]
            assert await s.enter(leaves)
            await s.until(": mine")
            before = len(s.text())
            await s.enter("/why")
            assert "by you" in s.text()[before:].splitlines()[0]
            await s.enter("/reply yes")
            assert "No message is chosen" in s.text()[before:]
        await s.enter(f"/reply {said} I see it")
        assert f"* this answers message {said} by bob: a rope is here" in s.text()

    plain(tmp_path, story)
