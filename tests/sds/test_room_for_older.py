"""A full incoming buffer makes room for what is nearer to the log."""

from __future__ import annotations

import pytest

from sdschat.sds import incoming
from sdschat.sds.values import Message, Reason
from tests.sds.group import START, Group, forge


def waiting(place: int, size: int) -> Message:
    return forge("b", f"b-{place}", START + place, "nowhere", content=b"x" * size)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Group:
    monkeypatch.setattr(incoming, "BUFFERED_BYTES_PER_SENDER", 3000)
    return Group("a")


def buffered(group: Group) -> list[str]:
    return list(group["a"].channel.state.incoming.buffered)


def test_as_many_newer_ones_go_as_an_older_one_needs_bytes(group: Group) -> None:
    """They wait for it, so refusing it would be a deadlock."""
    for place in (2, 3, 4, 5):
        group.give("a", waiting(place, 500))
    group.give("a", waiting(1, 1500))
    assert buffered(group) == ["b-2", "b-3", "b-1"]
    assert group["a"].refused() == [Reason.BUFFER_QUOTA] * 2


def test_nothing_goes_where_the_newer_ones_make_no_room(group: Group) -> None:
    group.give("a", waiting(1, 2000))
    group.give("a", waiting(3, 300))
    group.give("a", waiting(2, 1500))
    assert buffered(group) == ["b-1", "b-3"]
    assert group["a"].refused() == [Reason.BUFFER_QUOTA]
