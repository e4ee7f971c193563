"""The theatre on the screen: keys in, four logs and the links between them out."""

from __future__ import annotations

import time
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Input, Static

from sdschat.tui.beside import end_after, run_beside
from sdschat.tui.model.words import ASCII, UNICODE
from sdschat.tui.terminal import KeysWithoutAlt, driver
from sdschat.tui.theatre.group import TheatreGroup
from sdschat.tui.theatre.pane import Pane, PlayedInput, Steady
from sdschat.tui.theatre.player import TheatrePlayer
from sdschat.tui.theatre.script import KEYS_OF_HELP, LINKS, ME, PEOPLE, help_in, keys_in
from sdschat.tui.themes import AUTO, PALETTES, LineStyle, keys_marked, theme_in_force

LEAST: Final = (60, 15)  # columns and lines
_FRAMED: Final = (70, 22)  # from which there is a frame around help
_FRAME: Final = 0.1  # seconds
_LOOK: Final = 0.4  # seconds between two looks at the fingerprints
_FLASH: Final = 1.2  # seconds
_APART: Final = 2.0  # seconds for which logs differ before it is said: each message takes a moment
# Actions of keys that are text in a line.
_LETTERS: Final = ("turn", "split", "mend", "loss", "restart", "pause", "step", "help_by_letter", "end_by_letter")
_ENDING: Final = ("ctrl+c", "ctrl+q")  # keys that end the theatre, also from help


