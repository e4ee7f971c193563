"""People line by line: who comes and goes, nicks, invites, strangers, and what is for one alone."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path

import pytest

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.node.events import DirectSaid, NodeEvent, PresenceChanged
from sdschat.node.sync.extension import sync_extension
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.user_texts import silent_nicks
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.preferences import Preferences
from tests.node.privately import creator, link_of
from tests.node.test_strangers import CROWD, LATE, MORE, nick_of, say
from tests.node.worlds import PATIENCE, world
from tests.tui.plain_lines import Lines, plain


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


def test_who_joins_by_a_link_reads_of_no_trouble(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as place:
            ann, _ = creator(place)
            view, out = Conversations(place.start("bob").node), io.StringIO()
            PlainHost(view, [link_of(ann)], Preferences(), out).start()
            async with asyncio.timeout(PATIENCE):
                while "bob joined the channel" not in out.getvalue():
                    await asyncio.sleep(0.01)
            view.close()
            assert "trouble" not in out.getvalue()

    asyncio.run(told())
