"""Keys that come in one burst, of a fast user or over a slow connection, act in their order."""

from __future__ import annotations

from textual import events

from tests.tui.stage import Stage, staged


async def _at_once(s: Stage, *keys: str) -> None:
    for key in keys:
        s.app.post_message(events.Key(key, "\r" if key == "enter" else key if len(key) == 1 else None))
    await s.settle()


def _said(s: Stage, channel: str) -> list[str]:
    return [shown.text or "" for shown in s.app.view.channel(channel).messages()]


@staged("lobby", "dev")
async def test_a_line_behind_which_another_channel_is_chosen_at_once_goes_where_it_was_written(s: Stage) -> None:
    """It was not sent; what stood half written in the other channel was."""
    await s.type("half of it")
    await s.press("alt+2")
    await s.type("for dev")
    await _at_once(s, "enter", "alt+1")
    await s.until(lambda: _said(s, "dev") == ["for dev"])
    assert s.app.shown == "lobby"
    assert s.app.composer.text == "half of it"
    assert _said(s, "lobby") == []


@staged("lobby", "dev")
async def test_letters_before_and_behind_the_key_of_a_channel_are_for_their_channels(s: Stage) -> None:
    await _at_once(s, "a", "b", "alt+2", "c", "alt+1")
    assert s.app.composer.text == "ab"
    await s.press("alt+2")
    assert s.app.composer.text == "c"


@staged(peers=("bob",), syncs=True)
async def test_a_line_to_one_alone_is_not_written_to_all_where_esc_comes_at_once_with_enter(s: Stage) -> None:
    await s.until(lambda: bool(s.app.node.sessions["lobby"].presence.keys))
    await s.enter("/msg bob")
    await s.type("for you alone")
    await _at_once(s, "enter", "escape")
    assert s.app.shown == "lobby"
    assert _said(s, "lobby") == []
    await s.press("alt+2")
    assert any("for you alone" in line for line in s.log())


@staged("lobby", "dev")
async def test_what_is_typed_at_once_behind_a_command_that_changes_the_channel_is_for_that_one(s: Stage) -> None:
    """It was put away as a draft of the channel before."""
    await s.type_at_once("/go dev\rhel")
    assert s.app.shown == "dev"
    assert s.app.composer.text == "hel"
    await s.press("alt+1")
    assert s.app.composer.text == ""


@staged(peers=("bob",), syncs=True)
async def test_lines_at_once_behind_msg_are_to_one_alone(s: Stage) -> None:
    await s.until(lambda: bool(s.app.node.sessions["lobby"].presence.keys))
    await s.type_at_once("/msg bob\rone\rtwo\rthr")
    assert s.app.composer.text == "thr"
    assert _said(s, "lobby") == []


@staged("lobby", "dev", size=(60, 11))
async def test_a_line_behind_which_another_channel_is_clicked_at_once_goes_where_it_was_written(s: Stage) -> None:
    await s.type("for the lobby")
    at = s.lines()[0].index("2 dev")
    s.app.post_message(events.Key("enter", "\r"))
    for kind in (events.MouseDown, events.MouseUp):
        s.app.post_message(kind(None, at, 0, 0, 0, 1, False, False, False, at, 0))
    await s.until(lambda: s.app.shown == "dev")
    await s.settle()
    assert (_said(s, "lobby"), _said(s, "dev")) == (["for the lobby"], [])
    assert s.app.composer.text == ""


@staged()
async def test_another_window_has_the_keys_where_it_takes_them_at_once_behind_enter(s: Stage) -> None:
    """Enter acted after the news, and said that this window has them: nothing told the user of a mention."""
    await s.type("hello")
    s.app.post_message(events.Key("enter", "\r"))
    s.app.post_message(events.AppBlur())
    await s.until(lambda: _said(s, "lobby") == ["hello"])
    await s.settle()
    assert not s.app.app_focus
