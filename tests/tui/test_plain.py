"""The chat line by line: everything in words, and no text that looks like a line of the program."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.node.events import CatchingUp, ConnectionChanged, DirectSaid, MessageDelivered, NodeEvent, PresenceChanged
from sdschat.node.sync import extension
from sdschat.node.sync.extension import sync_extension
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.user_texts import silent_nicks
from sdschat.tui.manual import TOPICS
from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.plain.lens import SHOWN_AT_START
from sdschat.tui.plain.lines import StateLines
from sdschat.tui.preferences import Preferences
from tests.node.test_strangers import CROWD, LATE, MORE, nick_of, say
from tests.node.worlds import PATIENCE, Member, world


class Lines:
    """Ann at the application without a screen, bob as a bare node."""

    def __init__(self, host: PlainHost, out: io.StringIO, bob: Member) -> None:
        self.host = host
        self.bob = bob
        self._out = out

    async def enter(self, text: str) -> bool:
        return await self.host.input_handler.submit(text)

    def text(self) -> str:
        return self._out.getvalue()

    async def until(self, text: str) -> str:
        """Return the line with this text."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.text():
                await asyncio.sleep(0.01)
        return next(line for line in self.text().splitlines() if text in line)


def plain(folder: Path, story: Callable[[Lines], Awaitable[None]], *channels: str) -> None:
    async def told() -> None:
        async with world(folder) as place:
            wanted = channels or ("lobby",)
            bob, ann = (place.start(name, *wanted, before=extension.install) for name in ("bob", "ann"))
            view, out = Conversations(ann.node), io.StringIO()
            host = PlainHost(view, wanted, Preferences(), out)
            host.start()
            try:
                await story(Lines(host, out, bob))
            finally:
                view.close()

    asyncio.run(told())


def test_an_invite_is_written_once(tmp_path: Path) -> None:
    async def story(lines: Lines) -> None:
        await lines.enter("/create garden")
        await lines.enter("/invite 2 7d")
        assert lines.text().count("sdschat:") == 1
        (link,) = [line for line in lines.text().splitlines() if "sdschat:" in line]
        assert link.startswith("    sdschat:")
        assert not {"\u2588", "\u2580", "\u2584"} & set(lines.text()), "a picture is read out sign by sign"

    plain(tmp_path, story)


