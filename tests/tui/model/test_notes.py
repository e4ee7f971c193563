"""Lines of the log for events that nothing but a line shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.cli.session import EventPrinter
from sdschat.node.events import (
    ClockDiffers,
    DeviceRenewed,
    EventBody,
    IdentityUsedElsewhere,
    NodeEvent,
    SavingFailed,
    UnsignedInOurName,
)
from sdschat.store.errors import DiskFull
from sdschat.tui.model.event_notes import note_of
from sdschat.tui.model.items import Tone


def test_only_the_chat_that_tries_again_says_that_a_full_disk_is_tried_again() -> None:
    error = str(DiskFull(Path("ann.db")))
    assert error.endswith("free some space")  # a command that cannot begin says no more, and ends
    line = note_of(SavingFailed(error), lambda sender_id, nick: nick)
    assert line is not None
    assert line[0].endswith("free some space; it is tried again")


@pytest.mark.parametrize("body", [IdentityUsedElsewhere("m"), UnsignedInOurName("m", 1), DeviceRenewed("m")])
def test_the_chat_and_the_commands_say_the_same_of_the_own_key(
    body: EventBody, capsys: pytest.CaptureFixture[str]
) -> None:
    line = note_of(body, lambda sender_id, nick: nick)
    assert line is not None
    EventPrinter(0, "me")(NodeEvent("lobby", 1, body))
    assert capsys.readouterr().err == f"lobby: {line[0]}\n"


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (
            3_599_900,
            "bob's clock is 1h ahead of this machine's. Until the wrong one is set right, neither of you sees the "
            "other as here, and what bob says is shown here when its date comes",
        ),
        (
            -1_500_100,
            "bob's clock is 25m behind this machine's. Until the wrong one is set right, neither of you sees the "
            "other as here, and what you say is shown to bob when its date comes",
        ),
    ],
)
def test_a_clock_that_differs_is_told_with_what_it_does(ahead: int, said: str) -> None:
    assert note_of(ClockDiffers("b" * 32, "bob", ahead), lambda sender_id, nick: nick) == (said, Tone.ALERT)
