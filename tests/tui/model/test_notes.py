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
    SaidTwoThings,
    SavingFailed,
    UnsignedInOurName,
)
from sdschat.store.errors import DiskFull
from sdschat.tui.model.event_notes import kept_note, note_of
from sdschat.tui.model.items import NoteItem, Tone
from sdschat.tui.model.timeline import ProgramLines, Timeline
from sdschat.tui.model.words import short
from tests.tui.model.samples import NOON


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


def test_what_one_key_says_twice_again_and_again_is_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """A key that is used on two machines, or cheats, filled the log with 99 lines."""
    timeline = Timeline()
    timeline.at_start = timeline.at_end = True
    lines, printer = ProgramLines(timeline), EventPrinter(0, "me")
    for number in range(1, 100):
        body = SaidTwoThings("b" * 32, number, f"{number:064x}")
        lines.say_kept(kept_note(body, lambda sender_id, nick: "bob"), NOON + number * 500)
        printer(NodeEvent("lobby", NOON, body))
    lines.say_kept(kept_note(SaidTwoThings("c" * 32, 1, "f" * 64), lambda sender_id, nick: "carol"), NOON)
    lines.say_kept(kept_note(SaidTwoThings("b" * 32, 100, "f" * 64), lambda sender_id, nick: "bob"), NOON + 61_000)
    told = [item.text for item in timeline.items if isinstance(item, NoteItem)]
    assert told == [
        f"bob says two things: the 99th message is there twice, and {short(f'{99:064x}')} is the second one "
        "(99 times within a minute)",
        f"carol says two things: the 1st message is there twice, and {short('f' * 64)} is the second one",
        f"bob says two things: the 100th message is there twice, and {short('f' * 64)} is the second one",
    ]
    assert capsys.readouterr().err == f"lobby: {'b' * 32} says two things: two messages have one number\n"
