"""Links that carry packets one way only: what is heard of another's copy says nothing of who else has heard it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.config import DEMO, Config
from tests.sds.group import Group


@pytest.mark.parametrize("others", [1, 3])
def test_who_hears_one_participant_alone_gets_what_the_others_say(others: int) -> None:
    """The others call that one off in each turn but those in which it is the first."""
    names = ["author", *(f"other{number}" for number in range(others))]
    group = Group(*names, "only", "deaf", config=replace(DEMO, id_rule="text"), settle=30_000)
    group.passes = lambda flight: flight.receiver != "deaf" or flight.sender == "only"
    said = [group.send("author", f"text {at}").message_id for at in range(3)]
    group.tick(120 * DEMO.sync_interval)
    assert group["deaf"].log == said


def test_another_pushes_where_the_author_is_not_heard() -> None:
    """The one who lacks the message is heard by its author and does not hear the author. A third hears both."""
    group = Group("author", "third", "deaf", config=Config(id_rule="text"))
    group.passes = lambda flight: (flight.sender, flight.receiver) != ("author", "deaf")
    sent = [group.say("author", f"{number}").message_id for number in range(3)]
    group.tick(20 * 60_000)
    assert group["deaf"].log == group["author"].log
    assert set(sent) <= set(group["deaf"].log)
    assert group["author"].channel.unacknowledged == []
