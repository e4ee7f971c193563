"""Answers of the engine about its data set: members, ballot, posts, delivery."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from sdschat.timber.chat import CREATOR
from sdschat.timber.core import EngineState
from sdschat.timber.replica import Replica
from sdschat.timber.values import Clock, Kind, Post, PostId, member_id, sender_of


class MemberView(NamedTuple):
    """A member in force. `missed`: operations that its newest one does not know; silent at `limit`."""

    slot: int
    member: bytes
    key: bytes
    seq: int
    missed: int
    limit: int
    clock: Clock


class BallotView(NamedTuple):
    """The ballot under way: who is to be removed, how many agree, and how many have to."""

    turn: int
    removed: Clock
    agree: int
    need: int


class PostView(NamedTuple):
    post: Post
    settled: bool  # behind the checkpoint: final for everybody


_STEPS: Final = ("queued", "sent", "written", "known", "settled")


class Delivery(NamedTuple):
    """State of an event of ours: queued, sent, written, known or settled; `known` by so many members. While it is in
    front of the checkpoint, `writer` is the slot that wrote it, and `lacking` those that have not shown to have it."""

    word: str
    known: int
    members: int
    writer: int | None = None
    lacking: tuple[int, ...] = ()


class MemberStanding(StrEnum):
    """MemberStanding of a person in a data set, as far as it is known here."""

    OUTSIDE = "outside"  # never was a member
    INVITED = "invited"  # and may write once all members know it
    MEMBER = "member"
    LEAVING = "leaving"  # has said so, and writes nothing more
    LEFT = "left"
    REMOVED = "removed"  # for silence


def standing_of(core: EngineState, sender_id: str) -> MemberStanding:
    """Return the standing of a person, who may be ourselves."""
    slots = core.replica.committee.slots
    ours = [slot for slot in slots if sender_of(slot.member) == sender_id]
    if current := next((slot for slot in ours if slot.last is None), None):
        leave = core.leave
        leaves = leave in core.own and leave is not None and leave.author == current.number
        return MemberStanding.LEAVING if leaves or current.leaving is not None else MemberStanding.MEMBER
    if any(sender_of(member_id(key)) == sender_id for key in core.replica.front.invitations):
        return MemberStanding.INVITED
    return (
        MemberStanding.OUTSIDE
        if not ours
        else MemberStanding.LEFT
        if ours[-1].why == "left"
        else MemberStanding.REMOVED
    )


def view_members(replica: Replica, rounds: int) -> list[MemberView]:
    """Return the members in force, by slot."""
    limit = rounds * len(replica.committee.open)
    slots = [replica.committee.slots[one] for one in sorted(replica.committee.open)]
    return [
        MemberView(
            slot.number,
            slot.member,
            slot.key,
            slot.seq,
            replica.held - slot.names,
            limit,
            tuple(sorted(slot.clock.items())),
        )
        for slot in slots
    ]


def view_ballot(replica: Replica) -> BallotView | None:
    """Return the ballot under way that has the most supporters, if anybody accepted a value."""
    found = replica.turn.supporters()
    if not found:
        return None
    (_, value), needs = max(found.items(), key=lambda one: (len(one[1]), one[0]))
    return BallotView(replica.turn.number, value.removed, len(needs), max(needs.values()))


def view_posts(core: EngineState) -> list[PostView]:
    """Return the posts that are alive, in order: as the checkpoint has them, changed by what is in front of it and by
    events of ours that nobody wrote yet."""
    settled, front = core.replica.chat.posts, core.front.layer
    views = [PostView(front.posts.get(post.name, post), post.name not in front.posts) for post in settled.in_order()]
    views = [view for view in views if view.post.name not in front.gone]
    fresh = sorted((name for name in front.posts if settled.get(name) is None), key=core.front.order)
    place = core.replica.mark.number
    views += (PostView(front.posts[name]._replace(place=place + at), False) for at, name in enumerate(fresh, 1))
    return views


def _event_delivery(core: EngineState, name: PostId) -> Delivery:
    members = len(core.replica.committee.open)
    if core.replica.chat.knows(name):
        return Delivery("settled", members, members)
    node = core.where.get(name)
    if node is not None:
        body = node.operation.body
        lacking = tuple(core.replica.committee.lacking(body.slot, body.seq))
        known = members - len(lacking)
        return Delivery("known" if known > 1 else "written", known, members, body.slot, lacking)
    own = core.own.get(name)
    sent = own is not None and own.attempts > 0 and name not in core.inbox
    return Delivery("sent" if sent else "queued", 0, members)


def delivery_of(core: EngineState, name: PostId) -> Delivery:
    """Return the state of an event of ours. A post that was changed has come as far as its newest change."""
    found, newest = _event_delivery(core, name), _newest_change(core, name)
    return (
        found if newest is None else min(_event_delivery(core, newest), found, key=lambda one: _STEPS.index(one.word))
    )


def _newest_change(core: EngineState, post: PostId) -> PostId | None:
    """Return the change that is not settled and that a post shows; None if all that it shows is settled."""
    same, settled = core.replica.committee.same_person, core.replica.chat.posts.get(post)
    edit = PostId(post.author, 0 if settled is None else settled.edit)
    newest = edit
    for name, kind in core.changes.of(post).items():
        if (name not in core.where and name not in core.own) or core.replica.chat.knows(name):
            continue
        ours = same(name.author, post.author)
        if kind is Kind.DELETE and (ours or same(name.author, CREATOR)):
            return name
        if kind is Kind.EDIT and ours and name.number > newest.number:
            newest = name
    return None if newest is edit else newest
