"""The application: wires the node's facts to the models, the models to the widgets, and keys to what they do."""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from sdschat.node.facts import Fact
from sdschat.node.view import NodeView
from sdschat.tui.base import BaseHost
from sdschat.tui.commands.registry import CommandError, Registry, load
from sdschat.tui.lens_host import LensHost
from sdschat.tui.look import Look
from sdschat.tui.model.channel import ChannelModel, Stir
from sdschat.tui.model.cleaning import clean_name, short
from sdschat.tui.model.desktop import EVERYTHING, Desktop
from sdschat.tui.model.glyphs import ASCII, UNICODE
from sdschat.tui.model.items import Tone, first_line
from sdschat.tui.model.past import Past
from sdschat.tui.panes import Panes
from sdschat.tui.preferences import Preferences
from sdschat.tui.themes import PALETTES
from sdschat.tui.typist import Typist
from sdschat.tui.widgets.composer import Composer
from sdschat.tui.widgets.lists import ChannelList, MemberList
from sdschat.tui.widgets.log_view import LogView

FRAME: Final = 0.05  # seconds between two looks at what has changed, however much that is
_SHARE: Final = 3  # so many times as long as it drew, it does not draw
_SAVE: Final = 5  # seconds between two savings of drafts and read marks
_PAST: Final = "past"  # under this name what was written is kept


def _palette() -> type[Provider]:
    """Imported when it is opened."""
    from sdschat.tui.palette import ChatCommands

    return ChatCommands


