"""The input: one line that grows. Enter sends; pasting never does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea

from sdschat.tui.model.line_input import Completion, InputHistory
from sdschat.tui.model.words import count

_SEEN: Final = 8  # lines of the input that are seen
_HINTED: Final = 4  # lines of a hint that are seen
_KIB: Final = 1024
_TINY: Final = 5  # lines of a screen where it is one
_NEW_LINE: Final = frozenset({"alt+enter", "ctrl+j", "shift+enter"})


class Composer(TextArea):
    """The input, with its history and its completion. The receiver of `Submitted` sends the text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.escape", "Back", show=False)]
    DEFAULT_CSS = """
    Composer, Composer:focus { border: none; padding: 0; height: auto; min-height: 1;
        background: $surface; scrollbar-size-vertical: 1; }
    """

    @dataclass
    class Submitted(Message):
        text: str

    @dataclass
    class Paged(Message):
        """The log has to move by so many pages."""

        pages: int

    @dataclass
    class Said(Message):
        """A line about the input itself: the choices of a completion, or the search in the history. `passes`: it goes
        by itself."""

        text: str
        passes: bool = False

    def __init__(self, past: InputHistory, complete: Callable[[str, int], Completion | None], *, id: str) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
        )
        self.input_history = past
        self.most_bytes = 0  # that a message may have; 0: not known
        self._complete = complete
        self._completion: Completion | None = None
        self._chord = False  # Ctrl+X came last, with nothing marked to be cut: Ctrl+E opens the editor
        self._searching: str | None = None  # what is searched for in the history
        self._unsearched = ""  # the text before the search
        self._refused = ""  # the text that was put back to be corrected

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "tab":
            if self._completion is not None:
                self.post_message(self.Said(""))  # the choices are those of another text now
            self._completion = None
        if self._searching is not None and self._search_key(event):
            event.stop()
            event.prevent_default()
            return
        chord, self._chord = self._chord, event.key == "ctrl+x" and not self.selected_text
        if self._chord or (chord and event.key == "ctrl+e"):
            event.stop()
            event.prevent_default()
            if not self._chord:
                await self.run_action("app.editor")
            return
        if event.character == "/" and self._is_behind_refused():
            self._refused = ""
            self.select_all()  # another command takes the place of the refused one
        action = self._action(event.key)
        bound = self._bindings.key_to_bindings.get(event.key)
        if action is None and bound is None:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        if action is not None:
            action()
        elif bound:
            # Now: Textual would run it after the keys that are typed behind it, and a backspace would take those.
            await self.run_action(bound[0].action)

    def _is_behind_refused(self) -> bool:
        """True if the input is a refused command, with the cursor behind it."""
        refused = self._refused.startswith("/") and self.text == self._refused
        return refused and self.cursor_location == self.document.end

    def on_paste(self, event: events.Paste) -> None:
        """Say of a long text how long it is: the input shows the end of it, and Enter sends all. Most terminals paste a
        line break as a carriage return."""
        event.stop()
        lines = len(event.text.splitlines())
        large = len(event.text.encode()) > self.most_bytes > 0
        if lines > _SEEN or large:
            said = f"more than a message in a channel holds ({self.most_bytes // _KIB} KiB), Ctrl+Z takes it back"
            sends = "Enter sends all of it as one message, Ctrl+Z takes it back"
            self.post_message(self.Said(f"{count(lines, 'line')} pasted; {said if large else sends}"))

    def _action(self, key: str) -> Callable[[], object] | None:
        row = self.cursor_location[0]
        if key in _NEW_LINE:
            return lambda: self.insert("\n")
        if key == "up" and row == 0:
            return lambda: self._recall(self.input_history.older(self.text))
        if key == "down" and row == self.document.line_count - 1:
            return lambda: self._recall(self.input_history.newer(self.text))
        actions: dict[str, Callable[[], object]] = {
            "enter": self._submit,
            "tab": self._tab,
            "pageup": lambda: self.post_message(self.Paged(-1)),
            "pagedown": lambda: self.post_message(self.Paged(1)),
            "ctrl+r": self._search,
        }
        return actions.get(key)

    def _submit(self) -> None:
        """Empty the input, then post its text: the next key may come before the message is handled."""
        text = self.text
        if text.strip():
            self.begin("")
            self.post_message(self.Submitted(text))

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor. Textual asks for it also while an edit is taken back, where the text has become shorter
        and the cursor is not in it yet."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:
        """Return the start of the line, however many rows it takes: Ctrl+U leaves nothing of it to be sent."""
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        """Return the end of the line, however many rows it takes."""
        row = self.cursor_location[0]
        return row, len(self.document[row])

    def fit(self, lines: int) -> None:
        """Take no more than half of the lines of the screen: the log is seen, too."""
        self.styles.max_height = max(1, min(_SEEN, lines // 2))

    def begin(self, text: str, *, refused: bool = False) -> None:
        """Show another text, of which nothing is taken back. `refused`: a / behind this command begins another one."""
        self._completion = None
        self._refused = text if refused else ""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def put(self, text: str) -> None:
        """Replace the text, and put the cursor at its end. Ctrl+Z takes it back."""
        self._completion, self._refused = None, ""
        self._replace(text)
        self.move_cursor(self.document.end)

    def _replace(self, text: str) -> None:
        self.history.checkpoint()
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.put(text)

    # Completion.

    def _tab(self) -> None:
        if self._completion is None:
            at = self._cursor_index()
            self._completion = self._complete(self.text, at)
        found = self._completion
        if found is None:
            self.post_message(self.Said("nothing to complete here", passes=True))
            return
        word = found.turn()
        head, tail = self.text[: found.start], found.rest
        self._replace(head + word + tail)
        before = (head + word).split("\n")
        self.move_cursor((len(before) - 1, len(before[-1])))
        width, height = self.app.size
        if found.alone:
            self._completion = None  # the next press completes what follows
        self.post_message(self.Said(found.choices(width - 2, _HINTED if height > _TINY else 1)))

    def _cursor_index(self) -> int:
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.text.split("\n")[:row]) + column

    # Search in the history.

    def _search(self) -> None:
        self._searching, self._unsearched = "", self.text
        self._show_search(self.text)

    def _search_key(self, event: events.Key) -> bool:
        """Handle a key of the search. Return False for any other key, which ends the search and keeps its hit."""
        assert self._searching is not None
        key = event.key
        if key == "ctrl+r":
            self._find(self.input_history.search(self._searching, further=True))
        elif key == "backspace":
            self._searching = self._searching[:-1]
            self._find(self.input_history.search(self._searching))
        elif event.is_printable and event.character is not None:
            self._searching += event.character
            self._find(self.input_history.search(self._searching))
        elif key == "escape":
            self._end_search()
            self.put(self._unsearched)
        elif key == "enter":
            self._end_search()
        else:
            self._end_search()
            return False
        return True

    def _find(self, text: str | None) -> None:
        if text is not None:
            self.put(text)
        self._show_search(text)

    def _show_search(self, text: str | None) -> None:
        found = "" if text is not None else ": not found"
        self.post_message(self.Said(f"search in what you wrote: {self._searching}_{found}  (Enter takes it, Esc ends)"))

    def _end_search(self) -> None:
        self._searching = None
        self.post_message(self.Said(""))
