"""The line for the words of a search, above the input while one searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static


class FindInput(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,up", "app.find_on(-1)", "Older hit", show=False),
        Binding("shift+enter,down", "app.find_on(1)", "Newer hit", show=False),
        Binding("tab", "app.find_list", "List of hits", show=False),
    ]


class FindBar(Horizontal):
    """The words, and beside them what was found."""

    DEFAULT_CSS = """
    FindBar { height: 1; display: none; background: $panel; }
    FindBar Static { width: auto; background: $panel; padding: 0 1; }
    FindBar #found { color: $warning; }
    FindBar FindInput, FindBar FindInput:focus { width: 1fr; height: 1; border: none; padding: 0;
        background: $surface; }
    """

    def __init__(self, typed: Callable[[], None], *, id: str) -> None:
        """`typed` is called when the words change."""
        self.words = FindInput(placeholder="words  from:nick  since:2d  before:10:00", compact=True)
        self._found = Static("", id="found", markup=False)
        super().__init__(Static("find", markup=False), self.words, self._found, id=id)
        self._typed = typed

    def on_input_changed(self) -> None:
        self._typed()

    def say(self, text: str) -> None:
        self._found.update(text)
