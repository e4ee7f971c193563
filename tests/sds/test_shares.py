"""A few that take much of the room that all share leave some for whoever comes."""

from __future__ import annotations

import pytest

from sdschat.sds.events import RepairWanted
from sdschat.sds.limits import (
    ANSWERS_PER_CHANNEL,
    ANSWERS_PER_SENDER,
    MISSING_PER_CHANNEL,
    MISSING_PER_SENDER,
    PUSHES_PER_CHANNEL,
    PUSHES_PER_SENDER,
)
from sdschat.sds.scheduled_sends import Push, PushBuffer, may_take
from tests.sds.group import START, Group, forge


def test_names_that_name_the_unknown_leave_room_to_wait_for_a_dependency() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("h", "root", START + 1))
    for number in range(MISSING_PER_CHANNEL // MISSING_PER_SENDER):
        names = [f"unknown{number}-{place}" for place in range(MISSING_PER_SENDER)]
        for start in range(0, len(names), 32):
            group.give("a", forge(f"evil{number}", f"e{number}-{start}", START + 10, *names[start : start + 32]))
    group.give("a", forge("honest", "child", START + 20, "parent"))
    assert group["a"].of(RepairWanted)[-1].message_id == "parent"
    group.give("a", forge("honest", "parent", START + 19))
    assert group["a"].delivered()[-2:] == ["parent", "child"]


def test_names_that_ask_for_much_leave_room_to_ask() -> None:
    group = Group("a", settle=2000)
    known = ANSWERS_PER_CHANNEL + 1
    for place in range(known):
        group.give("a", forge("h", f"m{place:05}", START + 1 + place))
    for number in range(ANSWERS_PER_CHANNEL // ANSWERS_PER_SENDER):
        for start in range(0, ANSWERS_PER_SENDER, 3):
            first = number * ANSWERS_PER_SENDER + start
            wanted = tuple(f"m{place:05}" for place in range(first, first + min(3, ANSWERS_PER_SENDER - start)))
            asks = forge(f"evil{number}", f"q{first}", START + 5000, content=None, requests=wanted)
            group.give("a", asks)
    last = f"m{known - 1:05}"
    group.give("a", forge("honest", "ask", START + 5001, content=None, requests=(last,)))
    assert last in group["a"].channel.state.answers.timers


def test_peers_that_lack_much_leave_room_to_lack_something() -> None:
    buffer = PushBuffer()
    for number in range(PUSHES_PER_CHANNEL // PUSHES_PER_SENDER + 1):
        for place in range(PUSHES_PER_SENDER):
            if buffer.has_room(f"evil{number}", f"m{number}-{place}"):
                buffer.schedule(Push(f"m{number}-{place}", 1), 5, f"evil{number}")
    assert buffer.has_room("honest", "wanted")


@pytest.mark.parametrize(
    ("own", "taken", "may"),
    [
        (0, 0, True),
        (3, 3, True),
        (4, 4, False),
        (0, 9, True),
        (1, 9, False),
        (0, 10, False),
        (2, 7, True),
        (3, 7, False),
    ],
)
def test_nobody_takes_more_than_is_left(own: int, taken: int, may: bool) -> None:
    assert may_take(own, taken, per_sender=4, per_channel=10) is may
