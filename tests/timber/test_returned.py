"""Whoever was put out and is let in again has another slot, and is the same person."""

from __future__ import annotations

import pytest

from sdschat.timber.values import PostId
from tests.timber.group import Group
from tests.timber.world import key_of

NAMES = ("alice", "bob", "carol")


def _away_and_back(group: Group, name: str) -> None:
    """Let a member be silent until it is put out, and then let it in again."""
    others = [one for one in NAMES if one != name]
    group[name].up = False
    for at in range(12):
        for other in others:
            group.say(other, f"{other} {at}")
            group.settle(1000)
    group.settle()
    host = group[others[0]]
    assert len(host.engine.members()) == 2
    group[name].up = True
    group.settle(5000)
    host.engine.invite(key_of(NAMES.index(name)), group.now)
    group.carry(host)
    group.settle(30_000)
    assert group[name].engine.me == 3


def _named(group: Group, text: str) -> PostId:
    return next(view.post.name for view in group["alice"].engine.posts() if view.post.text == text)


def _changed(group: Group, who: str, post: PostId, text: str) -> list[bool]:
    """Let somebody edit a post. Return for each node if it shows the new text."""
    group[who].engine.edit(post, text, group.now)
    group.carry(group[who])
    group.settle()
    return [text in node.texts() for node in group.nodes.values()]


def test_posts_from_before_are_changed_and_taken_back() -> None:
    group = Group(*NAMES)
    group.say("carol", "first", "second")
    group.settle()
    first, second = _named(group, "first"), _named(group, "second")
    assert _changed(group, "carol", first, "edited before") == [True] * 3
    _away_and_back(group, "carol")
    assert _changed(group, "carol", first, "edited after") == [True] * 3, "the later edit counts"
    group["carol"].engine.delete(second, group.now)
    group.carry(group["carol"])
    group.settle()
    assert all("second" not in node.texts() for node in group.nodes.values())
    with pytest.raises(ValueError, match="only its author"):
        group["bob"].engine.edit(first, "mine", group.now)


def test_the_creator_takes_back_posts_of_others_after_a_return_too() -> None:
    group = Group(*NAMES)
    group.say("bob", "unwanted")
    group.settle()
    post = _named(group, "unwanted")
    _away_and_back(group, "alice")
    group["alice"].engine.delete(post, group.now)
    group.carry(group["alice"])
    group.settle()
    assert all("unwanted" not in node.texts() for node in group.nodes.values())
