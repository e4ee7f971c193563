"""The frames around the input and the lists: where a text goes, and the keys of what has the focus."""

from __future__ import annotations

from typing import Final

from textual.content import Content
from textual.widget import Widget

from sdschat.tui.model.cleaning import clean
from sdschat.tui.widgets.log_view import LogView
from sdschat.tui.window import Window

_RULED: Final = (60, 20)  # columns and lines from which a line stands above the input
_FRAMED: Final = (100, 24)  # and from which there are whole frames
_NAME: Final = 40
_INPUT_KEYS: Final = ("Enter send", "Alt+Enter new line", "Tab complete", "/ commands")
_LOG_KEYS: Final = ("r answer", "i details", "t thread", "o open link", "y copy", "Esc back")


class Frames:
    """Draws frames where there is room for them."""

    def __init__(self, screen: Window, *lists: Widget) -> None:
        self._screen = screen
        self._lists = lists

    def fit(self) -> None:
        """Fit the frames to the size of the terminal."""
        screen = self._screen
        framed = screen.width >= _FRAMED[0] and screen.height >= _FRAMED[1]
        ruled = not framed and screen.width >= _RULED[0] and screen.height >= _RULED[1]
        screen.entry.set_class(framed, "-framed")
        screen.entry.set_class(ruled, "-ruled")
        for each in self._lists:
            each.set_class(framed, "-framed")
        self.draw()

    def draw(self, focused: Widget | None = None) -> None:
        """Draw the titles. `focused`: what has the focus now."""
        screen = self._screen
        model = screen.desktop.models.get(screen.desktop.shown)
        if model is None:
            return
        entry, alone = screen.entry, bool(model.conversation.peer)
        name = clean(screen.label(screen.desktop.shown), limit=_NAME)
        entry.set_class(alone, "-alone")
        title = f"to {name} alone" if alone else f"message {name}"
        entry.border_title = Content(f" {title} " if entry.has_class("-ruled") else title)
        keys = _LOG_KEYS if isinstance(focused, LogView) else _INPUT_KEYS
        between = f" {screen.line_style.glyphs.between} "
        room = screen.width - len(name) - 30
        shown = [*keys]
        while shown and len(between.join(shown)) > room:
            shown.pop()
        entry.border_subtitle = Content(between.join(shown))
        channels, _ = self._lists
        channels.border_title = "channels"
