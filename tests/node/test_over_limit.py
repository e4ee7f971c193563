"""Tests of the limits of what is kept of one sender: ids without bodies, one event for many, and who is ignored."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.catchup.values import HIGHEST, LOWEST
from sdschat.identity.signing import Identity
from sdschat.node.channel import author_chains
from sdschat.node.channel.over_limit import Flood, OverLimitCounter
from sdschat.node.channel.sender_limits import MINUTE, OLDER_TIMES, SENDERS, STRANGERS_SYNC, SenderLimits
from sdschat.node.channel.session import ChannelSession
from sdschat.node.clock import Clock
from sdschat.node.events import AuthorGapFound, ConnectionChanged, MessageDelivered, OverLimit, OwnOverLimit
from sdschat.node.view.conversations import Conversations
from sdschat.sds.events import DependenciesMissing, Rejected
from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import HistoryEntry, Message, Reason
from sdschat.store.archive import archived
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.signed import signed_message
from tests.node.worlds import Member, World, run

CODEC = SdsCodec()
CAROL = Identity(b"c" * 32)
LIMIT = 5
LIMITED = {"trust.messages_per_minute": LIMIT, "trust.messages_at_once": LIMIT}


async def opened(w: World) -> tuple[Member, ChannelSession]:
    ann = w.start("ann", changes=LIMITED)
    await ann.until(ConnectionChanged, lambda c: c.state == "connected")
    return ann, ann.node.sessions["lobby"]


def said(room: ChannelSession, count: int, after: list[Message] | None = None, *history: str) -> list[Message]:
    """Return so many messages of carol's, behind others of hers."""
    made = list(after or [])
    named = tuple(HistoryEntry(name) for name in history)
    for _ in range(count):
        number, previous = len(made) + 1, made[-1].message_id if made else ""
        lamport = Clock().now().wall + number
        made.append(
            signed_message(
                CAROL,
                "lobby",
                f"{number}",
                lamport,
                nick="carol",
                sequence=number,
                previous=previous,
                history=named,
            )
        )
    return made[len(after or []) :]


def hear(room: ChannelSession, messages: list[Message]) -> None:
    for message in messages:
        room.receive(CODEC.encode(message), "live")


def test_the_largest_limit_still_bounds_old_messages_and_strangers() -> None:
    """Old messages, and those of all strangers together, are let through five times as often: every 0.2 ms."""
    limits = SenderLimits(60_000, 1)
    old = [limits.exceeded("carol", 0, fresh=False, sync=False, stranger=False) for _ in range(6)]
    strange = [limits.exceeded(f"{number}", 0, fresh=True, sync=False, stranger=True) for number in range(6)]
    assert old == strange == [False] * OLDER_TIMES + [True]


