"""The palette: where it leads, and the theme that it shows on the way."""

from __future__ import annotations

from textual.color import Color
from textual.command import Command, CommandList

from tests.tui.stage import Stage, staged


async def _ask(s: Stage, words: str, title: str) -> None:
    """Type words, until the first offer is this one and is chosen."""

    def chosen() -> bool:
        found = s.app.screen.query(CommandList)
        option = found.first().highlighted_option if found else None
        return isinstance(option, Command) and option.hit.text == title and found.first().highlighted == 0

    await s.press("ctrl+p", *("space" if letter == " " else letter for letter in words))
    await s.until(chosen, title)


@staged("lobby", "dev", peers=("bob",), syncs=True)
async def test_it_leads_to_channels_people_and_messages(s: Stage) -> None:
    await s.until_text("2 here")
    await s.enter("the long rope")
    for number in range(40):
        s.app.node.send("lobby", f"filler {number}")
    await _ask(s, "long rope", "ann: the long rope")
    await s.press("enter")
    await s.until(lambda: any("the long rope" in line for line in s.log()), "the message")
    await _ask(s, "bob", "person bob")
    await s.press("enter")
    await s.until(lambda: s.app.conversation.peer != "", "the conversation of two")
    await _ask(s, "dev", "channel dev")
    await s.press("enter")
    await s.until(lambda: s.app.shown == "dev", "the channel")


@staged("lobby", "dev")
async def test_it_finds_messages_of_the_other_channels_too(s: Stage) -> None:
    s.app.node.send("dev", "the long rope of dev")
    await s.enter("/search rope")
    assert s.hint().endswith("Ctrl+P looks in all open channels.")
    await s.press("ctrl+u")
    await _ask(s, "long rope", "ann: the long rope of dev")
    await s.until(lambda: any("the long rope" in line and line.rstrip(" │").endswith(", dev") for line in s.lines()))
    await s.press("enter")
    await s.until(lambda: s.app.shown == "dev" and s.app.model.selected is not None, "the message")


@staged(size=(60, 15))
async def test_it_has_no_sign_that_many_fonts_lack(s: Stage) -> None:
    await s.press("ctrl+p")
    await s.until_text("a channel, person, message")
    assert "\N{RIGHT-POINTING MAGNIFYING GLASS}" not in s.text()


@staged("lobby", "a-channel-with-a-name", size=(20, 8))
async def test_it_takes_the_room_that_a_larger_screen_has(s: Stage) -> None:
    """Rows that were fitted to a small one were cut for as long as it was open."""
    await s.press("ctrl+p")
    await s.until_text("channel a-ch")
    assert "channel a-channel-with-a-name" not in s.text()
    await s.pilot.resize_terminal(80, 24)
    await s.until_text("channel a-channel-with-a-name")


@staged("lobby", "dev", theme="plain")
async def test_without_colour_the_chosen_offer_is_seen(s: Stage) -> None:
    await s.press("ctrl+p")
    await s.until_text("channel dev")
    strips = s.app.screen._compositor.render_strips()
    marked = [
        segment.text
        for strip in strips
        for segment in strip
        if segment.style is not None and segment.style.bgcolor != segment.style.color and "channel " in segment.text
    ]
    assert [text.strip() for text in marked] == ["channel dev"]


@staged()
async def test_a_theme_is_shown_while_one_moves_and_goes_with_esc(s: Stage) -> None:
    before = s.app.theme
    await _ask(s, "theme light", "theme light")
    await s.until(lambda: s.app.theme == "chat-light", "the theme")
    await s.press("escape")
    await s.settle()
    assert s.app.theme == before
    assert s.app.preferences.theme == "auto"
    await _ask(s, "theme light", "theme light")
    await s.press("enter")
    await s.until(lambda: s.app.preferences.theme == "light", "the choice")
    assert s.app.theme == "chat-light"


@staged(theme="light")
async def test_it_offers_the_theme_that_follows_the_terminal(s: Stage) -> None:
    assert s.app.theme == "chat-light"
    await _ask(s, "theme auto", "theme auto")
    await s.until(lambda: s.app.theme == "chat-dark", "the theme of a terminal that is dark")
    await s.press("enter")
    await s.until(lambda: s.app.theme_now is None, "the choice")
    assert s.app.preferences.theme == "auto"


