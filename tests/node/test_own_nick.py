"""The nick of one's own key, from one start to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.node.own_nick import keep_nick, kept_nick
from sdschat.node.profile import Profile, database_path, open_profile
from sdschat.node.settings import Settings
from sdschat.node.view.conversations import Conversations
from tests.node.worlds import World, run

OTHER = b"o" * 32


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profile]:
    opened = open_profile(database_path(tmp_path, "ann"), Settings())
    with opened.store:
        yield opened


def test_the_nick_of_each_start_is_kept(profile: Profile) -> None:
    """The nick of the first start was, and `log` called one's own posts so ever after."""
    keep_nick(profile, "ann", 1)
    keep_nick(profile, "anna", 2)
    assert kept_nick(profile) == "anna"
    assert profile.store.keys() == [(profile.identity.public_key, "anna", 1)]


def test_a_nick_that_nobody_had_before_is_ours(profile: Profile) -> None:
    """A later key that was here first in a later run was told as the first one."""
    keep_nick(profile, "ann", 1)
    assert profile.store.nicks() == [("ann", "ann", profile.identity.public_key, 1)]


def test_a_nick_that_somebody_had_before_stays_theirs(profile: Profile) -> None:
    with profile.store.transaction() as transaction:
        transaction.put_key(OTHER, "ann", 1)
        transaction.put_nick("ann", "ann", OTHER, 1)
    keep_nick(profile, "Ann", 2)
    assert kept_nick(profile) == "Ann"
    assert profile.store.nicks() == [("ann", "ann", OTHER, 1)]


def test_another_nick_in_a_run_is_kept_also_before_anything_was_said(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        ann = world.start("ann")
        Conversations(ann.node).set_nick("anna")
        assert kept_nick(ann.node.profile) == "anna"

    run(tmp_path, story)