def test_who_comes_by_an_invite_is_named_at_once_and_never_by_an_id(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("/create garden")
        await s.enter("/invite")
        link = next(line.strip() for line in s.text().splitlines() if "sdschat:" in line)
        s.bob.node.join(link)
        await s.until("bob joined the channel")
        async with asyncio.timeout(PATIENCE):
            while s.text().count("bob is here") < 2:  # in lobby, and in the new channel
                await asyncio.sleep(0.01)
        assert not re.search("<[0-9a-f]+> is", s.text())

    plain(tmp_path, story)


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
        await asyncio.sleep(0)
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


def test_who_comes_without_a_nick_is_told_once_and_named_later(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("bob is here")
        for nick, online in (("", True), ("fay", True), ("fay", True), ("fay", False)):
            s.host.hear(NodeEvent("lobby", s.host.view.now().wall, PresenceChanged("f" * 32, nick, online)))
        told = [line for line in s.text().splitlines() if "fay" in line or "ffff" in line]
        assert told == ["* <ffffffff> is here", "* <ffffffff> is fay", "* fay is gone"]

    plain(tmp_path, story)


def test_the_nick_of_who_said_nothing_is_there_in_the_next_run(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        ann, bob = s.host.node, s.bob.node
        async with asyncio.timeout(PATIENCE):
            while bob.sender_id not in ann.sessions["lobby"].channel.state.peers.known:
                await asyncio.sleep(0.01)
        assert silent_nicks(ann.profile.store.value, "lobby") == {}
        await bob.close(0.1)
        await s.until("bob is gone")
        assert silent_nicks(ann.profile.store.value, "lobby") == {bob.sender_id: "bob"}

    plain(tmp_path, story)


def test_what_was_read_before_one_wrote_is_read_after_a_kill_too(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for text in ("one", "two"):
            s.bob.node.send("lobby", text)
            await s.until(f": {text}")
        assert s.host.conversation.unread() == 2
        assert await s.enter("read both")
        assert s.host.conversation.unread() == 0, "as the next run reads it"

    plain(tmp_path, story)


def test_leaving_keeps_the_nicks_of_those_who_said_nothing(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        ann, bob = s.host.node, s.bob.node
        async with asyncio.timeout(PATIENCE):
            while bob.sender_id not in ann.sessions["lobby"].channel.state.peers.known:
                await asyncio.sleep(0.01)
        s.host.save()
        assert silent_nicks(ann.profile.store.value, "lobby") == {bob.sender_id: "bob"}

    plain(tmp_path, story)


def test_members_is_another_name_of_who(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("bob is here")
        assert await s.enter("/members")
        assert "2 here, 2 known" in s.text()

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
    """Who joined a channel of 30,000 messages had all of them read out, and what was said now was in between."""

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


def test_another_nick_is_told_once(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("lobby", "as bob")
        await s.until("as bob")
        await s.until("bob is here")
        s.bob.node.rename("rob")
        await s.until("bob is now known as rob")
        s.bob.node.send("lobby", "as rob")
        await s.until("as rob")
        told = [line for line in s.text().splitlines() if "bob is" in line]
        assert told == ["* bob is here", "* bob is now known as rob"]

    plain(tmp_path, story)


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


def test_strangers_wait_on_one_line_and_what_they_said_is_written_once_they_are_opened(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for key in CROWD:
            say(s.host.node.sessions["lobby"], key, f"I am {nick_of(key)}")
        await s.until(f"{MORE} senders more")
        assert s.text().count("I am nick") == PEOPLE_A_MINUTE
        assert await s.enter("/strangers open all")
        await s.until(f"I am {nick_of(LATE[-1])}")
        assert s.text().count("I am nick") == len(CROWD)

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


def test_what_is_for_one_alone_says_so_both_ways(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("bob is here")
        assert await s.enter("/msg bob only for you")
        assert (await s.until("only for you")).endswith("ann: only for you")
        told = await s.bob.until(DirectSaid, lambda said: not said.own)
        assert told.opened.text == "only for you"
        await s.until("acked 1: your message")
        assert await s.enter("/go lobby")
        sync_extension(s.bob.node, "lobby").direct.send(s.host.node.sender_id, "got it")
        assert "[@bob] bob" in await s.until("got it")
        await s.until("* Only you and bob read that. /msg bob TEXT answers.")

    plain(tmp_path, story)


def test_silence_about_a_message_for_one_alone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.tui.plain.host._SILENT", 0.01)

    async def story(s: Lines) -> None:
        await s.until("bob is here")
        assert await s.enter("/msg bob hello")
        await s.until("acked 1: your message")
        await s.bob.node.close(0.1)
        await s.until("bob is gone")
        assert await s.enter("are you there?")
        waits = await s.until("so it waits")
        assert "bob is not here, so it waits: your message" in waits
        assert "are you there?" in waits

    plain(tmp_path, story)


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


def test_a_hit_is_written_without_what_follows_it(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        for text in ("a rope is here", "and something else"):
            await s.enter(text)
        await s.until("something else")
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


def test_who_alone_reads_is_said_when_a_conversation_of_two_is_shown(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        s.bob.node.send("lobby", "hello")
        await s.until("hello")
        await s.enter("/msg bob a secret")
        await s.until("Only bob reads what you write now. /go lobby shows lobby again.")
        before = len(s.text())
        await s.enter("/go lobby")
        assert "Only bob" not in s.text()[before:]

    plain(tmp_path, story)


def test_a_machine_that_slept_is_told_of(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        assert s.host.desktop._awake is not None
        s.host.desktop._awake -= 38 * 60_000
        assert re.search(r"^\* asleep from [\d:]+ to [\d:]+ \(38m\)$", await s.until("asleep"))

    plain(tmp_path, story)