@staged()
async def test_it_takes_the_colours_of_the_theme_that_it_shows(s: Stage) -> None:
    """Textual gives a theme to all screens but those of the system, such as the palette."""
    await _ask(s, "theme light", "theme light")
    await s.until(lambda: s.app.theme == "chat-light", "the theme")
    await s.settle()
    wanted = Color.parse(s.app.theme_variables["surface"])
    assert s.app.screen.query_one(CommandList).styles.background == wanted
    assert s.app.screen.styles.background.a == 0  # the chat behind has its true colours


@staged(theme="plain")
async def test_with_no_color_no_theme_is_shown(s: Stage) -> None:
    s.app.colours_off = True
    before = s.app.theme
    await _ask(s, "theme light", "theme light")
    assert "For a start without NO_COLOR" in s.text()
    assert s.app.theme == before
    await s.press("escape")
    await s.settle()
    assert s.app.theme == before


@staged("lobby", "dev", size=(80, 24))
async def test_an_offer_is_one_row_with_what_it_is(s: Stage) -> None:
    await s.press("ctrl+p")
    await s.until_text("channel dev")
    rows = [line.strip("│ ") for line in s.lines()]
    assert any(row.split() == ["channel", "dev", "Show", "this", "channel"] for row in rows)
    assert any("Enter chooses" in line and "Esc closes" in line for line in s.lines())


@staged(size=(60, 10))
async def test_its_frame_is_whole_on_small_screens(s: Stage) -> None:
    await s.press("ctrl+p")
    for height in (10, 6, 15):
        await s.pilot.resize_terminal(60, height)
        await s.until(lambda: any(line.startswith("╰") and "Esc closes" in line for line in s.lines()), f"{height}")


@staged(size=(80, 24))
async def test_a_message_with_the_words_comes_before_what_has_their_letters_scattered(s: Stage) -> None:
    await s.enter("bring the long rope")
    await s.press("ctrl+p", *"rope")
    await s.until_text("ann: bring the long rope")
    assert "ann: bring the long rope" in s.lines()[4], "it is the first"


@staged(size=(80, 24))
async def test_scattered_letters_find_nothing_where_a_name_has_the_words(s: Stage) -> None:
    """`/create CHANNEL [private|members|since-join]` stood below the themes."""
    await s.press("ctrl+p", *"theme")
    await s.until_text("theme contrast")
    assert "/theme" in s.text()
    assert "/create" not in s.text()


@staged(size=(80, 24))
async def test_what_nothing_has_is_named_with_the_way_back(s: Stage) -> None:
    await s.press("ctrl+p", *"zzqq")
    await s.until_text("Nothing here has zzqq. Backspace takes a letter back.")


@staged("lobby", "dev", "ops", "art", peers=("bob",), size=(80, 24))
async def test_channels_with_news_come_first_and_the_shown_one_last(s: Stage) -> None:
    """It offered the channel that was shown first, where Enter did nothing."""
    s.say("something new", channel="ops")
    s.say("ann: come here", channel="art")
    await s.until(lambda: s.app.workspace.counted("art") == (1, 1) and s.app.workspace.counted("ops") == (1, 0), "news")
    await s.press("ctrl+p")
    await s.until_text("channel art")
    offered = [line.strip("│ ").split(maxsplit=2)[1:] for line in s.lines() if "│ channel " in line]
    assert offered == [
        ["art", "1 unread, 1 to you"],
        ["ops", "1 unread"],
        ["dev", "Show this channel"],
        ["lobby", "Shown now"],
    ]


@staged(size=(80, 24))
async def test_an_offer_is_found_by_a_word_of_what_it_is_and_the_word_is_marked(s: Stage) -> None:
    await s.press("ctrl+p", *"brow")

    def marked() -> set[str]:
        drawn = [segment for strip in s.app.screen._compositor.render_strips() for segment in strip]
        return {each.text for each in drawn if each.style is not None and each.style.underline}

    await s.until(lambda: marked() == {"brow"}, "the beginning of browser")
    assert "Open a link in the browser" in s.text()


@staged(size=(80, 24))
async def test_letters_scattered_over_what_an_offer_is_find_nothing(s: Stage) -> None:
    await s.press("ctrl+p", *"ro")
    await s.until_text("/reconnect")
    assert "/outbox" not in s.text(), "r and o of two words of its explanation"
