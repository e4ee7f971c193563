"""The list of channels beside the log: what it says of more channels than it has lines."""

from __future__ import annotations

from sdschat.tui.widgets.lists import ChannelLine, unread_mark
from tests.tui.stage import Stage, staged

MANY = ("lobby", *(f"channel-{number:02}" for number in range(21)))


def listed(s: Stage) -> list[str]:
    """Return the lines of the list, without its frame."""
    width = s.app.panes.channel_list.size.width + 2
    return [line[1:width].strip() for line in s.lines()[2 : 2 + s.app.panes.channel_list.size.height]]


def counted(unread: int, mentions: int = 0) -> str:
    return unread_mark(ChannelLine("dev", "dev", "", unread, mentions, shown=False))


def test_a_thousand_unread_messages_are_not_said_to_be_999() -> None:
    assert [counted(number) for number in (0, 1, 999, 1000, 12_345, 250_000)] == [
        "",
        "+1",
        "+999",
        "+1k",
        "+12k",
        "+99k",
    ]
    assert counted(1200, 1001) == "1k!"


@staged(*MANY[:14], size=(120, 40))
async def test_channels_that_have_no_room_for_two_lines_have_one(s: Stage) -> None:
    """A half of the list said *nothing missing*, and the channels below it were not seen."""
    assert listed(s)[:3] == ["1 lobby", "alone", "2 channel-00"]
    await s.pilot.resize_terminal(120, 26)
    await s.settle()
    assert listed(s)[:14] == [f"{number} {name}" for number, name in enumerate(MANY[:14], 1)]
    await s.pilot.click("#channels", offset=(4, 13))
    await s.settle()
    assert s.app.shown == MANY[12]


@staged(*MANY, peers=("bob",), size=(120, 24))
async def test_channels_without_room_are_counted_with_what_is_new_and_the_shown_one_is_seen(s: Stage) -> None:
    s.say("up here", channel=MANY[3])
    s.say("ann: and here", channel=MANY[20])
    height = len(MANY) - s.app.panes.channel_list.size.height + 1
    await s.until(lambda: listed(s)[-1].endswith("1!"), "what is new")
    assert listed(s)[-1].split() == ["and", str(height), "more", "1!"]
    s.app.show_channel(MANY[20])
    await s.settle()
    assert f"21 {MANY[20]}" in listed(s)
    assert listed(s)[-1].split() == ["and", str(height), "more", "+1"]
    seen = next(at for at, line in enumerate(listed(s)) if line == f"20 {MANY[19]}")
    await s.pilot.click("#channels", offset=(4, seen + 1))
    await s.settle()
    assert s.app.shown == MANY[19]


@staged(*MANY[:14], size=(120, 26))
async def test_a_channel_in_one_line_has_the_sign_of_its_state(s: Stage) -> None:
    assert listed(s)[0] == "1 lobby"
    await s.enter("/fault offline")
    await s.until(lambda: listed(s)[0].split() == ["1", "lobby", s.app.line_style.glyphs.alert], "the sign")
    assert listed(s)[1] == "2 channel-00"


@staged(*MANY[:3], size=(80, 24))
async def test_the_list_is_as_wide_as_it_stays_from_its_first_frame_on(s: Stage) -> None:
    """Each sheet was drawn once in ten columns, with all of its words broken, before it had its width."""
    for _ in range(2):
        await s.app.action_command("channels")
        at_first = s.app.sheet.virtual_size
        await s.settle()
        assert s.app.sheet.virtual_size == at_first
        await s.press("escape")


@staged("a-channel-with-a-name-of-44-letters-in-a-head", size=(140, 30))
async def test_the_head_has_the_whole_name_where_there_is_room(s: Stage) -> None:
    """It was cut to 24 columns, however many were free beside it."""
    assert s.lines()[0].startswith(" a-channel-with-a-name-of-44-letters-in-a-head  ")
    await s.pilot.resize_terminal(60, 15)
    await s.until(lambda: s.lines()[0].startswith(" a-channel-with-a-name-o…  ▪ nothing missing"), "the state")


@staged(peers=("alexander-smith",), size=(200, 30))
async def test_a_nick_of_usual_length_is_whole_beside_a_text_of_full_width(s: Stage) -> None:
    s.say("my nick is longer than eleven", "alexander-smith")
    await s.until(lambda: any(" alexander-smith  my nick is" in line for line in s.lines()), "the whole nick")
