"""The three members on the screen: their logs side by side, and how many files have the word."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widgets import Static

from sdschat.tui.beside import end_after, run_beside
from sdschat.tui.model.words import ASCII, UNICODE, count
from sdschat.tui.terminal import KeysWithoutAlt, driver
from sdschat.tui.theatre.members import MEMBERS, WORD, MembersGroup, MembersPlayer, WordSearch
from sdschat.tui.theatre.pane import Pane, Steady
from sdschat.tui.themes import AUTO, PALETTES, LineStyle, keys_marked, theme_in_force

LEAST: Final = (60, 12)  # columns and lines
_ROOMY: Final = 75  # columns from which the words beside a name are whole
_FRAME: Final = 0.2  # seconds
_SEARCH: Final = 1.0  # seconds between two searches of the files
_KEYS: Final = ("space pause", "→ next act", "q quit")


class MembersApp(KeysWithoutAlt):
    """Three panes; above them the state of all, below them the words of the script."""

    TITLE = "sdschat"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #told, #state, #keys { height: 1; padding: 0 1; }
    #told { height: 2; }
    #state { background: $panel; }
    #keys { color: $foreground 70%; }
    #panes { height: 1fr; }
    #stage { height: 1fr; }
    .pane { border: round $secondary; border-title-color: $foreground; border-subtitle-color: $foreground 75%;
        width: 1fr; height: 1fr; padding: 0 1; }
    #small { display: none; height: 1fr; padding: 1 2; }
    MembersApp.-small #stage { display: none; }
    MembersApp.-small #small { display: block; }
    MembersApp.-ascii .pane { border: ascii $secondary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", show=False),
        Binding("right", "step", show=False),
        Binding("q,ctrl+c,ctrl+q,escape", "end", show=False),
    ]

    def __init__(self, watched: MembersGroup, *, ascii_only: bool = False, theme: str | None = None) -> None:
        super().__init__(driver())
        self.watched = watched
        self.palette = PALETTES[theme_in_force(theme or AUTO)]
        self.line_style = LineStyle(palette=self.palette, glyphs=ASCII if ascii_only else UNICODE, ids=False)
        self.player = MembersPlayer(watched, self.tell)
        self.panes = {nick: Pane(nick, self.line_style, notes=True) for nick in MEMBERS}
        self.state, self.told = Steady(id="state"), Static("", id="told", markup=False)
        self.keys, self.small = Static("", id="keys", markup=False), Static("", id="small", markup=False)
        self.found = WordSearch(0, 0)
        self._was_found = False  # somebody has written the word
        self._fitted = Size()

    def compose(self) -> ComposeResult:
        with Vertical(id="stage"):
            yield self.state
            yield Horizontal(*self.panes.values(), id="panes")
            yield self.told
            yield self.keys
        yield self.small

    def on_mount(self) -> None:
        self.register_theme(self.palette.theme)
        self.theme = self.palette.theme.name
        self.set_class(self.line_style.glyphs is ASCII, "-ascii")
        keys = (self._plain(each) for each in _KEYS)
        self.keys.update(keys_marked(keys, self._plain(" · "), coloured=not self.palette.theme.ansi))
        self.draw()
        self.set_interval(_FRAME, self.draw)

    async def search_on(self) -> None:
        """Search the files again and again."""
        while True:
            self.found = await self.watched.search()
            await asyncio.sleep(_SEARCH)

    def _plain(self, text: str) -> str:
        if self.line_style.glyphs is UNICODE:
            return text
        return text.replace(" · ", " | ").replace("→", "right").replace("“", '"').replace("”", '"')

    def draw(self) -> None:
        """Draw everything: little, and the same however long the logs are."""
        if self.size != self._fitted:
            self._fitted = self.size
            width, height = self.size
            self.set_class(width < LEAST[0] or height < LEAST[1], "-small")
            needs = f"The three members need {LEAST[0]} columns and {LEAST[1]} lines; here are {width} and {height}."
            self.small.update(f"{needs} q quits.")
        numbers = {nick: self.watched.settled(nick) for nick in MEMBERS}
        for nick, pane in self.panes.items():
            self._entitle(pane, numbers)
            pane.log_end.draw(self.watched.models[nick])
        self._draw_state()

    def _entitle(self, pane: Pane, numbers: dict[str, int | None]) -> None:
        glyphs, number = self.line_style.glyphs, numbers[pane.nick]
        here = self.watched.is_member(pane.nick)
        equal = len(set(numbers.values())) == 1
        sign = glyphs.acked if equal and here else glyphs.maybe if here else glyphs.refused
        style = self.line_style.style("acked" if equal and here else "unacked" if here else "refused")
        settled = f"settled {number}" if self.size.width >= _ROOMY else str(number)
        shown = settled if number else "knocks"
        deaf = "hears nobody" if pane.nick in self.watched.silent else ""
        out = "" if here or not number else "was put out"
        remark = " and ".join(filter(None, (deaf, out)))
        pane.entitle(sign, shown, [remark] if remark else [], style, flash=False)

    def _draw_state(self) -> None:
        glyphs = self.line_style.glyphs
        members = sum(map(self.watched.is_member, MEMBERS))
        text = Text(count(members, "member"))
        self._was_found = self._was_found or self.found.having > 0
        if self._was_found:  # it means nothing before anybody wrote the word
            style = self.line_style.style("unacked" if self.found.having else "acked")
            words = self._plain(f"“{WORD}” is in {self.found.having} of {self.found.files} files")
            text.append(f" {glyphs.between} ").append(words, style + Style(bold=True))
        if self.player.paused:
            text.append(f" {glyphs.between} paused", self.line_style.style("unacked"))
        self.state.update(text)

    def tell(self, text: str) -> None:
        self.told.update(self._plain(text))

    # Keys.

    def action_pause(self) -> None:
        self.player.pause()

    def action_step(self) -> None:
        self.player.step()

    def action_end(self) -> None:
        self.exit(0)


async def show(watched: MembersGroup, seconds: float | None, *, ascii_only: bool, theme: str | None) -> int:
    """Run until the user quits, or for `seconds`, and return the exit code."""
    app = MembersApp(watched, ascii_only=ascii_only, theme=theme)
    watched.failed = app.fail
    return await run_beside(app, app.player.play(), app.search_on(), end_after(app, seconds))
