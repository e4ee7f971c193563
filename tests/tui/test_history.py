"""History from before the join: fetched on request, marked while it is missing, and never called late."""

from __future__ import annotations

import asyncio
import re

from sdschat.node.events import CatchingUp, ConnectionChanged, Joined, MessageDelivered, NodeEvent
from sdschat.node.settings import Value
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.values import Lost
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.history import badge, sentence, top_line
from sdschat.tui.model.items import GapItem, NoteItem, Tone
from tests.tui.stage import Stage, staged

# Messages older than the allowed difference of clocks count as history.
NOT_UNASKED: dict[str, Value] = {"history.on_join": "none", "sds.max_skew": 1}


async def come_later(s: Stage) -> None:
    """Let bob send messages in the attic before ann joins it."""
    bob = s.peers["bob"]
    bob.node.join("attic")
    for number in range(3):
        bob.node.send("attic", f"before {number}")
    await s.until(lambda: len(bob.texts()) == 3)
    await s.enter("/join attic")
    await s.until(lambda: len(s.app.view.channel("attic").people()) == 2)
    s.say("now", channel="attic")
    await s.until(lambda: "now" in texts(s), "the message")


def texts(s: Stage) -> list[str]:
    return [entry.text for entry in s.app.model.timeline.messages()]


ALL = ["before 0", "before 1", "before 2", "now"]


@staged(peers=("bob",), syncs=True, changes=NOT_UNASKED, size=(120, 30))
async def test_what_was_said_before_we_came_is_fetched_when_asked_for_and_is_not_late(s: Stage) -> None:
    await come_later(s)
    assert "was not fetched" in s.text()
    await s.enter("/load")
    await s.until(lambda: texts(s) == ALL, "all of it")
    assert len(s.app.models["attic"].late) == 0
    await s.until(lambda: "was not fetched" not in s.text(), "nothing is lacking")
    await s.press("alt+up", "alt+up", "alt+up", "alt+up")
    assert "came by " in s.app.panes.said("details")


@staged(peers=("bob",), syncs=True, changes=NOT_UNASKED, size=(120, 30))
async def test_fetching_can_be_paused_and_goes_on(s: Stage) -> None:
    await come_later(s)
    Injection(s.app.node, "attic").share("loss", 1.0, "in")  # nobody answers
    await s.enter("/load 7d")
    await s.until(lambda: s.app.model.history is not None and s.app.model.history.state == "comparing")
    await s.enter("/load pause")
    await s.until_text("is not loaded any further, paused ⋅ /load resume")
    await s.until_text("paused")
    Injection(s.app.node, "attic").off()
    await s.enter("/load pause")
    assert "nothing is being fetched" in s.hint()
    await s.enter_instead("/load resume")
    await s.until(lambda: texts(s) == ALL, "all of it")


@staged()
async def test_a_pause_is_told_of_above_a_log_that_is_gaps_alone(s: Stage) -> None:
    model = s.app.model
    model.timeline.set_gaps([GapItem(Lost("a" * 32, None, 0), (1, "b" * 32), "bob", "carol")])
    paused = CatchingUp("paused", 0, 0, "b" * 32, "bob", 0)
    told = top_line(model.view, "lobby", model.conversation, model.timeline, paused, 0)
    assert told is not None
    assert "is not loaded any further, paused | /load resume" in told.text
    assert top_line(model.view, "lobby", model.conversation, model.timeline, None, 0) is None, "nothing else to say"


@staged()
async def test_load_says_what_it_takes_and_where_it_cannot(s: Stage) -> None:
    await s.enter("/load pause")
    assert "Nothing can be fetched here" in s.hint()


@staged(syncs=True)
async def test_load_refuses_what_is_no_moment(s: Stage) -> None:
    await s.enter("/load soon")
    assert "/load does not know 'soon'" in s.hint()
    await s.enter_instead("/load resume")
    assert "nothing is paused" in s.hint()


def test_progress_is_in_the_list_and_above_the_first_message() -> None:
    loading = CatchingUp("loading", 340, 1200, "b" * 32, "bob", 0)
    assert badge(loading) == "loading 340/1200"
    assert sentence(loading, 0) == "loading what was said before, from bob: 340 of 1200 | /load pause"
    assert badge(loading._replace(state="done")) == sentence(loading._replace(state="done"), 0) == ""


@staged()
async def test_the_mark_stands_above_the_first_message_and_moves_nothing_else(s: Stage) -> None:
    await s.enter("first")
    await s.enter("second")
    model = s.app.model
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, CatchingUp("loading", 1, 9, "b" * 32, "", 0)))
    await s.settle()
    assert isinstance(model.timeline.items[0], NoteItem)
    assert "loading what was said before, from <bbbbbbbb>: 1 of 9" in s.text()
    assert [entry.text for entry in model.timeline.messages()] == ["first", "second"]
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, CatchingUp("done", 9, 9, "b" * 32, "", 0)))
    await s.settle()
    assert "loading" not in s.text()


