"""Rows of the journal for participants who come and go."""

from __future__ import annotations

from sdschat.node.channel.presence import ROWS, ROWS_MINUTE, PresenceRows
from sdschat.node.events import PresenceChanged
from sdschat.sds.values import Now


def test_coming_and_going_have_a_row_each_and_another_nick_none() -> None:
    rows = PresenceRows("lobby")
    rows.came("me", Now(1, 1))
    for nick, online in (("", True), ("fay", True), ("fay", False), ("fay", False), ("fay", True)):
        rows.changed(PresenceChanged("f", nick, online), Now(2, 2))
    assert [(row.event, row.sender) for row in rows.take()] == [
        ("here", "me"),
        ("here", "f"),
        ("left", "f"),
        ("here", "f"),
    ]
    assert rows.take() == []


def test_a_flood_of_presences_has_a_limited_number_of_rows() -> None:
    rows = PresenceRows("lobby")
    for number in range(ROWS * 3):
        rows.changed(PresenceChanged("f", "fay", number % 2 == 0), Now(0, number))
    assert len(rows.take()) == ROWS
    rows.changed(PresenceChanged("g", "gil", True), Now(0, ROWS_MINUTE + ROWS))
    assert [row.sender for row in rows.take()] == ["g"]
