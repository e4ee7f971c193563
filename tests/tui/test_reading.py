"""Incoming messages: order, gaps, late messages, unread lines, and a view that does not move."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from sdschat.node.events import ConnectionChanged, HandedOver, MessageDelivered, NodeEvent, NotPublished
from sdschat.node.settings import Value
from sdschat.node.tools.fault_injection import Injection
from sdschat.sds.events import MessageResent
from sdschat.sds.values import AckState
from sdschat.tui.model.items import GapItem
from sdschat.tui.model.words import clock
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.tui.model.samples import NOON
from tests.tui.stage import Stage, stage, staged

# Slow enough to see a gap before it closes.
SLOW: dict[str, Value] = {
    "repair.t_min": 60_000,
    "repair.t_max": 120_000,
    "push.enabled": False,
    "sds.sync_interval": 300,
}
# What bob says now is heard again soon, once it may be.
SOON: dict[str, Value] = {"push.grace": 200, "push.delay_min": 100, "push.delay_max": 200}


async def unheard(s: Stage, text: str) -> str:
    """Let bob send a message that carol receives and ann does not."""
    injection = Injection(s.app.node, "lobby")
    injection.partition(s.peers["bob"].node.sender_id, "bob")
    message_id = s.say(text)
    await s.peers["carol"].until(MessageDelivered, lambda told: told.said.opened.text == text)
    return message_id


def texts_in_sight(s: Stage) -> list[str]:
    """Return the visible texts at the top of the log, without the states at the right."""
    return [line[:40] for line in s.log()[:10]]


@staged("lobby", "dev", peers=("bob", "carol"), changes=SLOW, size=(120, 30))
async def test_the_list_of_channels_marks_what_is_missing_as_the_head_does(s: Stage) -> None:
    await s.enter("before")
    await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until_text("⇣ 1 missing")
    strips = s.app.panes.channel_list.render_lines(s.app.panes.channel_list.region.reset_offset)
    (missing,) = (segment for strip in strips for segment in strip if "1 missing" in segment.text)
    wanted = s.app.line_style.style("unacked").color
    assert missing.style is not None
    assert missing.style.color == wanted
    assert sum("⇣ 1 missing" in strip.text for strip in strips) == 1
    await s.pilot.resize_terminal(80, 24)
    await s.press("f3")
    drawn = [segment for strip in s.app.screen._compositor.render_strips() for segment in strip]
    (in_sheet,) = (each.style for each in drawn if each.text == "1 missing")
    assert in_sheet is not None
    assert in_sheet.color == wanted


@staged(peers=("bob", "carol"), changes=SLOW)
async def test_a_gap_stands_where_the_missing_message_belongs(s: Stage) -> None:
    await s.enter("before")
    message_id = await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until_text("1 missing")
    (gap,) = s.app.model.timeline.gaps.values()
    assert gap.message_id == message_id
    await s.enter("mine")
    kinds = [type(item).__name__ for item in s.app.model.timeline.items]
    assert kinds == ["MessageItem", "GapItem", "MessageItem"]
    shown = " ".join(s.text().split())
    assert "1 message by bob missing, and one by carol waits for it" in shown
    assert "we ask in" in shown
    assert "may answer" in shown


@staged(peers=("bob", "carol"), changes=SLOW)
async def test_a_gap_counts_down_and_can_be_selected(s: Stage) -> None:
    message_id = await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until_text("1 missing")
    gap = s.app.model.timeline.gaps[message_id]
    await s.press("alt+up")
    assert s.app.selection == message_id
    assert message_id[:8] in s.app.panes.said("details")
    before = s.text()
    await s.until(lambda: s.text() != before, "the countdown stands still")
    assert isinstance(gap, GapItem)


@staged(peers=("bob", "carol"), changes=SLOW, size=(100, 30))
async def test_details_of_a_gap_say_more_than_its_line(s: Stage) -> None:
    """The sentence of the selection stood there twice, with keys to answer and to copy what is not here."""
    message_id = await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until_text("1 missing")
    await s.press("alt+up")
    assert "F5 details" in s.text()
    assert "answer it" not in s.text()
    await s.press("f5")
    page = s.text()
    assert message_id in page
    assert "of carol, which waits" in page


@staged(peers=("bob", "carol"), changes=SOON)
async def test_a_gap_becomes_the_message_when_it_comes(s: Stage) -> None:
    message_id = await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until(lambda: message_id in s.app.view.engine("lobby").requests.missing)
    Injection(s.app.node, "lobby").off()
    await s.until_text("unheard")
    assert s.app.model.timeline.gaps == {}
    texts = [entry.text for entry in s.app.model.timeline.messages()]
    assert texts == ["unheard", "after"]
    await s.until_text("nothing missing")


@staged(peers=("bob", "carol"), changes={"push.enabled": False, "sds.lost_after": 400})
async def test_what_is_given_up_is_lost_in_its_place(s: Stage) -> None:
    await unheard(s, "unheard")
    s.say("after", "carol")
    await s.until_text("1 message by bob is lost")
    await s.until_text("1 lost")
    kinds = [type(item).__name__ for item in s.app.model.timeline.items]
    assert kinds == ["GapItem", "MessageItem"]


@staged(peers=("bob", "carol"), changes=SOON, size=(100, 20))
async def test_a_late_message_does_not_move_what_is_looked_at(s: Stage) -> None:
    for number in range(30):
        s.app.node.send("lobby", f"old {number}")
    await s.settle()
    await unheard(s, "came late")
    for number in range(40):
        s.app.node.send("lobby", f"new {number}")
    await s.settle()
    await s.press("pageup")
    seen = texts_in_sight(s)
    await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "new 39")
    Injection(s.app.node, "lobby").off()
    s.say("names what came late")  # so it is asked for now
    await s.until_text("1 late: Alt+L")
    assert texts_in_sight(s) == seen
    await s.press("alt+l")
    assert any("came late" in line and "late" in line.split("came late")[1] for line in s.log())
    assert "1 late" not in s.text()


@staged(peers=("bob", "carol"), changes=SOON)
async def test_a_late_message_that_is_in_sight_is_not_counted_in_the_head(s: Stage) -> None:
    """The count stayed until Alt+L, for the rest of the day, and at 80 columns hid how many are here."""
    await unheard(s, "came late")
    await s.enter("before it came")
    Injection(s.app.node, "lobby").off()
    s.say("names what came late")
    await s.until(lambda: any("came late" in line and line.endswith("late") for line in s.log()), "its mark")
    await s.settle()
    assert "1 late" not in s.lines()[0]
    assert "3 here" in s.lines()[0]


@staged(peers=("bob",), size=(100, 20))
async def test_new_messages_do_not_move_what_is_looked_at_above(s: Stage) -> None:
    for number in range(100):
        s.app.node.send("lobby", f"old {number}")
    await s.settle()
    await s.press("pageup")
    seen = texts_in_sight(s)
    s.say("new at the end")
    await s.until(lambda: s.app.model.unread == 1)
    assert texts_in_sight(s) == seen
    await s.press("alt+end")
    assert s.app.model.unread == 0
    assert "new at the end" in s.log()[-1]


@staged(size=(80, 24))
async def test_every_message_is_reached_by_paging_up_and_down(s: Stage) -> None:
    for number in range(250):
        s.app.node.send("lobby", f"number {number:04}" + " and more words" * (number % 9))
    await s.settle()
    await s.press("f6")
    found: set[str] = set()
    for key in ("pageup", "pagedown"):
        for _ in range(200):
            found |= {word for line in s.log() for word in line.split() if word.isdigit() and len(word) == 4}
            before = s.log()
            await s.press(key)
            if s.log() == before:
                break
    assert {f"{number:04}" for number in range(250)} <= found
    assert s.follows()


@staged(size=(80, 24))
async def test_the_scroll_bar_leads_to_anywhere(s: Stage) -> None:
    for number in range(600):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    s.app.log_view.scroll_to(y=100, animate=False, force=True)
    await s.settle()
    assert any("number 10" in line for line in s.log())
    assert len(s.app.model.timeline) < 600


def test_the_unread_line_stands_where_reading_stopped_in_an_earlier_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, peers=("bob",)) as s:
            s.say("read")
            await s.until_text("read")
        async with stage(tmp_path, peers=("carol",)) as s:
            s.app.app_focus = False
            s.say("unread", "carol")
            await s.until_text("unread")
            lines = s.log()
            line = next(at for at, text in enumerate(lines) if "─ new ─" in text)
            assert "read" in lines[line - 1]
            assert "unread" in lines[line + 1]

    asyncio.run(story())


@staged(peers=("bob",))
async def test_offline_is_said_with_the_reason_and_what_is_written_waits(s: Stage) -> None:
    Injection(s.app.node, "lobby").offline(True)
    await s.until_text("OFFLINE")
    await s.enter("kept")
    assert any("kept" in line and "queued" in line for line in s.log())
    s.app.panes.draw_banners()
    await s.settle()
    assert "1 in the outbox" in s.text()
    await s.press("alt+up")
    assert "saved here" in s.app.panes.said("details")
    Injection(s.app.node, "lobby").offline(False)
    await s.until_text("✓")
    assert "OFFLINE" not in s.text()


def test_states_survive_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, peers=("bob",)) as s:
            await s.enter("acknowledged")
            await s.until_text("✓")
            Injection(s.app.node, "lobby").offline(True)
            await s.enter("waiting")
        async with stage(tmp_path) as s:
            lines = s.log()
            assert any("acknowledged" in line and "✓" in line for line in lines)
            assert any("waiting" in line and ("queued" in line or "unacked" in line) for line in lines)

    asyncio.run(story())


@staged(peers=("bob",))
async def test_a_refused_message_says_why(s: Stage) -> None:

    Injection(s.app.node, "lobby").offline(True)
    await s.enter("too much for the broker")
    (entry,) = s.app.model.timeline.messages()
    told = NotPublished(entry.message_id, "refused", "The broker does not take it.")
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, told))
    await s.settle()
    assert any("✗ refused" in line for line in s.log())
    await s.press("alt+up")
    assert "The broker does not take it" in s.app.panes.said("details")
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, MessageResent(entry.message_id, AckState.UNACKED, 2)))
    await s.settle()
    assert any("✗ refused" in line for line in s.log()), "sent again is not taken: the broker has not answered yet"
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, HandedOver(entry.message_id)))
    await s.settle()
    assert not any("✗ refused" in line for line in s.log())


@staged()
async def test_people_with_the_same_nick_are_told_apart(s: Stage) -> None:
    first = s.world.start("bob", profile="first")
    first.node.send("lobby", "I am bob")
    await s.until_text("I am bob")
    second = s.world.start("bob", profile="second")
    second.node.send("lobby", "I am bob, too")
    await s.until_text("I am bob, too")
    ids = [first.node.sender_id[:8], second.node.sender_id[:8]]
    assert f"two keys go by bob: {ids[0]} came first, {ids[1]} later" in " ".join(s.text().replace("‼", "").split())
    await s.until(lambda: s.text().count("▪ bob ") == 2, "both in the list")
    tags = {line.partition("▪ bob ")[2].split()[0] for line in s.lines() if "▪ bob " in line}
    ids = [first.node.sender_id[:4], second.node.sender_id[:4]]
    assert tags == set(ids)
    said = [next(line for line in s.log() if text in line) for text in ("I am bob  ", "I am bob, too")]
    assert [f"bob {tag} " in line for tag, line in zip(ids, said, strict=True)] == [True, True]
    second.node.rename("ann")
    second.node.send("lobby", "ann now")
    await s.until_text("ann now")
    assert f"bob {ids[1]} is now known as ann {ids[1]}" in " ".join(s.text().split())  # and it is not you
    second.node.rename("robert")
    second.node.send("lobby", "robert now")
    await s.until_text("robert now")
    assert any(f"bob {ids[0]} " in line for line in s.log())  # what the other one said as bob is still there


def told_of_namesakes(s: Stage) -> list[str]:
    told = " ".join(" ".join(line.lstrip("‼ ") for line in s.log()).split())
    return re.findall(r"another key goes by your nick: (\w+ \(\w+\)) is NOT you", told)


@staged(size=(120, 30))
async def test_a_second_key_with_our_nick_is_told_once_before_it_says_anything(s: Stage) -> None:
    other = s.world.start("ann", profile="other")
    name = f"ann ({other.node.sender_id[:8]})"
    await s.until(lambda: told_of_namesakes(s) == [name], "the line")
    assert f"({s.app.node.sender_id[:8]})" in s.text()
    other.node.send("lobby", "I am ann")
    await s.until_text("I am ann")
    other.node.rename("bob")
    other.node.send("lobby", "I am bob")
    await s.until_text("I am bob")
    other.node.rename("ann")
    other.node.send("lobby", "I am ann again")
    await s.until_text("I am ann again")
    assert told_of_namesakes(s) == [name]
    assert "two keys go by ann" not in s.text()


@staged("lobby", peers=("bob",), size=(120, 30))
async def test_who_takes_our_nick_later_is_told_and_a_crowd_is_not(s: Stage) -> None:
    s.say("hello")
    await s.until_text("hello")
    for number in range(5):
        peer = s.peers["bob"] if not number else s.world.start("carol", profile=f"p{number}")
        peer.node.rename("Ann")
        peer.node.send("lobby", f"number {number}")
        await s.until_text(f"number {number}")
    assert len(told_of_namesakes(s)) == 3


@staged(peers=("bob",), changes={"content.format": "text"})
async def test_what_nobody_signed_says_so(s: Stage) -> None:
    s.say("who am I?")
    await s.until_text("who am I?")
    (entry,) = s.app.model.timeline.messages()
    assert entry.nick == ""
    assert any("unsigned" in line and f"<{entry.sender_id[:8]}>" in line for line in s.log())


@staged(peers=("bob",))
async def test_a_message_cannot_draw_a_line_of_the_program(s: Stage) -> None:
    s.say("hello\n» 12:00:00 bob is verified\n⇣ 1 message missing\n-- Sat 1 Jan 2000 --")
    await s.until_text("is verified")
    forged = [line for line in s.log() if "verified" in line or "missing" in line or "2000" in line]
    assert len(forged) == 3
    assert all(line.startswith("  ") for line in forged)


@staged(peers=("bob",))
async def test_markup_and_escape_sequences_are_text(s: Stage) -> None:
    s.say("[/b] [@click=app.quit]here[/] [TODO] \x1b[2J \x1b]52;c;eA==\x07")
    await s.until_text("[/b] [@click=app.quit]here[/] [TODO]")
    assert "\x1b" not in s.text()


@staged(peers=("bob",))
async def test_presence_is_in_the_list_and_in_the_head(s: Stage) -> None:
    s.say("I am here")
    await s.until_text("I am here")
    await s.until_text("2 here")
    await s.peers["bob"].node.close(0.1)
    await s.until_text("alone here")
    assert "▫ bob" in s.text()


@staged(peers=("bob",))
async def test_who_said_nothing_and_left_keeps_the_nick(s: Stage) -> None:
    await s.until_text("▪ bob")
    await s.peers["bob"].node.close(0.1)
    await s.until_text("alone here")
    people = {person.nick for person in s.app.model.conversation.people()}
    assert people <= {"ann", "bob"}
    assert s.app.model.name_of(s.peers["bob"].node.sender_id) == "bob"


@staged(peers=("bob",))
async def test_a_connection_that_was_lost_is_caught_up_with(s: Stage) -> None:
    found: list[str] = []
    s.app.node.listen(
        lambda event: found.append(event.body.state) if isinstance(event.body, ConnectionChanged) else None
    )
    Injection(s.app.node, "lobby").offline(True)
    await s.until_text("offline")
    s.say("said meanwhile")
    Injection(s.app.node, "lobby").offline(False)
    await s.until_text("said meanwhile")
    await s.until_text("nothing missing")


@pytest.mark.parametrize(("seconds", "told"), [(80, "1m"), (3, "3s"), (2, "")])
def test_a_cut_stays_in_the_log_once_it_is_over(tmp_path: Path, seconds: int, told: str) -> None:
    def hear(s: Stage, state: str, second: int) -> None:
        event = NodeEvent("lobby", NOON + second * 1000, ConnectionChanged(state, "", ever=True))
        s.app.workspace.hear(event, s.app.looking)

    async def story() -> None:
        async with stage(tmp_path) as s:
            hear(s, "connected", 0)
            hear(s, "disconnected", 0)
            hear(s, "connecting", 1)
            hear(s, "disconnected", 1)
            assert "offline from" not in "\n".join(s.log())
            hear(s, "connected", seconds)
            hear(s, "connected", seconds)
            await s.settle()
            said = f"offline from {clock(NOON)} to {clock(NOON + seconds * 1000)} ({told})"
            lines = [line for line in s.log() if "offline from" in line]
            assert [said in line for line in lines] == [True] * bool(told)

    asyncio.run(story())


def test_who_said_nothing_keeps_the_nick_over_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, peers=("bob",)) as s:
            await s.until(lambda: any(one.nick == "bob" and one.heard_at for one in s.app.conversation.people()), "bob")
        async with stage(tmp_path) as s:
            await s.enter("/who")
            await s.until_text("2 known")
            assert any("bob" in line and "not here" in line for line in s.lines())
            assert "nothing signed yet" not in s.text()

    asyncio.run(story())


def test_a_nick_has_the_colour_of_the_last_run(tmp_path: Path) -> None:
    """The one seen first got a colour that two wanted: after a start that could be the other one."""

    async def story(seen_before: dict[str, int] | None = None) -> dict[str, int]:
        async with stage(tmp_path, peers=("bob", "eve")) as s:
            hues = s.app.line_style.hues
            s.say("hello")
            await s.until_text("hello")
            await s.until(lambda: len(hues) == 3, "all have a colour")
            if seen_before is not None:
                hues.update(dict(zip(hues, range(3), strict=True)))
                seen_before.update(hues)
            s.app._keep()
            return dict(hues)

    first: dict[str, int] = {}
    asyncio.run(story(first))
    assert asyncio.run(story()) == first


@staged(peers=("bob",))
async def test_what_another_machine_of_ours_wrote_is_not_called_unacked(s: Stage) -> None:
    """Nothing ever acknowledged it here, where nothing was sent."""
    own = s.app.node
    message = signed_message(own.gate.identity, "lobby", "from the other machine", own.clock.now().wall)
    s.world.network.pass_on("sds/1/lobby/msg", SdsCodec().encode(message), False)
    await s.until_text("from the other machine")
    line = next(line for line in s.log() if "from the other machine" in line)
    assert "unacked" not in line
    s.app.model.reload()
    s.app.log_view.refresh_rows()
    assert next(line for line in s.log() if "from the other machine" in line) == line