def _collect_garbage() -> None:
    """From the first frame on, and never again among what was loaded until then."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class ChatApp(BaseHost, App[int]):
    """Several channels of one node."""

    CSS_PATH = "app.tcss"
    TITLE = "sdschat"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "command('help')", "Help", id="help", priority=True),
        Binding("f2", "lens", "Lens", id="lens", priority=True),
        Binding("f3", "pane('channels')", "Channels", id="channels", priority=True),
        Binding("f4", "pane('members')", "Members", id="members", priority=True),
        Binding("f5", "command('info')", "Details", id="details", priority=True),
        Binding("f6", "focus_log", "Log", id="log", priority=True),
        Binding("f7", "swap", "Swap the two channels of a split", id="swap", priority=True),
        Binding("alt+up", "choose(-1)", "Select the message above", id="choose-up", priority=True),
        Binding("alt+down", "choose(1)", "Select the message below", id="choose-down", priority=True),
        Binding("alt+a", "command('next')", "Next activity", id="next-activity", priority=True),
        Binding("alt+l", "command('late')", "Late messages", id="late", priority=True),
        Binding("alt+u", "command('unread')", "First unread", id="unread", priority=True),
        Binding("alt+end", "command('end')", "Newest", id="end", priority=True),
        Binding("ctrl+f", "start('/search ')", "Search", id="search", priority=True),
        Binding("ctrl+c", "copy_or_quit", "Copy, or quit", id="copy", priority=True),
        Binding("ctrl+q", "quit_twice", "Quit", id="quit", priority=True, show=False),
        Binding("escape", "escape", "Back", show=False),
        *(Binding(f"alt+{n}", f"channel({n})", f"Channel {n}", show=False, priority=True) for n in range(1, 10)),
    ]

    def __init__(
        self, view: NodeView, channels: Sequence[str], preferences: Preferences, *, ascii_only: bool = False,
        theme_now: str | None = None, said: Sequence[str] = (), copies: Path | None = None,
    ) -> None:  # fmt: skip
        """`theme_now`: whatever the preferences say. `said`: to be told at the start. `copies`: the file in which
        what was copied is kept as well, for terminals that have no clipboard."""
        super().__init__()
        self.node = view.node
        self.view = view
        self.preferences = preferences
        self.registry: Registry = load()
        self.desktop = Desktop(self.view, preferences.level)
        self.lens = LensHost(self)
        self.panes = Panes(self)
        self.typist = Typist(self)
        self.timing = view.node.settings.timing
        self.copies = copies
        self.theme_now = theme_now
        self.look = Look(glyphs=ASCII if ascii_only else UNICODE)
        self._said = list(said)
        self._wanted = list(channels)
        self._drafts: dict[str, str] = {}
        self._draw_due = False
        self._drawn_at = 0.0
        self._rest = FRAME
        self._seconds = 0
        self._quit_asked = 0.0
        self.log_view = LogView(self.look, id="log")
        self.second_view = LogView(self.look, id="second-log")
        self.composer = Composer(Past(self._kept_past()), self.typist.complete, id="input")
        self.restyle()

    # Making the screen.

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        with Horizontal(id="body"):
            yield ChannelList(id="channels")
            with Horizontal(id="logs"):
                yield self.log_view
                with Vertical(id="second"):
                    yield Static("", id="second-title", markup=False)
                    yield self.second_view
            yield MemberList("", id="members", markup=False)
        yield Static("", id="faults", classes="banner", markup=False)
        yield Static("", id="offline", classes="banner", markup=False)
        yield Static("", id="details", markup=False)
        yield Static("", id="hint", markup=False)
        with Horizontal(id="entry"):
            yield Static("> ", id="prompt", markup=False)
            yield self.composer

    def on_mount(self) -> None:
        self.apply_keys()
        self.node.listen(self._hear)
        for name in self._wanted:
            self.open_channel(name)
        self.show_channel(self.desktop.order[0])
        self.composer.focus()
        self.set_interval(1.0, self._second)
        for text in self._said:
            self.tell(text)
        self.call_after_refresh(_collect_garbage)

    def on_unmount(self) -> None:
        self._save()
        with contextlib.suppress(Exception):
            self.view.set_value(_PAST, json.dumps(self.composer.past.texts))

    def _kept_past(self) -> list[str]:
        try:
            kept = json.loads(self.view.value(_PAST) or "[]")
        except ValueError:
            return []
        return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []

    def restyle(self) -> None:
        """The theme, as it is wanted now."""
        palette = PALETTES[self.theme_now or self.preferences.theme]
        self.register_theme(palette.theme)
        self.theme = palette.theme.name
        preferences = self.preferences
        self.look = Look(palette, self.look.glyphs, preferences.ids, preferences.links)
        if self.is_running:
            self.log_view.restyle(self.look)
            self.second_view.restyle(self.look)
            self.draw(EVERYTHING)

    @property
    def crash(self) -> Exception | None:
        """What ended the application, if something did."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        """The end. What went wrong is for a file and not for the screen: texts of others may be in it."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    # What commands may use (`Host`).

    def tell(self, text: str, *, help: bool = False) -> None:
        self.model.note(text, self.view.now().wall, Tone.HELP if help else Tone.INFO)
        self._draw_soon()

    def warn(self, text: str) -> None:
        self.panes.hint(text)

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        self.publish(text, action, reply_to)
        self.model.unread_after = None
        self.log_view.jump_to_end()

    def select(self, message_id: str) -> None:
        shown = self.view.message(self.channel, message_id)
        if shown is None:
            raise CommandError("That message is not in this log.")
        self.log_view.jump_to(shown.key, choose=True)

    def copy(self, text: str, what: str) -> None:
        self.copy_to_clipboard(text)
        where = ""
        if self.copies is not None:
            try:
                self.copies.write_text(text, encoding="utf-8", errors="replace")
                where = f" and to {self.copies}"
            except OSError as error:
                where = f"; it could not be written to {self.copies}: {error.strerror}"
        self.warn(f"{what} copied to the clipboard, where the terminal allows that{where}")

    def apply_keys(self) -> None:
        self.set_keymap(self.preferences.keys)

    def key_table(self) -> list[tuple[str, str, str]]:
        return [
            (binding.id, self.preferences.keys.get(binding.id, binding.key), binding.description)
            for binding in self.BINDINGS
            if isinstance(binding, Binding) and binding.id
        ]

    def split(self, name: str | None) -> None:
        if name is None and self.desktop.beside:
            self.desktop.beside = ""
        else:
            others = [each for each in self.desktop.order if each != self.desktop.shown]
            if name == self.desktop.shown or not others:
                raise CommandError("That channel is shown already. Name another one that is open.")
            self.desktop.beside = name or others[0]
        self._show_beside()

    def toggle_bare(self) -> None:
        self.panes.bare = not self.panes.bare
        self.panes.fit()

    def leave(self) -> None:
        self.exit(0)

    # Channels.

    def open_channel(self, name: str) -> str:
        """Join it if need be, and list it. Raises ValueError for a name that is none."""
        room = self.view.join(name, self.desktop.add_if_new)
        self._drafts.setdefault(room, self.view.draft(room))
        return room

    async def close_channel(self, name: str) -> None:
        self._save()
        if self.desktop.beside == name:
            self.split(None)
        self.desktop.remove(name)
        self._drafts.pop(name, None)
        if self.desktop.shown == name:
            self.desktop.shown = ""
            self.show_channel(self.desktop.order[0])
        self.panes.fit()
        await self.view.part(name)

    def show_channel(self, name: str) -> None:
        if self.desktop.shown in self._drafts:
            self._drafts[self.desktop.shown] = self.composer.text
            self._save()
        if name == self.desktop.beside:
            self.desktop.beside = self.desktop.shown
        model = self.desktop.show(name)
        self.log_view.show(model)
        self.composer.put(self._drafts.get(name, ""))
        self.typist.reply_to = ""
        self.panes.hint("")
        self.lens.switch(name)
        self._look_at(model)
        self._show_beside()
        self.panes.fit()
        self.draw(EVERYTHING)

    def looking(self, name: str) -> bool:
        """Whether somebody sees the end of this log."""
        if not self.app_focus:
            return False
        view = {self.desktop.shown: self.log_view, self.desktop.beside: self.second_view}.get(name)
        return view is not None and view.following

    def _show_beside(self) -> None:
        """The other channel of a split, if there is one."""
        name = self.desktop.beside
        self.query_one("#second", Vertical).display = bool(name)
        if name:
            self.query_one("#second-title", Static).update(Text(f" {clean_name(name)} ", "bold"))
            self.second_view.show(self.desktop.models[name])
            self._look_at(self.desktop.models[name])

    def _look_at(self, model: ChannelModel) -> None:
        if self.looking(model.name):
            model.seen()

    # Facts.

    def _hear(self, fact: Fact) -> None:
        """Called from the node, outside of everything that Textual knows of."""
        if not self.is_running:
            return
        with self._context():
            if self.desktop.hear(fact, self.looking):
                self._draw_soon()
            self.lens.hear(fact)

    def _draw_soon(self) -> None:
        """At once after a quiet moment; in a flood, once in a while."""
        if not self._draw_due:
            self._draw_due = True
            self.set_timer(max(0.001, self._drawn_at + self._rest - time.monotonic()), self._redraw)

    def _redraw(self) -> None:
        self._draw_due = False
        if not self.screen_stack:
            return
        found = Stir.NOTHING
        for name, model in self.desktop.models.items():
            stirred = model.take_stirred()
            found |= stirred if name == self.desktop.shown else stirred & Stir.BADGES
            if name == self.desktop.beside and Stir.ROWS in stirred:
                self.second_view.refresh_rows()
        began = time.monotonic()
        self.draw(found)
        if self.desktop.take_ring() and self.preferences.bell:
            self.bell()
        # However slow the terminal or the machine is, most of the time is for keys and the network.
        self._drawn_at = time.monotonic()
        self._rest = max(FRAME, _SHARE * (self._drawn_at - began))

    def draw(self, what: Stir) -> None:
        if Stir.ROWS in what:
            self.log_view.refresh_rows()
            self.panes.draw_details()
            late = self.panes.waiting_words()
            if late:
                self.panes.hint(late)
        if Stir.CONNECTION in what:
            self.panes.draw_banners()
        if what & (Stir.BADGES | Stir.CONNECTION | Stir.PEOPLE):
            self.panes.draw_badges()
        if Stir.PEOPLE in what:
            self.panes.draw_people()

    def _second(self) -> None:
        self._seconds += 1
        self.log_view.tick()
        if self.desktop.beside:
            self.second_view.tick()
        self.panes.draw_banners()
        self.panes.draw_details()
        self.panes.draw_badges()
        self.panes.draw_people()
        if self._seconds % _SAVE == 0:
            self._save()

    def _save(self) -> None:
        """Drafts and read marks, as far as they changed."""
        if self.desktop.shown:
            with contextlib.suppress(Exception):
                self._drafts[self.desktop.shown] = self.composer.text
        with contextlib.suppress(Exception):  # what cannot be saved now is tried again; the node says why
            for name, text in self._drafts.items():
                if text != self.view.draft(name):
                    self.view.set_draft(name, text)
            for model in self.desktop.models.values():
                model.save_mark()

    # What widgets tell.

    @on(Composer.Submitted)
    async def _submitted(self, message: Composer.Submitted) -> None:
        self.panes.hint("")
        if await self.typist.submit(message.text):
            self.composer.sent()

    @on(Composer.Paged)
    def _paged(self, message: Composer.Paged) -> None:
        self.log_view.action_pages(message.pages)

    @on(Composer.Said)
    def _input_said(self, message: Composer.Said) -> None:
        self.panes.hint(message.text)

    @on(Composer.Escaped)
    def _escaped(self, message: Composer.Escaped) -> None:
        self.action_escape()

    @on(LogView.Chosen)
    def _chosen(self, message: LogView.Chosen) -> None:
        if message.log is self.log_view:
            self.panes.draw_details()
            self.lens.select(message.message_id)

    @on(LogView.Followed)
    def _followed(self, message: LogView.Followed) -> None:
        if message.following and message.log.model is not None:
            self._look_at(message.log.model)
            self.draw(Stir.BADGES)

    @on(ChannelList.Picked)
    def _picked(self, message: ChannelList.Picked) -> None:
        self.action_channel(message.number + 1)

    def on_resize(self, event: events.Resize) -> None:
        if self.is_running and self.desktop.shown:
            self.panes.fit()
            self.lens.fit()

    # Keys.

    async def action_command(self, line: str) -> None:
        """What a key and the command palette do: as if it had been typed."""
        try:
            await self.typist.run(f"/{line}")
        except CommandError as error:
            self.warn(str(error))

    def action_start(self, text: str) -> None:
        """Begin to write a command."""
        self.composer.focus()
        self.composer.put(text)

    def action_lens(self) -> None:
        try:
            self.lens.toggle()
        except CommandError as error:
            self.warn(str(error))

    def lens_fitted(self) -> None:
        self.panes.fit()

    def lens_closed(self) -> None:
        self.panes.fit()
        self.composer.focus()

    def action_pane(self, what: str) -> None:
        setattr(self.panes, what, not getattr(self.panes, what))
        self.panes.fit()

    def action_focus_log(self) -> None:
        (self.composer if self.log_view.has_focus else self.log_view).focus()

    def action_swap(self) -> None:
        if self.desktop.beside:
            self.show_channel(self.desktop.beside)

    def action_reply(self) -> None:
        """The next message answers the selected one."""
        entry = self.model.timeline.entries.get(self.selection or "")
        if entry is None:
            self.warn("Select a message first.")
            return
        self.typist.reply_to = entry.message_id
        name = self.model.name_of(entry.sender_id, entry.nick)
        self.warn(f"answering {name} ({short(entry.message_id)}): {first_line(entry)[:60]} | Esc: not an answer")
        self.composer.focus()

    def action_choose(self, step: int) -> None:
        self.log_view.action_choose(step)

    def action_channel(self, number: int) -> None:
        if number <= len(self.desktop.order):
            self.show_channel(self.desktop.order[number - 1])

    def action_escape(self) -> None:
        """Out of whatever one is in, one step at a time."""
        self.panes.hint("")
        if self.panes.bare:
            self.toggle_bare()
        elif self.lens.is_open:
            self.lens.close()
        elif self.typist.reply_to:
            self.typist.reply_to = ""
        elif self.selection is not None:
            self.log_view.unchoose()
        elif not self.log_view.following:
            self.log_view.jump_to_end()
        self.composer.focus()

    def action_copy_or_quit(self) -> None:
        marked = self.screen.get_selected_text() or self.composer.selected_text
        if marked:
            self.copy(marked, "The selection")
        else:
            self.action_quit_twice()

    def action_quit_twice(self) -> None:
        now = time.monotonic()
        if now - self._quit_asked < 3:
            self.exit(0)
            return
        self._quit_asked = now
        self.warn("Once more to leave. What you wrote is kept, and what is not sent yet goes out next time.")
