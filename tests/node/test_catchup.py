"""Catching up between nodes with real stores and keys, on a network in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sdschat.catchup.values import CatchUpState
from sdschat.node.clock import Clock
from sdschat.node.events import CatchingUp, MessageDelivered
from sdschat.node.settings import SettingError, make_settings, parse
from sdschat.node.sync.extension import sync_extension
from sdschat.node.sync.history_sync import MANY_LACKING, SETTLE
from sdschat.sds.events import RangeDiffered, StateChanged
from sdschat.sds.state import Ready
from sdschat.sds.values import Message, Now
from tests.node.catching import DAY, caught_up, log_of, say, start, stop, wrote
from tests.node.worlds import Member, world

TEXTS = [f"number {number}" for number in range(300)]


def test_a_newcomer_a_day_later_gets_everything_in_order_and_verified(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await wrote(w, "ann", *TEXTS)
            start(w, "ann")
            bob = start(w, "bob", alone=True)
            done = await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert (done.done, done.total, done.nick) == (300, 300, "ann")
            told = bob.of(MessageDelivered)
            assert {one.said.opened.verdict.signed for one in told} == {True}
            assert {(one.via, one.said.nick) for one in told} == {("sync", "ann")}

    asyncio.run(story())


def test_the_newest_hundred_come_first(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await wrote(w, "ann", *TEXTS)
            start(w, "ann")
            bob = start(w, "bob", alone=True)
            await caught_up(bob)
            assert sorted(bob.texts()[:100], key=TEXTS.index) == TEXTS[200:]
            assert bob.texts()[100:] == TEXTS[:200]

    asyncio.run(story())


def test_who_was_away_gets_what_was_said_meanwhile_and_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann", ago=3 * DAY), start(w, "bob", ago=3 * DAY)
            await say(ann, *TEXTS[:20])
            await bob.until_texts(*TEXTS[:20])
            await stop(w, ann)
            await stop(w, bob)
            await wrote(w, "ann", *TEXTS[20:])
            ann, bob = start(w, "ann"), start(w, "bob", alone=True)
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert sorted(bob.texts(), key=TEXTS.index) == TEXTS[20:]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("story", "compares"),
    [
        (("lost", 1_000, "back"), False),
        (("lost", 10_000, "back"), True),
        (("lost", 9_000, "lost", 1_000, "back"), True),
        (("lost", 10_000, "back", 100, "lost", 100, "back"), True),
    ],
    ids=["a moment", "a while", "a while of attempts that fail", "a while, and lost again before it began"],
)
def test_who_was_away_for_a_while_compares(tmp_path: Path, story: tuple[str | int, ...], compares: bool) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            catchup = sync_extension(start(w, "bob").node, "lobby").catchup
            now = Clock().now()
            catchup.connected(now)
            for event in (SETTLE, "done", *story, SETTLE):
                if isinstance(event, int):
                    now = Now(now.wall + event, now.mono + event)
                    catchup.advance(now)
                elif event == "done":
                    catchup.catch_up.state = CatchUpState.DONE
                elif event == "lost":
                    catchup.disconnected(now)
                else:
                    catchup.connected(now)
            assert catchup.catch_up.active == compares

    asyncio.run(told())


@pytest.mark.parametrize(
    ("here", "lacking", "compares"), [(True, MANY_LACKING, True), (True, MANY_LACKING - 1, False), (False, 999, False)]
)
def test_whoever_is_here_and_has_many_messages_more_is_compared_with(
    tmp_path: Path, here: bool, lacking: int, compares: bool
) -> None:
    """All who were asked may have said that nothing is lacking."""

    async def told() -> None:
        async with world(tmp_path) as w:
            node = start(w, "bob").node
            extension, now = sync_extension(node, "lobby"), Clock().now()
            extension.catchup.catch_up.state = CatchUpState.DONE
            if here:
                node.sessions["lobby"].presence.online["ann"] = "ann"
            extension.process(Ready([], [], [RangeDiffered("ann", 1, 2, lacking)]), now)
            assert extension.catchup.next_wake() == (now.mono + SETTLE if compares else None)

    asyncio.run(told())


def said_by(member: Member) -> dict[str, Message]:
    """Return the last message of each nick that this member has."""
    return {told.said.nick: told.said.message for told in member.of(MessageDelivered)}


def test_of_an_ignored_one_only_ids_come_by_comparing(tmp_path: Path) -> None:
    """Their messages from a time without a connection were kept in full."""

    async def story() -> None:
        async with world(tmp_path) as w:
            bob, carol = start(w, "bob"), start(w, "carol")
            await say(carol, "of the ignored one")
            await bob.until_texts("of the ignored one")
            await say(bob, "of bob")
            ann = start(w, "ann", alone=True)
            ann.node.ignore(carol.node.sender_id, True)
            await caught_up(ann)
            log = ann.node.sessions["lobby"].channel.state
            entries = {name: log.delivered(told.message_id) for name, told in said_by(bob).items()}
            assert {name: entry is not None and entry.bare for name, entry in entries.items()} == {
                "carol": True,
                "bob": False,
            }

    asyncio.run(story())


def test_two_that_wrote_apart_end_up_with_equal_logs(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann", ago=DAY), start(w, "bob", ago=DAY)
            await say(ann, "together")
            await bob.until_texts("together")
            for member in (ann, bob):
                transport = member.node.sessions["lobby"].transport
                transport.drop()  # type: ignore[attr-defined]
            await asyncio.gather(
                say(ann, *(f"ann {text}" for text in TEXTS)), say(bob, *(f"bob {text}" for text in TEXTS))
            )
            await stop(w, ann)
            await stop(w, bob)
            ann, bob = start(w, "ann"), start(w, "bob")
            await asyncio.gather(caught_up(ann), caught_up(bob))
            assert len(log_of(ann)) == 601
            assert log_of(ann) == log_of(bob)

    asyncio.run(story())


@pytest.mark.parametrize(("on_join", "first"), [("24h", 280), ("none", 300)])
def test_how_far_back_a_newcomer_looks_is_a_setting_and_older_ones_come_on_request(
    tmp_path: Path, on_join: str, first: int
) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = start(w, "ann", ago=2 * DAY)
            await say(ann, *TEXTS[:280])
            await stop(w, ann)
            await wrote(w, "ann", *TEXTS[280:], ago=DAY // 2)
            ann, bob = start(w, "ann"), start(w, "bob", alone=True, history__on_join=on_join)
            await caught_up(bob)
            assert log_of(bob) == TEXTS[first:]
            horizon = bob.node.sessions["lobby"].channel.state.horizon
            bob.facts.clear()
            sync_extension(bob.node, "lobby").catchup.load_older()
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert bob.node.sessions["lobby"].channel.state.horizon == 0 < horizon

    asyncio.run(story())


def test_paused_it_stays_so_over_a_restart_and_resumed_it_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await wrote(w, "ann", *TEXTS)
            start(w, "ann")
            bob = start(w, "bob", alone=True)
            await bob.until(MessageDelivered)
            sync_extension(bob.node, "lobby").catchup.pause()
            await bob.until(CatchingUp, lambda told: told.state == "paused")
            await stop(w, bob)
            bob = start(w, "bob", alone=True)
            await bob.until(CatchingUp, lambda told: told.state == "paused")
            here = len(log_of(bob))
            assert 0 < here < 300
            sync_extension(bob.node, "lobby").catchup.resume()
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert len(bob.texts()) == 300 - here

    asyncio.run(story())


def test_a_node_that_was_stopped_in_the_middle_goes_on_where_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await wrote(w, "ann", *TEXTS)
            start(w, "ann")
            bob = start(w, "bob", alone=True)
            await bob.until(MessageDelivered)
            await stop(w, bob)
            bob = start(w, "bob", alone=True)
            here = len(log_of(bob))
            await caught_up(bob)
            assert log_of(bob) == TEXTS
            assert len(bob.texts()) == 300 - here

    asyncio.run(story())


def test_when_the_source_leaves_another_goes_on_and_nothing_comes_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, cid = start(w, "ann", ago=DAY), start(w, "cid", ago=DAY)
            await say(ann, *TEXTS)
            await cid.until_texts(*TEXTS)
            await stop(w, ann)
            await stop(w, cid)
            members = {one.node.sender_id: one for one in (start(w, "ann"), start(w, "cid"))}
            bob = start(w, "bob", alone=True)
            loading = await bob.until(CatchingUp, lambda told: told.state == "loading")
            await bob.until(MessageDelivered)
            await stop(w, members[loading.source])
            done = await caught_up(bob)
            assert done.source != loading.source
            assert log_of(bob) == TEXTS
            assert sorted(bob.texts()) == sorted(TEXTS)

    asyncio.run(story())


def test_the_setting_is_checked() -> None:
    assert make_settings({"history.on_join": parse("history.on_join", "24h")}).history_on_join == "24h"
    with pytest.raises(SettingError, match="must be one of all, 24h, none"):
        parse("history.on_join", "1d")


def _compared(body: StateChanged) -> bool:
    return body.evidence is not None and body.evidence.packet_id.startswith("compared-")


def test_what_was_written_while_nobody_was_there_is_acknowledged_once_the_logs_are_equal(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            await wrote(w, "ann", *TEXTS)
            # No sync message acknowledges anything before the comparison does.
            seldom: dict[str, Any] = {"sds__sync_interval": 600_000}
            ann, bob = start(w, "ann", **seldom), start(w, "bob", alone=True, **seldom)
            await caught_up(bob)
            await ann.until(
                StateChanged, lambda body: _compared(body) and not ann.node.sessions["lobby"].channel.unacknowledged
            )
            assert sum(map(_compared, ann.of(StateChanged))) > len(TEXTS) - 4  # the newest are also mentioned

    asyncio.run(story())


def test_who_fetched_messages_acknowledges_them_by_the_comparison_after_it(tmp_path: Path) -> None:
    """The question of that comparison is about the log with what was fetched, or its author learns nothing from it."""

    async def story() -> None:
        async with world(tmp_path) as w:
            seldom: dict[str, Any] = {"sds__sync_interval": 600_000}
            ann = start(w, "ann", **seldom)
            await say(ann, "one", "two")
            bob = start(w, "bob", alone=True, **seldom)
            await caught_up(bob)
            assert log_of(bob) == ["one", "two"]
            assert not ann.node.sessions["lobby"].channel.unacknowledged

    asyncio.run(story())