def test_what_exceeds_the_limit_is_in_the_log_by_its_id_alone(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        messages = said(room, LIMIT + 3)
        hear(room, messages)
        told = await ann.until(OverLimit)
        assert told == OverLimit(CAROL.sender_id, "carol", 3)
        assert ann.texts() == ["1", "2", "3", "4", "5"]
        store = ann.node.profile.store
        assert store.log("lobby").summary(LOWEST, HIGHEST).messages == LIMIT + 3
        kept = store.connection.execute("SELECT count(*) FROM body").fetchone()[0]
        ids = store.connection.execute("SELECT count(*) FROM past").fetchone()[0]
        rows = store.connection.execute("SELECT event, attempt FROM journal WHERE event = 'kept_as_id'").fetchall()
        assert (kept, ids, rows) == (LIMIT, 3, [("kept_as_id", None)])
        assert [(one.packets, one.floor.ids) for one in archived(store)] == [(LIMIT, 3)]

    run(tmp_path, story)


def test_the_log_is_whole_after_a_restart(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        messages = said(room, LIMIT + 3)
        hear(room, messages)
        await ann.until(OverLimit)
        before = ann.node.profile.store.log("lobby").summary(LOWEST, HIGHEST)
        await ann.node.close(0.1)
        again = w.start("ann", changes=LIMITED)
        assert not again.node.profile.store.losses
        ours = again.node.send("lobby", "hello")
        assert [entry.message_id for entry in ours.causal_history] == [
            messages[LIMIT - 2].message_id,
            messages[LIMIT - 1].message_id,
        ]
        await again.until(MessageDelivered)
        after = again.node.profile.store.log("lobby").summary(LOWEST, HIGHEST)
        assert after.messages == before.messages + 1

    run(tmp_path, story)


def test_nothing_that_it_names_is_waited_for_and_no_number_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(author_chains, "_PATIENCE", 50)

    async def story(w: World) -> None:
        ann, room = await opened(w)
        before = said(room, LIMIT)
        hear(room, [*before, *said(room, 3, before, "f" * 64)])
        await ann.until(OverLimit)
        await asyncio.sleep(0.2)
        assert not ann.of(DependenciesMissing)
        assert not ann.of(AuthorGapFound)

    run(tmp_path, story)


def test_others_have_their_own_limits_and_nobody_limits_us(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        hear(room, said(room, LIMIT + 1))
        bob = w.start("bob")
        bob.node.send("lobby", "hello")
        texts = [f"mine {number}" for number in range(LIMIT + 2)]
        for text in texts:
            ann.node.send("lobby", text)
        await ann.until_texts("1", "2", "3", "4", "5", "hello", *texts)

    run(tmp_path, story)


def test_what_is_here_already_does_not_count_again(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        first = said(room, LIMIT - 1)
        hear(room, first)
        for number in range(RECENT_WINDOW + LIMIT):
            ann.node.send("lobby", f"mine {number}")
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == f"mine {RECENT_WINDOW}")
        assert not room.channel.state.holds_in_memory(first[0].message_id)
        hear(room, [*first, *said(room, 1, first)])
        await ann.until(MessageDelivered, lambda told: told.said.opened.text == f"{LIMIT}")
        assert not ann.of(OverLimit)

    run(tmp_path, story)


def test_nothing_of_an_ignored_one_is_kept_but_ids_and_nobody_is_told(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        ann.node.ignore(CAROL.sender_id, True)
        messages = said(room, 2)
        hear(room, messages[:1])
        ann.node.send("lobby", "mine")
        await ann.until_texts("mine")
        assert room.channel.state.delivered(messages[0].message_id) is not None
        assert not ann.of(OverLimit)
        ann.node.ignore(CAROL.sender_id, False)
        hear(room, messages[1:])
        await ann.until_texts("mine", "2")

    run(tmp_path, story)


def test_sync_messages_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        syncs = [Message("stranger", f"s{at}", "lobby", room.channel.state.clock.value) for at in range(60)]
        hear(room, syncs)
        await ann.until(Rejected, lambda refused: refused.reason is Reason.OVER_LIMIT)
        refused = [each for each in ann.of(Rejected) if each.reason is Reason.OVER_LIMIT]
        assert len(refused) == len(syncs) - OLDER_TIMES * LIMIT

    run(tmp_path, story)


def test_a_limit_gives_way_with_time() -> None:
    limits = SenderLimits(2, 2)

    def exceeded(mono: int, sender: str = "b", *, fresh: bool = True, stranger: bool = False) -> bool:
        return limits.exceeded(sender, mono, fresh=fresh, sync=False, stranger=stranger)

    assert [exceeded(0), exceeded(10), exceeded(20)] == [False, False, True]
    assert not exceeded(30, "c")
    assert exceeded(MINUTE // 2 - 1)
    assert not exceeded(MINUTE // 2)
    assert exceeded(MINUTE // 2 + 1)


def test_what_is_pasted_at_once_is_kept() -> None:
    limits = SenderLimits(60, 500)
    found = [limits.exceeded("b", 0, fresh=True, sync=False, stranger=False) for _ in range(502)]
    assert found == [False] * 500 + [True, True]
    assert not limits.exceeded("b", 1_000, fresh=True, sync=False, stranger=False)
    assert limits.exceeded("b", 1_000, fresh=True, sync=False, stranger=False)


def test_what_is_old_may_come_in_bursts() -> None:
    limits = SenderLimits(2, 2)
    found = [limits.exceeded("b", 0, fresh=False, sync=False, stranger=False) for _ in range(11)]
    assert found == [False] * 10 + [True]


def test_old_messages_that_somebody_else_may_send_leave_room_for_new_ones() -> None:
    limits = SenderLimits(2, 2)
    while not limits.exceeded("b", 0, fresh=False, sync=False, stranger=False):
        pass
    assert not limits.exceeded("b", 0, fresh=True, sync=False, stranger=False)


def test_nobody_is_forgotten_for_the_sake_of_invented_names() -> None:
    limits = SenderLimits(2, 2)
    while not limits.exceeded("b", 0, fresh=True, sync=False, stranger=False):
        pass
    for number in range(2 * SENDERS):
        limits.exceeded(f"nobody {number}", 0, fresh=True, sync=False, stranger=True)
    assert limits.exceeded("b", 0, fresh=True, sync=False, stranger=False)


def test_strangers_have_a_limit_together() -> None:
    limits = SenderLimits(2, 2)
    found = [limits.exceeded(str(at), 0, fresh=True, sync=False, stranger=True) for at in range(11)]
    assert found == [False] * 10 + [True]
    assert not limits.exceeded("somebody known", 0, fresh=True, sync=False, stranger=False)


def test_sync_messages_of_strangers_are_few_at_once_and_use_up_nothing_of_what_they_say() -> None:
    """Together they had a burst of 10,000, and with them invented names kept the lines of new keys out."""
    limits = SenderLimits(100, 2000)

    def exceeded(count: int, *, sync: bool) -> int:
        said = [limits.exceeded(str(at), 0, fresh=not sync, sync=sync, stranger=True) for at in range(count)]
        return sum(said)

    assert exceeded(STRANGERS_SYNC + 10, sync=True) == 10
    assert not exceeded(1000, sync=False)


def test_no_limit() -> None:
    limits = SenderLimits(0, 2)
    assert not any(limits.exceeded("b", 0, fresh=True, sync=False, stranger=True) for _ in range(1000))


def test_the_rate_of_a_flood(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        hear(room, said(room, LIMIT + 10))
        await ann.until(OverLimit)
        counter = next(each for each in room.extensions if isinstance(each, OverLimitCounter))
        assert counter.flood(ann.node.clock.now().mono) == Flood(2, 1)
        assert counter.flood(ann.node.clock.now().mono + 10_000) == Flood(0, 0)

    run(tmp_path, story)


def test_what_a_flood_names_is_not_shown_as_missing(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, room = await opened(w)
        hear(room, said(room, LIMIT, None, "f" * 64))
        await ann.until(DependenciesMissing)
        view = Conversations(ann.node)
        shown = view.channel("lobby")
        assert (shown.sync().missing, len(shown.missing())) == (1, 1)
        hear(room, said(room, 1, said(room, LIMIT, None, "f" * 64)))
        await ann.until(OverLimit)
        assert (shown.sync().missing, len(shown.missing())) == (0, 0)
        view.close()

    run(tmp_path, story)


def test_who_says_more_than_others_keep_is_told(tmp_path: Path) -> None:
    async def story(w: World) -> None:
        ann, _ = await opened(w)
        bob = w.start("bob", changes=LIMITED)
        await bob.until(ConnectionChanged, lambda c: c.state == "connected")
        for number in range(LIMIT + 2):
            ann.node.send("lobby", f"{number}")
        assert await ann.until(OwnOverLimit, lambda told: told.messages == 2)
        assert await bob.until(OverLimit, lambda told: told.messages == 2)
        assert not ann.of(OverLimit)
        assert not bob.of(OwnOverLimit)

    run(tmp_path, story)
