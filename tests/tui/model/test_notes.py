"""Lines of the log for events that nothing but a line shows."""

from __future__ import annotations

from pathlib import Path

from sdschat.node.events import SavingFailed
from sdschat.store.errors import DiskFull
from sdschat.tui.model.event_notes import note_of


def test_only_the_chat_that_tries_again_says_that_a_full_disk_is_tried_again() -> None:
    error = str(DiskFull(Path("ann.db")))
    assert error.endswith("free some space")  # a command that cannot begin says no more, and ends
    line = note_of(SavingFailed(error), lambda sender_id, nick: nick)
    assert line is not None
    assert line[0].endswith("free some space; it is tried again")
