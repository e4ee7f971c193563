"""The frames around the input and the lists: where a text goes, and the keys of what has the focus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from sdschat.tui.model.words import fitted
from sdschat.tui.themes import keys_marked
from sdschat.tui.widgets.lists import ChannelLine, unread_mark
from sdschat.tui.window import Window

_RULED: Final = (50, 12)  # columns and lines from which a line stands above the input
_FRAMED: Final = (100, 24)  # and from which there are whole frames
_NAME: Final = 40
_SIDES: Final = 8  # columns of the frame around the keys
_INPUT_KEYS: Final = ("Enter send", "Alt+Enter new line", "Tab complete", "/ commands")
_KEYS_OF_CHOSEN: Final = ("Enter send", "F6 answer it, copy it", "F5 details", "Esc back")
_KEYS_OF_GAP: Final = ("Enter send", "F5 details", "Esc back")
_KEYS_OF_LENS: Final = ("Esc closes the Lens", "Alt+Left Right views", "F6, Tab scroll")
_KEYS_OF_ANSWER: Final = ("Enter answer", "Esc no answer")
_KEYS_OF_REFUSED: Final = ("Enter again", "Esc empty the input")
_KEYS_OF_RECORDING: Final = ("F8 play or pause", "F9 step", "Ctrl+C twice leaves", "Shift+F9 back", "F10 faster")


class Frames:
    """Draws frames where there is room for them."""

    def __init__(self, screen: Window, *lists: Widget) -> None:
        self._screen = screen
        self._lists = lists
        self._focused: Widget | None = None
        self._answered = ""  # in words, the message that the next one answers
        self._others: list[tuple[str, str]] = []  # the channels that are not shown, and what a click does
        self.ruled = False  # a line stands above the input, and on it the other channels

    def fit(self) -> None:
        """Fit the frames to the size of the terminal."""
        screen = self._screen
        framed = screen.width >= _FRAMED[0] and screen.height >= _FRAMED[1]
        self.ruled = ruled = not framed and screen.width >= _RULED[0] and screen.height >= _RULED[1]
        screen.entry.set_class(framed, "-framed")
        screen.entry.set_class(ruled, "-ruled")
        for each in self._lists:
            each.set_class(framed, "-framed")
        self.draw()

    @property
    def titled(self) -> bool:
        """True if it stands above the input where a text goes."""
        return self.ruled or self._screen.entry.has_class("-framed")

    def focus(self, widget: Widget) -> None:
        """Name the keys of what has the focus now."""
        self._focused = widget
        self.draw()

    def answer(self, words: str) -> None:
        """Say that the next message is an answer; with no words, that it is none."""
        room = max(_NAME, self._screen.width // 2)
        self._answered = fitted(words, room, self._screen.line_style.glyphs.cut).rstrip()
        self.draw()

    def show_others(self, lines: list[ChannelLine]) -> None:
        """Name the channels that are not shown, those with something unread first."""
        numbered = [(number, line) for number, line in enumerate(lines, 1) if not line.shown]
        numbered.sort(key=lambda each: (not each[1].mentions, not each[1].unread))
        others = [
            (f"{number} {line.label} {unread_mark(line)}".rstrip(), f"app.channel({number})")
            for number, line in numbered
        ]
        if others != self._others:
            self._others = others
            self.draw()

    def draw(self) -> None:
        """Draw the titles."""
        screen = self._screen
        model = screen.workspace.models.get(screen.workspace.shown)
        if model is None:
            return
        entry, alone = screen.entry, bool(model.conversation.peer)
        name = screen.label(screen.workspace.shown, _NAME)
        entry.set_class(alone, "-alone")
        title = self._answered or (f"to {name} alone" if alone else f"message {name}")
        if screen.view.recorded:
            title = f"recording of {name}"
        entry.border_title = self._rule(title) if self.ruled else Content(title)
        named = [(each, "") for each in self._named_keys()]
        entry.border_subtitle = self._fitted(named, screen.width - _SIDES)
        channels, _ = self._lists
        channels.border_title = "channels"

    def _named_keys(self) -> Sequence[str]:
        keys: Sequence[str] | None = getattr(self._focused, "named_keys", None)
        if keys is not None:
            return keys
        if self._screen.refused:
            return _KEYS_OF_REFUSED
        if self._answered:
            return _KEYS_OF_ANSWER
        if self._screen.view.recorded:
            return (*_KEYS_OF_RECORDING, *_KEYS_OF_LENS[: self._screen.lens_open])
        if self._screen.lens_open:
            return _KEYS_OF_LENS
        model = self._screen.workspace.models.get(self._screen.workspace.shown)
        if model is None or model.selected is None:
            return _INPUT_KEYS
        return _KEYS_OF_GAP if model.selected in model.timeline.gaps else _KEYS_OF_CHOSEN

    def _rule(self, title: str) -> Content:
        """Return the line above the input: where the text goes, and at its right the other channels or the keys."""
        width = self._screen.width
        keys = self._named_keys()
        of_input = keys in (_INPUT_KEYS, _KEYS_OF_CHOSEN, _KEYS_OF_GAP, ())
        names_others = of_input and not self._lists[0].display  # else the list of channels does
        shown = (self._others if names_others else []) or [(each, "") for each in keys]
        badges = self._fitted(shown, width - cell_len(title) - 9)
        if not badges:
            return Content(f" {title} ")
        rule = self._screen.line_style.glyphs.rule * (width - cell_len(title) - badges.cell_length - 7)
        entry = self._screen.entry
        colour = "$secondary" if not entry.has_focus_within else "$primary" if entry.has_class("-alone") else "$accent"
        return Content.assemble(
            f" {title} ", (rule, f"not bold {colour}"), " ", badges.stylize_before("not bold $foreground"), " "
        )

    def _fitted(self, parts: Sequence[tuple[str, str]], room: int) -> Content:
        """Return as many of the parts as fit whole, joined. A part is a text, and the action of a click on it."""
        between = f" {self._screen.line_style.glyphs.between} "
        shown = [*parts]
        while shown and cell_len(between.join(text for text, _ in shown)) > room:
            shown.pop()
        coloured = not self._screen.line_style.palette.theme.ansi
        drawn = [
            Content.styled(text, Style.from_meta({"@click": does}))
            if does
            else keys_marked([text], between, coloured=coloured)
            for text, does in shown
        ]
        return Content(between).join(drawn)