class TheatreApp(KeysWithoutAlt):
    """Four panes, and the links between them."""

    TITLE = "sdschat"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; layers: default above; align: center middle; }
    #told, #state, #keys { height: 1; padding: 0 1; }
    #told { height: auto; max-height: 2; }
    #state { background: $panel; }
    #keys { color: $foreground 70%; }
    .row { height: 1fr; }
    .pane { border: round $secondary; border-title-color: $foreground; border-subtitle-color: $foreground 75%;
        width: 1fr; height: 1fr; padding: 0 1; }
    .pane.-chosen { border: heavy $accent; }
    .pane Input { height: 1; background: $surface; opacity: 100%; }
    .pane Input > .input--placeholder { color: $foreground 75%; }
    .link { width: 3; height: 1fr; content-align: center middle; }
    #middle { height: 1; }
    #help { display: none; layer: above; width: 100%; height: 100%; padding: 0 1; background: $surface; }
    #help.-framed { width: auto; height: auto; border: round $accent; border-title-color: $accent; padding: 1 2; }
    #small { display: none; height: 1fr; padding: 1 2; }
    TheatreApp.-help #help { display: block; }
    TheatreApp.-small #stage, TheatreApp.-small #help { display: none; }
    TheatreApp.-small #small { display: block; }
    #stage { height: 1fr; }
    TheatreApp.-ascii #help.-framed { border: ascii $accent; }
    TheatreApp.-ascii .pane { border: ascii $secondary; }
    TheatreApp.-ascii .pane.-chosen { border: ascii $accent; border-title-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"turn({number})", show=False, priority=True) for number in range(1, len(LINKS) + 1)),
        Binding("s", "split", show=False, priority=True),
        Binding("m", "mend", show=False, priority=True),
        Binding("l", "loss", show=False, priority=True),
        Binding("k", "restart", show=False, priority=True),
        Binding("space", "pause", show=False, priority=True),
        Binding("right", "step", show=False, priority=True),
        Binding("tab", "choose(1)", show=False, priority=True),
        Binding("shift+tab", "choose(-1)", show=False, priority=True),
        Binding("enter", "write", show=False, priority=True),
        Binding("escape", "keys", show=False, priority=True),
        Binding("f1", "help", show=False, priority=True),
        Binding("question_mark", "help_by_letter", show=False, priority=True),
        Binding("q", "end_by_letter", show=False, priority=True),
        Binding("ctrl+c,ctrl+q", "end", show=False, priority=True),
    ]

    def __init__(
        self, watched: TheatreGroup, loss: float, *, ascii_only: bool = False, theme: str | None = None
    ) -> None:
        super().__init__(driver())
        self.watched = watched
        self.palette = PALETTES[theme_in_force(theme or AUTO)]
        self.line_style = LineStyle(palette=self.palette, glyphs=ASCII if ascii_only else UNICODE, ids=False)
        self.player = TheatrePlayer(watched, loss, self.tell, self.fail)
        self.panes = {nick: Pane(nick, self.line_style, plays=nick == ME) for nick in PEOPLE}
        self.chosen = PEOPLE[-1]
        self.links = {number: Steady(classes="link") for number in (1, 4)}
        self.middle = Steady(id="middle")
        self.state, self.told = Steady(id="state"), Static("", id="told", markup=False)
        self.keys = Static("", id="keys", markup=False)
        self.small = Static("", id="small", markup=False)
        key = "bold" if self.palette.theme.ansi else "$accent"
        shown = Content(help_in(self.line_style.glyphs)).highlight_regex(KEYS_OF_HELP, style=key)
        self.help = Static(shown, id="help", markup=False)
        self.help.border_title = "help"
        self._fingerprints: dict[str, str] = {}
        self._were_away: set[str] = set()  # when they were last drawn
        self._fitted = Size()  # the size for which the screen was made
        self._looked_at = 0.0
        self._met_at = float("-inf")  # when the logs last became equal
        self._equal = True
        self._differ_since = time.monotonic()
        self._parted = False  # they came apart for longer than a message takes
        watched.tell = self.tell

    # Making the screen.

    def compose(self) -> ComposeResult:
        ann, bob, carol, dave = self.panes.values()
        with Vertical(id="stage"):
            yield self.state
            yield Horizontal(ann, self.links[1], bob, classes="row")
            yield self.middle
            yield Horizontal(carol, self.links[4], dave, classes="row")
            yield self.told
            yield self.keys
        yield self.help
        yield self.small

    def on_mount(self) -> None:
        self.register_theme(self.palette.theme)
        self.theme = self.palette.theme.name
        self.set_class(self.line_style.glyphs is ASCII, "-ascii")
        self.set_focus(None)
        self.action_choose(0)
        self.set_interval(_FRAME, self.draw)

    def _fit(self) -> None:
        """Fit the screen to the size of the terminal, and say what is needed where it is too small."""
        self._fitted = self.size
        width, height = self.size
        self.set_class(width < LEAST[0] or height < LEAST[1], "-small")
        if not self._entry().disabled:
            self.call_after_refresh(self.set_focus, self._entry())  # Textual takes the focus from what is hidden
        self.help.set_class(width >= _FRAMED[0] and height >= _FRAMED[1], "-framed")
        self.small.update(
            f"The theatre needs {LEAST[0]} columns and {LEAST[1]} lines; here are {width} and {height}. Ctrl+C quits."
        )
        self._draw_keys()

    def _draw_keys(self) -> None:
        keys, between = keys_in(self.size.width - 2, self.line_style.glyphs, writing=not self._entry().disabled)
        self.keys.update(keys_marked(keys, between, coloured=not self.palette.theme.ansi))

    # Drawing.

    def draw(self) -> None:
        """Draw everything: little, and the same however long the logs are."""
        if self.size != self._fitted:
            self._fit()
        now = time.monotonic()
        back, self._were_away = self._were_away - self.watched.away, set(self.watched.away)
        if back or now - self._looked_at > _LOOK:
            self._looked_at = now
            self._fingerprints = self.watched.fingerprints()
        found = set(self._fingerprints.values())
        equal = len(found) == 1 and "" not in found
        if equal and not self._equal:
            self._met_at = now
            if self._parted:
                self.tell("The four logs are equal: one order for all, also of what was said apart.")
            self._parted = False
        if equal:
            self._differ_since = now
        elif now - self._differ_since > _APART and not self._parted and self.watched.cut:
            self._parted = True
            self.tell(f"The logs have come apart: there are {len(found - {''})} different ones.")
        self._equal = equal
        flash = now - self._met_at < _FLASH
        for nick, pane in self.panes.items():
            self._entitle(pane, equal, flash)
            if nick not in self.watched.away:
                pane.log_end.draw(self.watched.models[nick])
        self._draw_links()
        self._draw_state(equal, len(found - {""}), flash)

    def _entitle(self, pane: Pane, equal: bool, flash: bool) -> None:
        glyphs, away = self.line_style.glyphs, pane.nick in self.watched.away
        fingerprint = self._fingerprints.get(pane.nick, "")
        sign = glyphs.refused if away else glyphs.acked if equal else glyphs.maybe
        style = self.line_style.style("acked") if equal else self._colour(fingerprint)
        shown = "killed" if away else fingerprint or "empty"
        hosts = self.watched.group.host == pane.nick
        remarks = ["k kills it"] * (pane.nick == self.chosen and not away) + ["hosts the broker"] * hosts
        pane.entitle(sign, shown, remarks, style, flash=flash)

    def _colour(self, fingerprint: str) -> Style:
        """Return the colour of a log that is not like all others: one for each fingerprint."""
        known = sorted(set(self._fingerprints.values()))
        return self.line_style.style(("unacked", "maybe", "late", "gap")[known.index(fingerprint) % 4])

    def _link(self, number: int, whole: str, name: str = "") -> tuple[str, Style]:
        """Return a link as it is drawn, with its number."""
        cut = LINKS[number - 1] in self.watched.cut
        sign = self.line_style.glyphs.refused if cut else whole
        drawn = self.line_style.style("refused" if cut else "acked" if not self.watched.loss else "unacked")
        return f"{number}{sign}{name}", drawn

    def _draw_links(self) -> None:
        upright, level = ("│", "─") if self.line_style.glyphs is UNICODE else ("|", "-")
        for number, widget in self.links.items():
            text, style = self._link(number, level)
            drawn = f" {text[1]} " if LINKS[number - 1] in self.watched.cut else text[1] * 3
            widget.update(Text(f" {text[0]} \n{drawn}", style))
        half = (self.size.width - 3) // 2
        left, right = self._link(2, upright), self._link(3, upright)
        crossing = [self._link(5, level, " ann-dave"), self._link(6, level, " bob-carol")]
        between = Text.assemble(crossing[0], "   ", crossing[1])
        line = Text(" " * (half // 2)).append(*left)
        line.append(" " * max(1, (self.size.width - between.cell_len) // 2 - line.cell_len)).append_text(between)
        line.append(" " * max(1, self.size.width - half // 2 - 2 - line.cell_len)).append(*right)
        line.truncate(self.size.width)
        self.middle.update(line)

    def _draw_state(self, equal: bool, logs: int, flash: bool) -> None:
        glyphs = self.line_style.glyphs
        style = self.line_style.style("acked" if equal else "unacked") + Style(bold=True, reverse=flash)
        words = f"{glyphs.acked} all logs are equal" if equal else f"{glyphs.maybe} {self.watched.differing(logs)}"
        text = Text.assemble((words, style))
        for remark in self.watched.remarks(self.size.width - 2 - cell_len(words), paused=self.player.paused):
            text.append(f" {glyphs.between} {remark}", self.line_style.style("unacked"))
        self.state.update(text)

    def tell(self, text: str) -> None:
        self.told.update(text)

    # Keys.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let any key close the page of help, and do nothing else then; where the screen is too small, let none act. In
        the line, the letters are text. All keys act before what has the focus, so that those of one burst act in their
        order."""
        if self.has_class("-small"):
            return action in ("end", "end_by_letter")
        if self.has_class("-help"):
            return action == "end"
        return self.focused is None or action not in _LETTERS

    async def on_event(self, event: events.Event) -> None:
        closes = isinstance(event, events.Key) and not event.is_forwarded and event.key not in _ENDING
        if closes and self.has_class("-help"):
            self.action_help()  # at once: the next key of a burst acts again
        else:
            await super().on_event(event)

    def action_turn(self, number: int) -> None:
        self.player.halt()
        self.watched.turn(LINKS[number - 1])

    def action_split(self) -> None:
        self.player.halt()
        self.watched.split()

    def action_mend(self) -> None:
        self.player.halt()
        self.watched.mend()

    def action_loss(self) -> None:
        self.player.halt()
        self.watched.lose(0.0 if self.watched.loss else self.player.loss)

    def action_restart(self) -> None:
        self.player.halt()
        self.player.restart(self.chosen)

    def action_choose(self, step: int) -> None:
        self.chosen = PEOPLE[(PEOPLE.index(self.chosen) + step) % len(PEOPLE)]
        for nick, pane in self.panes.items():
            pane.set_class(nick == self.chosen, "-chosen")

    def action_pause(self) -> None:
        self.player.pause()

    def action_step(self) -> None:
        self.player.step()

    def action_write(self) -> None:
        """Go into the line at once: letters that come with this key are for it already."""
        if self.focused is not None:
            raise SkipAction
        self._entry().write()
        self.set_focus(self._entry())
        self._draw_keys()

    def action_keys(self) -> None:
        self._entry().wait()
        self.set_focus(None)
        self._draw_keys()

    def action_help(self) -> None:
        self.toggle_class("-help")

    def action_help_by_letter(self) -> None:
        self.action_help()

    def action_end_by_letter(self) -> None:
        self.action_end()

    def action_end(self) -> None:
        self.exit(0)

    def _entry(self) -> PlayedInput:
        entry = self.panes[ME].entry
        assert entry is not None
        return entry

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        text = message.value.strip()
        if not text:
            self.tell("You write as ann: Esc goes back to the keys.")
            return
        try:
            self.watched.say(ME, text)
        except ValueError as error:
            self.tell(str(error))
        else:
            message.input.value = ""


async def show(
    watched: TheatreGroup, loss: float, seconds: float | None, *, ascii_only: bool, theme: str | None
) -> int:
    """Run until the user quits, or for `seconds`, and return the exit code."""
    app = TheatreApp(watched, loss, ascii_only=ascii_only, theme=theme)
    watched.failed = app.fail
    try:
        return await run_beside(app, app.player.play(), end_after(app, seconds))
    finally:
        await app.player.end()
