"""A sender that has used up its share of unknown ids: what it says waits for none of them."""

from __future__ import annotations

from sdschat.sds.events import Delivered, RepairWanted
from sdschat.sds.limits import MISSING_PER_SENDER
from tests.sds.group import QUIET, START, Group, forge

_FEW = tuple(f"x{place}" for place in range(MISSING_PER_SENDER - 1))


def _one_short() -> Group:
    """A log of one message; what `evil` says still waits, and would not if it named one id more."""
    group = Group("a")
    group.give("a", forge("b", "first", START))
    group.give("a", forge("evil", "many", START + 1, *_FEW))
    assert group["a"].delivered() == ["first"]
    return group


def _too_many() -> Group:
    group = _one_short()
    group.give("a", forge("evil", "more", START + 2, "one-more"))
    return group


def test_what_waits_of_it_is_delivered_with_the_gap_named() -> None:
    delivered = {event.message.message_id: event.gap for event in _too_many()["a"].of(Delivered)}
    assert delivered == {"first": (), "many": _FEW, "more": ("one-more",)}


def test_a_sync_message_that_names_them_counts_too() -> None:
    group = _one_short()
    group.give("a", forge("evil", "sync", START + 2, "one-more", content=None))
    assert group["a"].delivered() == ["first", "many"]


def test_what_it_names_is_asked_for_all_the_same() -> None:
    group = _too_many()
    assert group["a"].delivered()[-1] == "more"
    assert group["a"].of(RepairWanted)[-1].message_id == "one-more"


def test_what_others_say_waits_for_it() -> None:
    group = _too_many()
    group.give("a", forge("b", "child", START + 4, "x1"))
    assert group["a"].delivered() == ["first", "many", "more"]
    group.give("a", forge("c", "x1", START))
    assert group["a"].delivered()[3:] == ["x1", "child"]


def test_beyond_its_share_they_are_not_even_asked_for_but_waited_for_by_others() -> None:
    group = Group("a")
    group.give("a", forge("b", "first", START))
    group.give("a", forge("evil", "many", START + 1, *(f"x{place}" for place in range(MISSING_PER_SENDER))))
    group.give("a", forge("evil", "more", START + 1, "m1"))
    assert "m1" not in group["a"].channel.state.requests.missing
    group.give("a", forge("b", "m2", START + 3, "m1"))
    assert group["a"].delivered() == ["first", "many", "more"]
    group.give("a", forge("b", "m1", START + 2))
    assert group["a"].delivered()[3:] == ["m1", "m2"]


def test_what_waits_of_it_for_a_message_that_is_here_waits_on() -> None:
    group = Group("a")
    group.give("a", forge("b", "first", START))
    group.give("a", forge("b", "parent", START + 1, "not here"))
    group.give("a", forge("evil", "child", START + 2, "parent", "y"))
    group.give("a", forge("evil", "many", START + 3, *_FEW))
    assert group["a"].delivered() == ["first", "many"]
    group.give("a", forge("b", "not here", START))
    assert group["a"].delivered()[2:] == ["not here", "parent", "child"]


def test_what_it_says_waits_again_once_fewer_are_missing() -> None:
    group = _too_many()
    group.give("a", forge("c", "x0", START))
    group.give("a", forge("c", "x1", START))
    group.give("a", forge("evil", "next", START + 3, "y"))
    assert group["a"].delivered()[-1] == "x1"


def test_a_restart_changes_none_of_it() -> None:
    group = _one_short()
    group.crash("a")
    group.give("a", forge("evil", "more", START + 2, "one-more"))
    assert group["a"].delivered() == ["first", "many", "more"]
    group.crash("a")
    group.give("a", forge("evil", "next", START + 3, "y"))
    assert group["a"].delivered()[-1] == "next"


def test_whose_ids_never_came_is_not_waited_for_any_more() -> None:
    group = _one_short()
    group.give("a", forge("evil", "more", START + 2, "one-more"))
    group.tick(QUIET.lost_after)
    group.give("a", forge("evil", "next", group.now.wall, "y"))
    assert group["a"].delivered()[-1] == "next"
    group.crash("a")
    group.give("a", forge("evil", "after a restart", group.now.wall, "z"))
    assert group["a"].delivered()[-1] == "after a restart"


def test_who_named_one_fewer_that_never_came_is_waited_for() -> None:
    group = _one_short()
    group.tick(QUIET.lost_after)
    group.give("a", forge("evil", "next", group.now.wall, "y"))
    assert group["a"].delivered()[-1] == "many"
