"""Members' channels on the screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from sdschat.node.events import (
    CheckpointPassed,
    Knocked,
    MembersChanged,
    MemberStatusChanged,
    NodeEvent,
    PostRewritten,
    PostSaid,
)
from sdschat.node.members.opening import install
from sdschat.node.node import Node
from sdschat.node.settings import Value
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import create
from sdschat.tui.lens.inspector import LensInspector
from sdschat.tui.manual import SIGNS, rows_of
from sdschat.tui.model.items import NoteItem
from sdschat.tui.model.words import UNICODE
from tests.node.worlds import Member, world
from tests.tui.stage import Stage, stage

SHORT: dict[str, Value] = {
    "timber.heartbeat": 100,
    "timber.stagger": 30,
    "timber.retry": 200,
    "timber.sync_interval": 200,
}


@contextlib.asynccontextmanager
async def _garden(folder: Path, size: tuple[int, int] = (100, 34)) -> AsyncIterator[tuple[Stage, Member]]:
    """ann at the application in a channel that she made, and bob, who was let in."""
    async with stage(folder, "ann", "lobby", size=size, changes=SHORT, extends=install) as made:
        await made.enter("/create garden members")
        await made.until_text("you are its first member")
        bob = made.world.start("bob", "garden", changes=SHORT, before=install)
        await made.until_text("bob (")
        await made.enter("/invite bob")
        assert "bob is invited, and may write once all members know it." in made.text()
        await made.until_text("bob is a member")
        await made.until(lambda: _members(bob.node).engine.me is not None, "bob is let in")
        yield made, bob


def _create(node: Node) -> None:
    install(node)
    create(node, "garden")


def _members(node: Node):  # type: ignore[no-untyped-def]
    found = node.sessions["garden"].members
    assert found is not None
    return found


def _noted(made: Stage, end: str) -> bool:
    """True if a line of the program ends with these words."""
    items = made.app.workspace.models["garden"].timeline.items
    return any(isinstance(one, NoteItem) and one.text.endswith(end) for one in items)


def _told(folder: Path, story: Callable[[Stage, Member], object]) -> None:
    async def run() -> None:
        async with _garden(folder) as (made, bob):
            await story(made, bob)  # type: ignore[misc]

    asyncio.run(run())


def test_the_lens_has_a_post_as_it_reads_now(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        eye = LensInspector(made.app.node, made.app.view)
        made.app.node.listen(eye.hear)

        def text() -> str | None:
            shown = eye._view_input("garden", None, "", 80, UNICODE).message(post)
            return None if shown is None else shown.text

        post = made.app.node.say("garden", "good morning")
        await made.until(lambda: text() == "good morning")
        await made.enter("/edit good evening")
        await made.until(lambda: text() == "good evening (edited)")
        await made.enter("/delete yes")
        await made.until(lambda: text() is None)

    _told(tmp_path, story)


def test_a_post_is_settled_changed_and_taken_back(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.until(lambda: _noted(made, "settled up to here by both"), "there are no posts to count")
        await made.enter("good morning")
        await made.until_text("settled")
        await made.until(lambda: any("good morning" in one and "settled" in one for one in made.log()), "settled")
        await made.press("slash", *"edit", "space", "tab")
        assert made.app.composer.text.strip() == "/edit good morning"
        await made.enter_instead("/edit good evening")
        await made.until_text("good evening (edited)")
        await made.press("slash", *"edit", "space", "tab")
        assert made.app.composer.text.strip() == "/edit good evening"
        (post,) = (one for one in Conversations(made.app.node).channel("garden").messages() if one.own)
        begun = f"/edit {post.message_id[:2]} "  # no id for the command, which takes it for a text
        made.app.composer.put(begun)
        await made.press("tab")
        assert made.app.composer.text == begun
        made.app.composer.put("")
        await made.enter("/delete")
        assert "would be taken back" in made.text()
        await made.enter_instead("/delete yes")
        await made.until(lambda: "good evening" not in "\n".join(made.log()), "the post is gone")
        past = made.app.composer.input_history.texts
        assert not any("good morning" in text or "good evening" in text for text in past)
        assert past[-2:] == ["/delete", "/delete yes"]
        await made.until_text("settled up to here by both")
        assert "there is no post here now" in made.text()
        assert "no message is here" not in made.text()
        await made.until(
            lambda: _noted(made, "became 0 posts; since the start 1 deleted post gone from the disk here"), "it"
        )
        await made.until(lambda: _noted(made, "it is out of the log, and off the disk here"), "its line says so too")
        assert not _noted(made, "off the disks once settled")

    _told(tmp_path, story)


def test_who_and_info_say_who_made_the_channel_and_who_is_a_member(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        bob.node.say("garden", "good morning")
        await made.until_text("good morning")
        await made.enter("/who")
        await made.until_text("you made this channel.")
        assert [line.strip(" │").rpartition(", ")[2] for line in made.lines() if "  ann  " in line] == ["creator"]
        assert [line.strip(" │").rpartition(", ")[2] for line in made.lines() if "  bob  " in line] == ["member"]
        await made.press("escape")
        await made.press("alt+up")
        await made.enter("/info")
        await made.until_text("role     member")

    _told(tmp_path, story)


def test_what_members_wrote_while_one_was_gone_is_new_as_in_other_channels(tmp_path: Path) -> None:
    """It came in below what had been read, without a line above it and a number in the head."""

    async def run() -> None:
        async with _garden(tmp_path) as (made, bob):
            bob.node.say("garden", "read")
            await made.until(lambda: any("read" in line and "bob" in line for line in made.log()), "the first")
            await made.enter("good night")
            await made.until_text("settled")
            made.app._keep()
        texts = [f"number {number}" for number in range(20)] + ["the last, ann"]
        async with world(tmp_path) as place:
            bob = place.start("bob", "garden", changes=SHORT, before=install)
            for text in texts:
                bob.node.say("garden", text)
            await bob.until(PostSaid, lambda told: told.post.text == texts[-1])
        async with stage(tmp_path, "ann", "garden", size=(100, 18), changes=SHORT, extends=install) as made:
            made.world.start("bob", "garden", changes=SHORT, before=install)
            await made.until_text("the last, ann")
            await made.until_text(" new: Alt+U")
            await made.press("alt+u")
            log = made.log()
            line, first = (next(at for at, row in enumerate(log) if text in row) for text in ("─ new ─", "number 0"))
            assert first == line + 1

    asyncio.run(run())


def test_a_late_post_that_nobody_looks_at_is_unread(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        said = bob.node.say("garden", "an old word")
        told = await bob.until(PostSaid, lambda one: one.post.message_id == said)
        await made.until_text("an old word")
        await made.enter("/go lobby")
        model = made.app.workspace.models["garden"]
        assert model.unread == 0
        model.hear(NodeEvent("garden", 0, PostSaid(told.post._replace(own=False), True, "live")), looking=False)
        assert model.unread == 1

    _told(tmp_path, story)


def test_beside_who_has_left_stands_that_they_have(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        _members(bob.node).leave()
        await made.until_text("bob has left")
        await made.until(lambda: any("bob " in line and line.rstrip(" │").endswith("left") for line in made.lines()))

    _told(tmp_path, story)


def test_the_line_below_what_is_settled_stands_above_a_post_that_is_not(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("the first")
        await made.until(lambda: any("the first" in one and "settled" in one for one in made.log()), "settled")
        Injection(made.app.node, "garden").offline(True)
        await made.enter("the second")
        made.app._hear(NodeEvent("garden", made.app.view.now().wall, CheckpointPassed(1, "00", "00", 1, 1, 0, 2)))
        await made.settle()
        rows = made.log()
        settled, second = (
            next(at for at, row in enumerate(rows) if text in row) for text in ("settled up", "the second")
        )
        assert settled < second

    _told(tmp_path, story)


def test_the_end_of_the_program_leaves_no_text_that_was_taken_back(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("a narwhal")
        await made.until(lambda: any("a narwhal" in one and "settled" in one for one in made.log()), "settled")
        await made.enter("/delete yes")
        await made.until(lambda: _noted(made, "1 deleted post gone from the disk here"), "it is gone")

    _told(tmp_path, story)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(b"/create garden" in file.read_bytes() for file in files), "the past of the input is kept"
    assert not [file for file in files if b"narwhal" in file.read_bytes()]


def _founded(node: Node) -> None:
    install(node)
    create(node, "garden")


def test_who_is_let_in_sees_what_was_written_before_and_no_alarm(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, "bob", "lobby", size=(100, 34), changes=SHORT, extends=install) as made:
            ann = made.world.start("ann", "garden", changes=SHORT, before=_founded)
            ann.node.say("garden", "before bob came")
            await ann.until(CheckpointPassed)
            await made.enter("/join garden")
            await made.until_text("you knock, and a member has to invite you")
            await made.enter("may I come in?")
            await made.until(lambda: any("may I come in?" in one and "queued" in one for one in made.log()), "it waits")
            await made.enter("/edit let me in")
            await made.until(lambda: any("let me in" in one and "queued" in one for one in made.log()), "it waits")
            assert "may I come in?" not in made.text()
            await made.enter("a hasty word")
            await made.until_text("a hasty word")
            await made.enter("/delete yes")
            await made.until_text("bob deleted a post of their own: it is out of the log")
            assert not any("a hasty word" in one for one in made.log())
            await ann.until(Knocked)
            _members(ann.node).invite(made.app.node.sender_id)
            await made.until_text("you are a member")
            await made.until_text("before bob came")
            ann.node.say("garden", "welcome")
            await made.until_text("welcome")
            shown = made.text()
            assert not [words for words in ("knock", "went on without you", "was not fetched") if words in shown]

    asyncio.run(run())


def test_posts_of_others_come_and_only_their_authors_change_them(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        message_id = bob.node.say("garden", "I am bob")
        await made.until_text("I am bob")
        await made.enter(f"/edit {message_id[:8]} I am ann")
        await made.until_text("only its author can change a post")

    _told(tmp_path, story)


def test_an_id_that_no_post_has_changes_nothing(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("the first")
        await made.until_text("the first")
        for refused in ("/edit 6db7 hacked", "/edit 6db70564 hacked", "/delete 6db7", "/delete 6db70564 yes"):
            made.app.composer.put("")  # what is refused stays in the input
            await made.enter(refused)
            assert f"No single post here has an id that begins with {refused.split()[1]}." in made.text()
        made.app.composer.put("")
        posts = Conversations(made.app.node).channel("garden").messages()
        assert [post.text for post in posts] == ["the first"]
        await made.enter("/edit 2026 was good")
        await made.until_text("2026 was good")
        await made.enter("/edit face it")
        await made.until_text("face it")

    _told(tmp_path, story)


def test_a_post_of_somebody_else_is_not_asked_about_before_it_is_refused(tmp_path: Path) -> None:
    async def story(folder: Path) -> None:
        async with stage(folder, "bob", "garden", changes=SHORT, extends=install) as made:
            ann = made.world.start("ann", "garden", changes=SHORT, before=_create)
            await ann.until(Knocked)
            _members(ann.node).invite("bob")
            await made.until_text("you are a member")
            message_id = ann.node.say("garden", "of ann")
            await made.until_text("of ann")
            await made.enter(f"/delete {message_id}")
            assert "Not deleted: its author and who made the channel can take a post back." in made.text()

    asyncio.run(story(tmp_path))


def test_a_post_that_nobody_else_has_says_so_and_why(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("the first")
        await made.until(lambda: any("the first" in one and "settled" in one for one in made.log()), "settled")
        await made.enter("/why")
        await made.until_text("All members have it, and it is final.")
        Injection(made.app.node, "garden").offline(True)
        await made.enter("the second")
        await made.until(lambda: any("the second" in one and "written here" in one for one in made.log()), "written")
        await made.enter("/why")
        await made.until_text("so nobody can show now to have it.")

    _told(tmp_path, story)


def test_a_post_answers_another_and_quotes_it_until_it_is_gone(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        asked = bob.node.say("garden", "shall we meet?")
        await made.until_text("shall we meet?")
        await made.enter(f"/reply {asked[:6]} at noon")
        told = await bob.until(PostSaid, lambda one: one.post.text == "at noon")
        assert told.post.reply_to == asked
        await made.until(lambda: made.text().count("shall we meet?") == 2, "the quote")
        _members(bob.node).delete(asked)
        await made.until(lambda: "shall we meet?" not in made.text(), "the post and its quote are gone")
        assert "at noon" in made.text()
        assert "bob is a member" in made.text(), "lines of the program stay"

    _told(tmp_path, story)


def test_posts_that_are_written_again_are_counted_in_one_line(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        model = made.app.workspace.models["garden"]
        for _ in range(2):
            model.hear(NodeEvent("garden", made.app.view.now().wall, PostRewritten("00")), looking=True)
        lines = [item.text for item in model.timeline.items if isinstance(item, NoteItem)]
        assert [line for line in lines if "written again" in line] == ["2 posts of yours written again"]

    _told(tmp_path, story)


def test_the_four_views_show_the_engine(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        made.app.node.say("garden", "one")
        for command, text in (
            ("/tree", "not compacted yet, oldest"),
            ("/clock", "newest operation of each writer"),
            ("/checkpoint", "data set"),
            ("/committee", "committee: 2 members"),
        ):
            await made.enter(command)
            await made.until_text(text[:20])

    _told(tmp_path, story)


def test_the_views_of_members_are_offered_in_their_channels_alone(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.pilot.resize_terminal(220, 50)  # these names have room on the frame
        await made.press("f2")
        await made.until_text("tree  clock")
        await made.enter("/join lobby")
        await made.until(lambda: "tree  clock" not in made.text(), "not offered in lobby")
        assert "Lens" in made.text()

    _told(tmp_path, story)


def test_a_channel_that_is_made_is_told_above_the_input_and_not_in_the_log(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, "ann", "lobby", changes=SHORT, extends=install) as made:
            await made.enter("/create garden members")
            await made.until_text("you are its first member")
            assert not any("first member" in line for line in made.log())

    asyncio.run(run())


def test_who_has_left_is_refused_a_deletion_before_it_is_asked_about(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, "ann", "lobby", changes=SHORT, extends=install) as made:
            await made.enter("/create garden members")
            await made.until_text("you are its first member")
            await made.enter("mine")
            await made.until_text("mine")
            await made.enter("/leave yes")
            await made.until_text("You have left garden")
            await made.enter_instead("/delete")
            await made.until_text("Not deleted: you have left garden")

    asyncio.run(story())


def test_a_channel_of_another_kind_refuses_in_words(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, "ann", "lobby", extends=install) as made:
            for line in ("/edit other", "/delete"):
                await made.enter_instead(line)
                await made.until_text("is no members' channel")

    asyncio.run(run())


def test_who_wants_to_remove_a_member_is_told_how_members_go(tmp_path: Path) -> None:
    """The channel was called an open one."""

    async def story(made: Stage, bob: Member) -> None:
        for command in ("/remove bob", "/ban bob"):
            await made.enter_instead(command)
            await made.until_text("who is silent for long is voted out")
            assert "open channel" not in made.text()

    _told(tmp_path, story)


def test_who_has_left_is_told_what_becomes_of_a_line_and_keeps_none(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("still here")
        await made.until_text("settled")
        await made.enter("/leave")
        assert "You would write nothing more in garden, and still read it." in made.text()
        await made.enter_instead("/leave yes")
        assert "You have left garden: you write nothing more there, and still read it until /part." in made.text()
        await made.until_text("you have left: what you write here is neither kept nor sent.")
        await made.until_text("you have left")
        await made.enter("one more thing")
        assert "Not sent: you have left garden: what you write is neither kept nor sent." in made.text()
        assert "with /invite ann; ask one with /msg" in " ".join(made.text().split())
        assert not _members(made.app.view.node).engine.drafts()
        assert not any("one more thing" in line for line in made.log())
        await bob.until(MemberStatusChanged, lambda one: one.status == "left")
        _members(bob.node).invite(made.app.view.node.sender_id)
        await made.until_text("you are a member")
        await made.enter_instead("back again")
        await made.until(lambda: any("back again" in one and "settled" in one for one in made.log()), "settled")

    _told(tmp_path, story)


def test_who_knocks_is_not_told_that_nobody_has_written_anything(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, "cid", "lobby", changes=SHORT, extends=install) as made:
            made.world.start("ann", "garden", changes=SHORT, before=_garden_of_ann)
            await made.enter("/join garden")
            await made.until_text("what was written here is shown once a member lets you in")
            await made.until(lambda: len(made.app.view.channel("garden").people()) == 2, "ann is here")
            people = made.app.view.channel("garden").people()
            assert not any(one.outside for one in people), "who is a member is not known here yet"
            assert "you knock" in made.text()
            assert "let them in" not in made.text()
            await made.enter("may I?")
            await made.until(lambda: any("may I?" in one and "queued" in one for one in made.log()), "it waits")

    asyncio.run(run())


def test_a_narrow_head_says_that_one_knocks_rather_than_that_nothing_is_missing(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, "cid", "lobby", size=(34, 15), changes=SHORT, extends=install) as made:
            made.world.start("ann", "garden", changes=SHORT, before=_garden_of_ann)
            await made.enter("/join garden")
            await made.until(lambda: "you knock" in made.lines()[0], "the head")

    asyncio.run(run())


def _garden_of_ann(node: Node) -> None:
    install(node)
    create(node, "garden")


def test_a_post_says_who_lacks_it_and_the_signs_explain_its_word(tmp_path: Path) -> None:
    async def story(made: Stage, bob: Member) -> None:
        await made.enter("the first")
        await made.until(lambda: any("the first" in one and "settled" in one for one in made.log()), "settled")
        Injection(bob.node, "garden").offline(True)
        await made.enter("/edit the second")
        await made.until(lambda: any("the second" in one and "written here" in one for one in made.log()), "written")
        await made.press("alt+up")
        await made.until_text("bob has not shown yet to have it: ")
        await made.press("f5")
        await made.until_text("state    written here, posted ")
        for word in ("written here", "known 2 of 3", "settled"):
            assert any(word in row for row in rows_of(SIGNS))

    _told(tmp_path, story)


def test_posts_of_somebody_who_is_muted_are_not_shown(tmp_path: Path) -> None:
    """Only those of open and private channels were left out."""

    async def story(made: Stage, bob: Member) -> None:
        bob.node.say("garden", "ann, some noise")
        await made.until(lambda: "some noise" in "\n".join(made.log()), "the post")
        _mute(made, bob, True)
        await made.until(lambda: "some noise" not in "\n".join(made.log()), "it is hidden")
        made.app.app_focus = False
        before = (made.app.model.unread, made.app.model.mentions)
        bob.node.say("garden", "ann, more noise")
        members = _members(made.app.node)
        await made.until(lambda: any(one.post.text == "ann, more noise" for one in members.log.after((0, ""))), "it")
        await made.settle()
        assert "more noise" not in "\n".join(made.log())
        assert (made.app.model.unread, made.app.model.mentions) == before
        _mute(made, bob, False)
        await made.until(lambda: "more noise" in "\n".join(made.log()), "it is shown again")

    _told(tmp_path, story)


def _mute(made: Stage, bob: Member, muted: bool) -> None:
    """Mute as /mute does, which finds people where direct messages are installed."""
    made.app.node.mute(bob.node.sender_id, muted)
    made.app.workspace.reload()
    made.app.log_view.refresh_rows()


def test_several_are_let_in_with_one_command(tmp_path: Path) -> None:
    """Nobody called "cid, dan" was known, and here were: cid, dan."""

    async def told() -> None:
        async with _garden(tmp_path) as (made, _):
            for nick in ("cid", "dan"):
                made.world.start(nick, "garden", changes=SHORT, before=install)
                await made.until_text(f"{nick} (")
            await made.enter("/invite ,")
            await made.until_text("Nobody called , is known")
            made.app.composer.put("")  # what is refused stays in the input
            await made.enter("/invite cid, dan")
            for nick in ("cid", "dan"):
                await made.until_text(f"{nick} is a member")

    asyncio.run(told())


def test_the_log_says_who_removed_whom_and_calls_them_no_silent_member(tmp_path: Path) -> None:
    """It told of a new key alone, and then that whoever was removed is silent."""

    async def story(made: Stage, bob: Member) -> None:
        ann, model, gone = made.app.node.sender_id, made.app.workspace.models["garden"], "c" * 32
        for body in (
            MembersChanged((ann, bob.node.sender_id), (gone,), bob.node.sender_id),
            MemberStatusChanged(gone, "carol", "silent"),
            MemberStatusChanged(gone, "carol", "evicted"),
            MemberStatusChanged(bob.node.sender_id, "bob", "silent"),
        ):
            model.hear(NodeEvent("garden", 1, body), looking=True)
        told = [one.text for one in model.timeline.items if isinstance(one, NoteItem)]
        assert told[-3:] == [
            f"bob removed {model.name_of(gone)}",
            "carol was put out",
            "bob is silent: the others may put them out",
        ]

    _told(tmp_path, story)
