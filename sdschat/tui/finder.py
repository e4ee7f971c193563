"""The search as one types: it runs at each pause, jumps to the newest hit, and stays there when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Region
from textual.widgets import Input, Static

from sdschat.node.tasks import start
from sdschat.node.view.searching import HistorySearch, SearchQuery
from sdschat.tui.commands.searching import FOUND, hit_words, hits_page, said_by, step_hit, wanted_by
from sdschat.tui.later import later
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import reason_text
from sdschat.tui.window import Window

_PAUSE: Final = 0.12  # seconds without a key before it searches
_ROOM_FOR_WORDS: Final = 18  # columns for the words, before the keys get any
_LEAST_FOR_WORDS: Final = 14  # with what stands before them and between, where there are few columns
_CURSOR: Final = 1  # column behind the words
_BESIDE: Final = 9  # columns for what stands before the words, and between
_MAY_SAY: Final = "words  from:nick  since:2d  before:10:00"
_KEYS: Final = ("Enter older, Down newer, Tab list, F6 log, Esc ends", "Tab list, Esc ends", "")
_KEYS_OF_NOTHING: Final = ("Esc ends", "")
_NOTHING_FOUND: Final = "not in this channel as a word or its beginning"
_NOTHING_HERE: Final = "not here as a word or its beginning; Ctrl+P: all channels"
_NOTHING_OF_THAT: Final = "no message with all of that"  # the words alone may be there
_FEW_NOT_FOUND: Final = "none"


class FindInput(Input):
    named_keys: ClassVar = ()  # they stand beside the number of hits
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,up", "app.find_on(-1)", "Older hit", show=False),
        Binding("shift+enter,down", "app.find_on(1)", "Newer hit", show=False),
        Binding("tab", "app.find_list", "List of hits", show=False),
    ]

    def on_resize(self) -> None:
        """Keep the cursor in sight: the number of hits takes room from what is written already."""
        before = self.value[: self.cursor_position]
        self.scroll_to_region(Region(cell_len(before), 0, _CURSOR, 1), force=True, animate=False)

    async def _on_key(self, event: events.Key) -> None:
        """Do at once what a key is bound to here: letters that come with it follow it."""
        bound = self._bindings.key_to_bindings.get(event.key)
        if bound:
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)


class FindBar(Horizontal):
    """The line for the words of a search, above the input; beside them stands the number of hits."""

    DEFAULT_CSS = """
    FindBar { height: 1; display: none; background: $panel; }
    FindBar Static { width: auto; background: $panel; padding: 0 1; }
    FindBar #found { color: $foreground 70%; }
    FindBar FindInput, FindBar FindInput:focus { width: 1fr; height: 1; border: none; padding: 0;
        background: $panel; }
    """

    def __init__(self, typed: Callable[[], None], between: str, *, id: str) -> None:
        """`typed` is called when the words change; `between` stands between two parts of what is said."""
        self.words = FindInput(placeholder=_MAY_SAY, compact=True)
        self._found = Static("", id="found", markup=False)
        super().__init__(Static("find", markup=False), self.words, self._found, id=id)
        self._typed = typed
        self._between = between
        self._said = ("", "", False)

    def on_input_changed(self) -> None:
        self._typed()

    def on_resize(self) -> None:
        text, few, keys = self._said
        self.say(text, few, keys=keys)

    def say(self, text: str, few: str, *, keys: bool = False) -> None:
        """Show a text, and the keys behind it that there is room for. What may be written comes first. `few`: what of
        the text is shown where there is no room for the whole."""
        self._said = text, few, keys
        room = self.size.width - self._room_for_words(found=few != _FEW_NOT_FOUND)
        named = (_KEYS if few != _FEW_NOT_FOUND else _KEYS_OF_NOTHING) if keys else ("",)
        told = [(said, each) for each in named for said in ((text, few) if few != _FEW_NOT_FOUND else (text,))]
        lines = (f" {self._between} ".join(filter(None, each)) for each in told)
        fits = next((each for each in lines if cell_len(each) <= room), None)
        if fits is None:
            fits = few if cell_len(few) <= self.size.width - _LEAST_FOR_WORDS else ""
        self._found.update(fits)

    def _room_for_words(self, *, found: bool) -> int:
        """Return the columns for the words: all they need, but where nothing was found, and a sentence says why."""
        if not self.words.value:
            return len(_MAY_SAY) + _BESIDE
        return max(_ROOM_FOR_WORDS, cell_len(self.words.value) + _CURSOR + _BESIDE if found else 0)


class Finder:
    def __init__(self, host: Window) -> None:
        self._host = host
        self.bar = FindBar(self.typed, host.glyphs.between, id="find")
        self.words = self.bar.words
        self._pause: asyncio.TimerHandle | None = None
        self._search: HistorySearch | None = None

    @property
    def is_open(self) -> bool:
        return bool(self.bar.display)

    def open(self) -> None:
        """Begin a search, or go back to the words of one."""
        if not self.is_open:
            self.bar.display = True
            self.words.value = ""
            self._say("")
        self.words.screen.set_focus(self.words)  # now: letters may follow

    def close(self, *, marks: bool) -> None:
        """End the search. The log stays at the hit, with the words marked, or without."""
        self.stop()
        self.bar.display = False
        if not marks:
            self._host.mark("")

    def stop(self) -> None:
        """End what is under way."""
        if self._pause is not None:
            self._pause.cancel()
        if self._search is not None:
            self._search.stop()

    def typed(self) -> None:
        """Search at the next pause. A search that still runs is for other words, and ends."""
        self.stop()
        if self.is_open:
            self._say("...")
            self._pause = later(self.bar, _PAUSE, self._begin)

    def _begin(self) -> None:
        start(self._find(), lambda error: self._refuse(reason_text(error)))

    async def _find(self) -> None:
        host, model, text = self._host, self._host.model, self.words.value
        model.hits = []
        if not text.strip():
            host.mark("")
            self._say("")
            return
        try:
            wanted = wanted_by(host, text)
        except CommandError as error:
            self._refuse(str(error))
            return
        search = self._search = HistorySearch(host.node, model.conversation, wanted, FOUND)
        found = await search.run()
        if search is not self._search or not self.is_open or host.model is not model:
            return
        model.hits, model.hit_at = found, len(found) - 1
        host.mark(wanted.words)
        if found:
            self.go(0)
        else:
            words_alone = wanted == SearchQuery(wanted.words)
            nowhere = _NOTHING_HERE if len(host.order) > 1 else _NOTHING_FOUND
            self._say(nowhere if words_alone else _NOTHING_OF_THAT, _FEW_NOT_FOUND)

    def go(self, step: int) -> None:
        """Jump to an older hit, or to a newer one."""
        host = self._host
        try:
            step_hit(host, step)
        except CommandError as error:
            self._say(str(error), keys=False)
        else:
            self._say(f"{hit_words(host)} {said_by(host)}", hit_words(host))
        host.warn("")

    def list_hits(self) -> None:
        """Show all hits on a sheet."""
        try:
            page = hits_page(self._host)
            self._host.show_pages([page], page.title)
        except CommandError as error:
            self._refuse(str(error))

    def _refuse(self, text: str) -> None:
        """Say what is wrong with the words: above the input, where there is room for a sentence."""
        self._say("")
        self._host.refuse(text)

    def _say(self, text: str, few: str = "", *, keys: bool = True) -> None:
        self.bar.say(text, few, keys=keys)
