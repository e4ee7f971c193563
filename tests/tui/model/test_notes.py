"""Lines of the log for events that nothing but a line shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.cli.session import EventPrinter
from sdschat.node.events import (
    DeviceRenewed,
    EventBody,
    IdentityUsedElsewhere,
    NodeEvent,
    SavingFailed,
    UnsignedInOurName,
)
from sdschat.store.errors import DiskFull
from sdschat.tui.model.event_notes import note_of


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