@staged(size=(100, 14))
async def test_the_oldest_is_shown_with_what_stands_above_it(s: Stage) -> None:
    for number in range(30):
        await s.enter(f"text {number}")
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, CatchingUp("paused", 1, 9, "b" * 32, "", 0)))
    await s.enter("/start")
    assert "paused at 1 of 9" in s.text()
    assert not s.follows()


@staged(peers=("bob",))
async def test_what_comes_by_anti_entropy_is_late_only_if_it_was_said_while_we_were_here(s: Stage) -> None:
    s.say("hello")
    told = await s.peers["bob"].until(MessageDelivered)
    at = s.app.view.now().wall
    for via, dated, late in (
        ("sync", -60_000, False),
        ("store", -60_000, False),
        ("live", -60_000, True),
        ("sync", 60_000, True),
    ):
        model = ChannelModel(s.app.view, "lobby")
        message = told.said.message
        moved = type(message)(message.sender_id, f"{via}{dated}", "lobby", at + dated, (), None, (), message.content)
        said = told.said._replace(message=moved, own=False)
        model.hear(NodeEvent("lobby", at, MessageDelivered(said, True, (), via)), looking=True)
        assert bool(model.late) is late, (via, dated)


@staged(peers=("bob",))
async def test_what_was_said_during_a_cut_is_late(s: Stage) -> None:
    """It stood above lines that were shown before, without a word: the cut counted as the time before we came."""
    s.say("hello")
    told = await s.peers["bob"].until(MessageDelivered)
    model = ChannelModel(s.app.view, "lobby")
    at = s.app.view.now().wall
    model.live_since = at - 30_000
    for after, state in ((-20_000, "disconnected"), (0, "connected")):
        model.hear(NodeEvent("lobby", at + after, ConnectionChanged(state, "", ever=True)), looking=True)
    message = told.said.message
    moved = type(message)(message.sender_id, "ab", "lobby", at - 10_000, (), None, (), message.content)
    said = told.said._replace(message=moved, own=False)
    model.hear(NodeEvent("lobby", at + 60, MessageDelivered(said, True, (), "sync")), looking=True)
    assert model.late


@staged()
async def test_what_an_earlier_run_left_unsent_for_long_is_said_aloud_with_its_age(s: Stage) -> None:
    await s.enter("never acknowledged")
    model, now = s.app.model, s.app.view.now().wall
    model.hear(NodeEvent("lobby", now, Joined("", "ann", 1)), looking=True)
    assert not [item for item in model.timeline.items if isinstance(item, NoteItem)], "it was written a moment ago"
    model.hear(NodeEvent("lobby", now + 60_000, Joined("", "ann", 1)), looking=True)
    model.hear(NodeEvent("lobby", now + 3 * 86_400_000, Joined("", "ann", 1)), looking=True)
    fresh, stale = (item for item in model.timeline.items if isinstance(item, NoteItem))
    assert (fresh.tone, fresh.text) == (Tone.INFO, "1 message of yours from before was not acknowledged at the start")
    assert stale.tone is Tone.ALERT
    assert "written 3d ago; what was never sent goes out now: /outbox lists it" in stale.text
    await s.enter("/outbox")
    assert re.search(r"written \d+s ago: never acknowledged", s.text())


@staged(peers=("bob",))
async def test_a_line_stands_above_what_was_said_while_one_was_away_though_one_sees_it_come(s: Stage) -> None:
    s.say("hello")
    told = await s.peers["bob"].until(MessageDelivered)
    await s.until_text("hello")
    s.app.model.save_mark()
    mark = s.app.conversation.read_mark()
    assert mark is not None
    for via, dated, missed in (
        ("store", 1, True),
        ("live", 1, True),
        ("store", -60_000, False),
        ("live", 60_000, False),
    ):
        await asyncio.sleep(0.01)  # they come back later than that
        model = ChannelModel(s.app.view, "lobby")
        message = told.said.message
        moved = type(message)(
            message.sender_id, f"{via}{dated}", "lobby", mark[0] + dated, (), None, (), message.content
        )
        said = told.said._replace(message=moved, own=False)
        model.hear(NodeEvent("lobby", s.app.view.now().wall, MessageDelivered(said, False, (), via)), looking=True)
        assert (model.unread_line.after == mark) is missed, (via, dated)
        assert model.unread == 0
        model.unread_line.forget()
        model.hear(NodeEvent("lobby", s.app.view.now().wall, MessageDelivered(said, False, (), via)), looking=True)
        assert model.unread_line.after is None, "it is drawn once"
