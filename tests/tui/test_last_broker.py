"""A channel that is opened over another broker than the last time says so."""

from __future__ import annotations

from sdschat.node.events import ConnectionChanged
from sdschat.node.view.conversations import Conversations
from sdschat.tui.preferences import moved_words
from tests.tui.stage import Stage, staged

FAR = "mqtt://broker.example:1884"


@staged("lobby", "dev")
async def test_another_broker_than_the_last_time_is_named_with_the_way_back(s: Stage) -> None:
    view, node = s.app.view, s.app.node
    assert moved_words(view, ["lobby", "dev"]) == []
    node.broker = FAR
    assert moved_words(view, ["lobby"]) == [
        f"lobby is on {FAR} now; the last time it was on the broker of this machine. Whoever is there is not here: "
        "sdschat join lobby leads there."
    ]
    connect(s)
    assert moved_words(view, ["lobby"]) == []
    node.broker = ""
    assert moved_words(view, ["dev", "lobby"]) == [
        f"lobby is on the broker of this machine now; the last time it was on {FAR}. Whoever is there is not here: "
        f"sdschat join lobby --broker {FAR} leads there."
    ]


@staged("lobby")
async def test_a_broker_that_was_never_reached_is_none_of_the_last_time(s: Stage) -> None:
    """Whoever mistyped the address was told at the next start that the others may be there."""
    s.app.node.broker = "mqtt://mistyped.example"
    moved_words(s.app.view, ["lobby"])
    s.app.node.broker = ""
    assert moved_words(s.app.view, ["lobby"]) == []


def connect(s: Stage) -> None:
    s.app.node._emit("lobby", ConnectionChanged("connected", FAR))


@staged("lobby", guest=True)
async def test_guests_and_recordings_are_told_of_no_broker(s: Stage) -> None:
    assert moved_words(s.app.view, ["lobby"]) == []
    s.app.node.broker = FAR
    assert moved_words(s.app.view, ["lobby"]) == []
    recorded = Conversations(s.app.node, recorded="a recording")
    assert moved_words(recorded, ["lobby"]) == []
    recorded.close()
