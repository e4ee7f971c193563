"""When others were heard last: by what they said, and not by when it came here."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.channel.last_heard import LastHeard
from sdschat.node.events import MessageDelivered
from sdschat.node.view import live
from sdschat.sds.values import Message, Now
from tests.node.catching import CODEC, caught_up, say, start, stop
from tests.node.worlds import Member, World, world

HOUR = 3600 * 1000
MOMENT = 60 * 1000


def silence(member: Member, of: str) -> int:
    """Return for how long a participant said nothing, as far as a member knows, in milliseconds."""
    node = member.node
    now = node.clock.now()
    found = live.people(node.sessions["lobby"], node.sender_id, node.nick, now)
    return now.wall - next(person.heard_at for person in found if person.sender_id == of)


async def ann_spoke(w: World) -> tuple[str, bytes]:
    """Let ann speak two hours ago to bob, and one hour ago to carol alone. Return her id, and what she said last."""
    bob = start(w, "bob", ago=2 * HOUR)
    ann = start(w, "ann", ago=2 * HOUR)
    await say(ann, "heard by bob")
    await bob.until_texts("heard by bob")
    await stop(w, bob)
    await stop(w, ann)
    carol = start(w, "carol", ago=HOUR)
    ann = start(w, "ann", ago=HOUR)
    await say(ann, "heard by carol")
    await carol.until(MessageDelivered, lambda told: told.said.opened.text == "heard by carol")
    store = carol.node.profile.store
    with store.open_read_only(store.path, CODEC) as reader:
        raw = next(one.raw for one in reader.messages("lobby", with_raw=True) if one.text == "heard by carol")
    assert raw is not None
    await stop(w, carol)
    await stop(w, ann)
    return ann.node.sender_id, raw


def test_what_somebody_said_meanwhile_counts_where_it_comes_by_a_comparison(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, _ = await ann_spoke(w)
            start(w, "carol")
            bob = start(w, "bob", alone=True)
            await caught_up(bob)
            assert HOUR - MOMENT < silence(bob, ann) < HOUR + MOMENT

    asyncio.run(story())


def test_an_old_message_that_another_sends_again_is_not_heard_of_its_author_now(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, raw = await ann_spoke(w)
            bob = start(w, "bob", alone=True)
            assert silence(bob, ann) > 2 * HOUR - MOMENT
            bob.node.sessions["lobby"].receive(raw, "live")
            await bob.until_texts("heard by carol")
            assert HOUR - MOMENT < silence(bob, ann) < HOUR + MOMENT

    asyncio.run(story())


def test_a_clock_that_is_behind_makes_nobody_look_silent(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            heard = LastHeard(start(w, "bob").node.sessions["lobby"].channel)
            now, behind = Now(1_000 * HOUR, HOUR), 3 * MOMENT
            heard.note(Message("ann", "s1", "lobby", now.wall - behind), now)
            assert heard.at("ann", now) == now.wall, "a sync message nobody sends for another"
            later = Now(now.wall + HOUR, now.mono + HOUR)
            heard.note(Message("ann", "m1", "lobby", later.wall - behind, content=b"just said"), later)
            assert heard.at("ann", later) == later.wall
            heard.note(Message("carol", "m2", "lobby", later.wall - behind, content=b"of old"), later)
            assert heard.at("carol", later) == later.wall - behind, "nothing shows that her clock is behind"
            heard.note(Message("ann", "s2", "lobby", later.wall - 500), later)  # it was put right
            last = Now(later.wall + HOUR, later.mono + HOUR)
            heard.note(Message("ann", "m3", "lobby", last.wall - behind, content=b"sent again"), last)
            assert heard.at("ann", last) == last.wall - behind + 500

    asyncio.run(story())
