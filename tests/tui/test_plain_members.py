"""Members' channels line by line: every post, edit and deletion is written when it comes."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from sdschat.node.events import Knocked, MemberStatusChanged, NodeEvent, PostSaid
from sdschat.node.members.opening import install
from sdschat.node.node import Node
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import create, members_of
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.preferences import Preferences
from tests.node.worlds import world
from tests.tui.plain_lines import Lines
from tests.tui.test_members import SHORT


def _founded(node: Node) -> None:
    install(node)
    create(node, "garden")


def _told(folder: Path, story: Callable[[Lines], Awaitable[None]], *, founds: bool = True) -> None:
    """Let ann read the channel without a screen; bob is a bare node. One of them makes it, and lets the other in."""

    async def run() -> None:
        async with world(folder) as place:
            makers = {"ann": _founded, "bob": install} if founds else {"ann": install, "bob": _founded}
            first, second = ("bob", "ann") if not founds else ("ann", "bob")
            members = {first: place.start(first, "garden", changes=SHORT, before=makers[first])}
            members[second] = place.start(second, "garden", changes=SHORT, before=makers[second])
            view, out = Conversations(members["ann"].node), io.StringIO()
            host = PlainHost(view, ["garden"], Preferences(), out)
            host.start()
            try:
                await story(Lines(host, out, members["bob"]))
            finally:
                view.close()

    asyncio.run(run())


async def _let_in(s: Lines) -> None:
    await s.until("bob (")
    assert await s.enter("/invite bob")
    me = s.bob.node.sender_id
    await s.bob.until(MemberStatusChanged, lambda told: told.sender_id == me and told.status == "member")


def test_a_post_without_a_connection_says_that_it_is_here_alone(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await _let_in(s)
        assert await s.enter("to begin with")  # what is written before all know of bob waits
        await s.until("settled: your message")
        assert await s.enter("/fault offline")
        await s.until("offline on purpose")
        assert await s.enter("still here")
        line = await s.until(": still here")  # queued, until the state of the post comes
        assert re.search(r" ann \((queued|written here)\): still here$", line), line
        assert await s.enter("/fault online")
        assert (await s.until(", still here")).startswith("* settled: your message ")

    _told(tmp_path, story)


def test_posts_edits_deletions_and_states_are_written_when_they_come(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await _let_in(s)
        said = s.bob.node.say("garden", "welcome ann, read me")
        assert (await s.until("read me")).endswith("bob (to you): welcome ann, read me")
        assert await s.enter("thank you")
        assert (await s.until(": thank you")).partition(" ")[2].startswith("ann")
        assert (await s.until("settled: your message")).endswith(", thank you")
        members_of(s.bob.node, "garden").edit(said, "welcome\n* ann is put out")
        assert await s.until("edited: welcome") == "* bob edited: welcome"
        assert "    * ann is put out" in s.text().splitlines()
        before = len(s.text())
        members_of(s.bob.node, "garden").delete(said)
        assert "bob deleted a post of their own: it is out of the log" in await s.until("deleted a post")
        assert "welcome" not in s.text()[before:]
        other = s.bob.node.say("garden", "off topic")
        await s.until("off topic")
        assert await s.enter(f"/delete {other[:8]} yes")
        await s.until("ann deleted a post of bob")
        assert s.text().count(": thank you") == 1
        await s.until(" gone from the disk here")
        assert "settled up to here" not in s.text()
        assert await s.enter("/checkpoint")
        assert "operations behind it" in await s.until("* checkpoint: ")

    _told(tmp_path, story)


def test_who_and_info_say_who_made_the_channel_to_one_who_was_let_in(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("you knock")
        assert await s.enter("/who")
        assert "bob made this channel." in s.text()
        assert (await s.until("  ann  ")).endswith("  you")
        assert (await s.until("  bob  ")).endswith(", creator")
        await s.bob.until(Knocked)
        members_of(s.bob.node, "garden").invite("ann")
        await s.until("you are a member")
        s.bob.node.say("garden", "come in")
        await s.until(": come in")
        before = len(s.text())
        assert await s.enter("/who")
        told = s.text()[before:].splitlines()
        assert [line.rpartition(", ")[2] for line in told[1:3]] in (["creator", "member"], ["member", "creator"])
        assert told[-1] == "* bob made this channel."
        assert await s.enter("/search come")
        assert await s.enter("/info")
        assert (await s.until("role  ")).split()[-1] == "creator"

    _told(tmp_path, story, founds=False)


def test_what_waits_for_the_admission_is_written_once(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.until("you knock")
        assert await s.enter("let me in")
        assert (await s.until(": let me in")).endswith("(queued): let me in")
        await s.bob.until(Knocked)
        members_of(s.bob.node, "garden").invite("ann")
        await s.bob.until(PostSaid, lambda told: told.post.text == "let me in")
        await s.until("settled: your message")
        assert s.text().count(": let me in") == 1

    _told(tmp_path, story, founds=False)


def test_a_late_post_is_written_when_it_comes_and_says_so(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await _let_in(s)
        said = s.bob.node.say("garden", "an old word")
        told = await s.bob.until(PostSaid, lambda one: one.post.message_id == said)
        await s.until(": an old word")
        post = told.post._replace(own=False)
        s.host.hear(NodeEvent("garden", s.host.view.now().wall, PostSaid(post, True, "live")))
        assert any(line.endswith("bob (late): an old word") for line in s.text().splitlines())

    _told(tmp_path, story)
