"""The application: it passes events of the node to the models, and draws the models with the widgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.command import Provider
from textual.containers import Horizontal
from textual.widgets import TextArea

from sdschat.node.events import NodeEvent
from sdschat.node.node import Node
from sdschat.node.turn_scheduler import AT_KEYS
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import has_members
from sdschat.tui import preferences as prefs
from sdschat.tui.key_order import KeysInOrder
from sdschat.tui.keys import KeyedHost
from sdschat.tui.later import later
from sdschat.tui.model.timeline import ModelChange
from sdschat.tui.model.words import ASCII, cut_with
from sdschat.tui.startup import Startup
from sdschat.tui.terminal import BackgroundNamed
from sdschat.tui.themes import is_light
from sdschat.tui.widgets.composer import Composer
from sdschat.tui.widgets.log_view import LogView
from sdschat.tui.widgets.sheet import Sheet

if TYPE_CHECKING:
    from sdschat.tui.notifier import Away, Notifier

FRAME: Final = 0.05  # seconds between two frames, however much has changed
_SHARE: Final = 3  # after a frame, drawing pauses so many times as long as the frame took
_LONGEST: Final = 0.4  # seconds without a new frame, at most
_SAVE: Final = 5  # seconds between two saves of drafts and read marks
_LATELY: Final = 30  # seconds since the last key for which the user is there, where a terminal does not tell
_PAUSE: Final = 0.4  # seconds without a key after which the draft is saved


def _palette() -> type[Provider]:
    """Return the commands of the palette. They are imported when the palette is first opened."""
    from sdschat.tui.palette import ChatCommands

    return ChatCommands


class ChatApp(KeysInOrder, KeyedHost):
    """The chat on a screen, with all channels of one node."""

    CSS_PATH = "app.tcss"
    TITLE = "sdschat"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    COMMAND_PALETTE_BINDING = "ctrl+p"

    opening: Startup | None = None
    away: Away | None = None  # while another window has the keys
    notifier: Notifier | None = None  # from the first notification on
    left_unsent = ""  # in words, once it has ended
    _draw_due = False
    _drawn_at = 0.0
    _rest = FRAME
    _seconds = 0
    _tells_focus = False  # the terminal told that it got or lost the focus: not every one does
    _touched_at = 0.0  # when a key or the mouse was used last
    _pause: asyncio.TimerHandle | None = None  # since the last key in the input

    # Making the screen.

    def compose(self) -> ComposeResult:
        panes = self.panes
        yield panes.head
        with Horizontal(id="body"):
            yield panes.channel_list
            with self.logs:
                yield self.log_view
                with self.second:
                    yield self.second_title
                    yield self.second_view
            yield panes.member_list
            yield self.sheet
        yield panes.faults
        yield panes.offline
        yield panes.details
        yield panes.notice
        with self.entry:
            yield self.prompt
            yield self.composer

    def on_mount(self) -> None:
        self.apply_keys()
        self.node.scheduler.most = AT_KEYS
        self.node.listen(self._hear)
        self.composer.most_bytes = self.node.settings.config.max_message_bytes
        for name in self.wanted:
            self.workspace.add_if_new(self.view.written(name))
        self.opening = Startup(self.workspace.order.copy(), self.open_channel, partial(later, self))
        self.show_channel(self.workspace.order[0])
        self.chat.set_focus(self.composer)  # now: a key that opens help may be waiting
        self.set_interval(1.0, self._second)
        self.workspace.watch_sleep(lambda words: self.call_next(self._redraw))
        for text in self.said_at_start:
            self.show_notice(text)
        self.call_after_refresh(self.opening.begin)

    async def action_command_palette(self) -> None:  # type: ignore[override]  # an action may be either
        from sdschat.tui.palette import ChatPalette

        if not isinstance(self.screen, ChatPalette):
            palette = ChatPalette(ascii_only=self.line_style.glyphs is ASCII)
            await self.push_screen(palette)
            palette.take_keys()

    async def on_event(self, event: events.Event) -> None:
        if self.opening is not None:
            self.opening.before(event)
        if isinstance(event, events.Key):
            self.node.scheduler.favour_input()
        if isinstance(event, events.InputEvent):
            self._touched_at = time.monotonic()
        await super().on_event(event)

    def on_background_named(self, event: BackgroundNamed) -> None:
        """Follow the background of the terminal, unless a theme was chosen."""
        light = is_light(event.colour)
        if light != self.light_terminal:
            self.light_terminal = light
            self.restyle()

    def on_unmount(self) -> None:
        if self.notifier is not None:
            self.notifier.close()
        if self.finder is not None:
            self.finder.stop()
        self._keep()
        self.user_state.save_input_history(self.composer.input_history.to_save())

    def _keep(self) -> None:
        self.user_state.set_draft(self.workspace.shown, self.composer.text)
        self.user_state.save()
        self.user_state.save_hues(self.line_style.hues)

    # Events of the node.

    def _is_there(self) -> bool:
        """True if a key came lately, or if the terminal would have told that another window has the keys."""
        return self._tells_focus or time.monotonic() - self._touched_at < _LATELY

    def _hear(self, event: NodeEvent) -> None:
        """Take an event. The node calls this outside of Textual's own message handling."""
        if not self.is_running:
            return
        with self._context():
            self.taken_back.hear(event)
            if self.workspace.hear(event, self.looking, is_there=self._is_there()):
                self.draw_soon()
            self.text_log.hear(event)
            self.lens.hear(event)
            if self.away is not None:
                self.away.hear(event)

    def draw_soon(self) -> None:
        """Draw at once after a quiet moment; when much happens, once in a while."""
        if not self._draw_due:
            self._draw_due = True
            later(self, max(0.0, self._drawn_at + self._rest - time.monotonic()), self._redraw)

    def _redraw(self) -> None:
        self._draw_due = False
        if not self.screen_stack:
            return
        if self.panes.fitted != len(self.workspace.order):
            self.panes.fit()  # a participant began a conversation
        found = ModelChange.NOTHING
        for name, model in self.workspace.models.items():
            changes = model.take_changes()
            found |= changes if name == self.workspace.shown else changes & ModelChange.BADGES
            if name == self.workspace.beside and ModelChange.ROWS in changes:
                self.second_view.refresh_rows()
        began = time.monotonic()
        self.draw(found)
        for name in filter(None, (self.workspace.shown, self.workspace.beside)):
            self.look_at(self.workspace.models[name])
            if self.workspace.models[name].changes:
                self.draw_soon()  # something passed unseen, or was seen
        if self.workspace.take_ring() and self.preferences.bell:
            self.bell()
        self._tell(self.workspace.take_calls())
        self._painted(began)
        self.call_after_refresh(self._painted, began)

    def _tell(self, calls: Sequence[tuple[str, str]]) -> None:
        """Tell of what was said to the user: there if another window may have the keys; here how to get to it."""
        if self.app_focus:
            self._tell_of_talks(name for name, _ in calls)
        if not calls or (self.app_focus and self._is_there()):
            return
        if self.notifier is None:
            from sdschat.tui.notifier import Notifier

            wanted = self.preferences
            self.notifier = Notifier(wanted.notify_terminal, wanted.notify_command, self.write_raw, self.warn)
        self.notifier.tell_all(calls, self.models, self.label)

    def _tell_of_talks(self, names: Iterable[str]) -> None:
        """Name the key of the last conversation of two in which something was said that is not on the screen."""
        talks = [name for name in names if self.models[name].conversation.peer and not self.looking(name)]
        if talks:
            self.warn(f"{self.label(talks[-1]).removeprefix('@')} wrote to you alone: {self.way_to(talks[-1])}")

    def write_raw(self, sequence: str) -> None:
        """Write bytes to the terminal that draw nothing."""
        if self._driver is not None:
            self._driver.write(sequence)

    def _painted(self, began: float) -> None:
        """Keep most of the time for keys and the network, however slow the terminal or the machine is."""
        self._drawn_at = time.monotonic()
        self._rest = min(_LONGEST, max(FRAME, _SHARE * (self._drawn_at - began)))

    def draw(self, what: ModelChange) -> None:
        if ModelChange.PEOPLE in what and self.line_style.keep_apart(self._present()):
            self.log_view.restyle(self.log_view.line_style)
        if ModelChange.ROWS in what:
            self.log_view.refresh_rows()
            self.panes.draw_details()
            self.sheet.renew()
        if ModelChange.CONNECTION in what:
            self.panes.draw_banners()
        if what & (ModelChange.BADGES | ModelChange.CONNECTION | ModelChange.PEOPLE):
            self.panes.draw_badges()
        if what & (ModelChange.PEOPLE | ModelChange.CONNECTION):  # without a connection nobody is shown as here
            self.panes.draw_people()

    def _present(self) -> Iterator[str]:
        """Yield ourselves and those present, first in the channel that is shown."""
        yield self.node.sender_id
        for name in (self.workspace.shown, *self.models):
            if name:
                yield from self.models[name].present

    def _second(self) -> None:
        self._seconds += 1
        self.log_view.tick()
        if self.workspace.beside:
            self.second_view.tick()
        self.panes.draw_banners()
        self.panes.draw_details()
        self.sheet.renew(lists=True)
        self.panes.draw_badges()
        self.panes.draw_people()
        if self._seconds % _SAVE == 0:
            self._keep()

    # Messages of widgets.

    @on(Composer.Submitted)
    async def _submitted(self, message: Composer.Submitted) -> None:
        self.panes.hint("")
        self.close_sheet()
        if not message.text.startswith("/"):
            self.lens.forget_named()
        saved = not has_members(self.view.node, self.workspace.shown)  # there it may be taken back, and leave no trace
        if await self.input_handler.submit(message.text) or self.composer.text or self.typed_behind:
            self.composer.input_history.add(message.text, saved=saved)
        else:
            self.keep_refused(message.text)
        self.draw_prompt()

    @on(TextArea.Changed)
    def _typed(self) -> None:
        """Save the draft at the next pause."""
        if self._pause is not None:
            self._pause.cancel()
        self._pause = later(self, _PAUSE, self._keep)

    @on(Composer.Paged)
    def _paged(self, message: Composer.Paged) -> None:
        if self.sheet.page is not None:
            self.sheet.scroll_relative(y=message.pages * self.sheet.size.height, animate=False)
        elif not self.logs.display:
            self.lens.page(message.pages)  # it covers the log
        else:
            self.log_view.action_pages(message.pages)

    @on(Composer.Said)
    def _input_said(self, message: Composer.Said) -> None:
        if message.passes:
            self.warn(message.text)
        else:
            self.panes.hint(message.text)

    @on(LogView.Chosen)
    def _chosen(self, message: LogView.Chosen) -> None:
        if message.log is self.log_view:
            self.panes.draw_details()
            self.panes.frames.draw()
            self.lens.select(message.message_id)
            self.draw_soon()  # fewer late messages are left to look at, perhaps

    @on(LogView.Jumped)
    def _jumped(self, message: LogView.Jumped) -> None:
        if not self.logs.display:
            self.lens.close()  # the panel covers the log, where the message is
        self.look_at(self.model)  # it may have been an unread one
        self.draw_soon()

    @on(LogView.Followed)
    def _followed(self, message: LogView.Followed) -> None:
        if message.log.model is not None:
            self.look_at(message.log.model)
            self.draw_soon()

    @on(Sheet.Picked)
    async def _chosen_in_sheet(self, message: Sheet.Picked) -> None:
        self.close_sheet()
        if self.end_finding(marks=True):
            self.composer.focus()
        await self.action_command(message.line)

    def on_app_blur(self) -> None:
        from sdschat.tui.notifier import Away

        self._tells_focus = True
        self.away = self.away or Away(self.workspace.models, self.view.now().wall)

    def on_app_focus(self) -> None:
        self._tells_focus = True

    def watch_app_focus(self, focus: bool) -> None:
        """End an absence, and count as read what is seen now. A key ends it too, where the terminal tells nothing."""
        if not focus:
            return
        away, self.away = self.away, None
        if away is not None and (text := away.told(self.workspace.models, self.view.now().wall)):
            self.warn(text)
        for name in filter(None, (self.workspace.shown, self.workspace.beside)):
            self.look_at(self.workspace.models[name])
        self.draw_soon()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.panes.frames.focus(event.widget.screen.focused or event.widget)  # it may have gone on meanwhile

    def on_resize(self, event: events.Resize) -> None:
        self.call_later(self._fit)  # Textual's own handler, which runs after this one, stores the size

    def _fit(self) -> None:
        if self.is_running and self.workspace.shown:
            self.composer.fit(self.height)
            self.panes.fit()
            self.lens.fit()


def make_app(
    node: Node,
    channels: Sequence[str],
    *,
    ascii_only: bool = False,
    no_color: bool = False,
    theme: str | None = None,
    file: Path | None = None,
    copies: Path | None = None,
    said: Sequence[str] = (),
    guest: bool = False,
) -> ChatApp:
    """Make the application. `file`: the user's preferences. `theme` is for this run alone. `said`: its first lines.
    `guest`: no command reaches files or programs of this machine."""
    view = Conversations(node, guest=guest)
    preferences, problems = prefs.load(file, view.value(prefs.KEPT_AS))
    app = ChatApp(
        view,
        channels,
        preferences,
        ascii_only=ascii_only,
        theme_now="plain" if no_color else theme,
        said=[*problems, *prefs.moved_words(view, channels), *said],
        copies=copies,
        guest=guest,
    )
    app.colours_off = no_color
    cut_with(app.glyphs.cut)
    return app


async def run_chat(app: ChatApp) -> int:
    """Run the chat and return the exit code. An error that ended it is raised when the terminal is restored."""
    try:
        await app.run_async()
        app.left_unsent = app.workspace.unsent_words()
    finally:
        app.view.close()
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0
