"""The host of commands on a screen: the widgets, and the channels that they show."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text
from textual.app import App, SuspendNotSupported
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget
from textual.widgets import Static

from sdschat.node.files import open_private
from sdschat.node.view.conversations import Conversations
from sdschat.tui.commands.loader import load
from sdschat.tui.host import Command
from sdschat.tui.input_handler import InputHandler
from sdschat.tui.later import later
from sdschat.tui.lens_host import LensHost
from sdschat.tui.manual import FIRST_STEPS, for_visitors
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import first_line
from sdschat.tui.model.line_input import InputHistory
from sdschat.tui.model.results import CommandError, Page, switched
from sdschat.tui.model.taken_back import TakenBack
from sdschat.tui.model.timeline import ModelChange
from sdschat.tui.model.words import ASCII, UNICODE, Glyphs
from sdschat.tui.model.workspace import EVERYTHING, UserStateWriter
from sdschat.tui.panes import Panes
from sdschat.tui.preferences import Preferences
from sdschat.tui.row_lines import pattern_of
from sdschat.tui.terminal import driver
from sdschat.tui.themes import PLAIN, LineStyle, WholeCells
from sdschat.tui.widgets.composer import Composer
from sdschat.tui.widgets.log_view import LogView
from sdschat.tui.widgets.sheet import LogArea, Sheet
from sdschat.tui.window import Window

if TYPE_CHECKING:
    from sdschat.tui.finder import Finder

_BESIDE_PICTURE: Final = 12  # lines of the screen beside a picture on the sheet and a long text above it
_SIDES_OF_PICTURE: Final = 6  # columns beside it
_BACK: Final = "Esc brings everything back, and so does a letter, which goes into the input"
_SHORT: Final = 3  # rows of an answer that has room above the input
_READ, _READ_LETTER = 6.0, 0.08  # seconds that a line stays above the input: at least, and for each letter


class ScreenHost(Window, App[int]):
    """The host of commands in a terminal window."""

    log_view: LogView
    finder: Finder | None = None  # from the first search on
    _reading: asyncio.TimerHandle | None = None  # what is above the input goes when it ends
    _from_log = False  # the log had the keys before the sheet took them

    def __init__(
        self,
        view: Conversations,
        channels: Sequence[str],
        preferences: Preferences,
        *,
        ascii_only: bool = False,
        theme_now: str | None = None,
        said: Sequence[str] = (),
        copies: Path | None = None,
        commands: Iterable[Command] = (),
        guest: bool = False,
    ) -> None:
        """Make the host; its widgets are mounted later.

        `theme_now`: the theme of this run, whatever the preferences say. `said`: lines to show at the start.
        `copies`: the file that also gets each copied text, for terminals that have no clipboard. `commands`: those
        that only this host has. `guest`: no command reaches files or programs of this machine.
        """
        App.__init__(self, driver())
        Window.__init__(self, view, preferences, load(commands, guest=guest), theme_now)
        self.lens: LensHost = LensHost(self)
        self.panes = Panes(self)
        self.input_handler = InputHandler(self)
        self.copies = copies
        self.user_state = UserStateWriter(view, self.workspace)
        self.line_style = LineStyle(glyphs=ASCII if ascii_only else UNICODE, hues=self.user_state.hues())
        ScrollBar.renderer = WholeCells if ascii_only else ScrollBarRender
        self.said_at_start = list(said)
        self.wanted = list(channels)
        self.sheet = Sheet(self.line_style, id="sheet")
        self.prompt = Static("> ", id="prompt", markup=False)
        self.second = Vertical(id="second")
        self.second_title = Static("", id="second-title", markup=False)
        self.log_view = LogView(self.line_style, id="log")
        self.logs, self.entry = LogArea(self.sheet, self.log_view, id="logs"), Horizontal(id="entry")
        self.second_view = LogView(self.line_style, id="second-log")
        self.composer = Composer(InputHistory(self.user_state.input_history()), self.input_handler.complete, id="input")
        self.taken_back = TakenBack(self.composer.input_history)
        self.restyle()

    # Drawing, which `ChatApp` does.

    def draw(self, what: ModelChange) -> None:
        raise NotImplementedError

    def draw_soon(self) -> None:
        raise NotImplementedError

    # The rest of `Host`.

    @property
    def glyphs(self) -> Glyphs:
        return self.line_style.glyphs

    def show_notice(self, text: str) -> None:
        if not self.logs.display:
            self.lens.close()  # the panel covers the log, where the line goes
        self.model.note(text, self.view.now().wall)
        self.draw_soon()

    def answer(self, text: str, title: str, renew: Callable[[], str] | None = None, *, stays: bool = False) -> None:
        """Show a short answer above the input, and a longer one on a sheet; what is written goes on in the input."""
        lines = text.split("\n")
        if self.view.guest:
            lines = for_visitors(lines) or lines
        rows = sum(1 + (len(line) >= self.width) for line in lines)
        if not stays and rows <= _SHORT and all(len(line) < 2 * self.width for line in lines):
            self.warn("\n".join(lines))
        else:
            again = None if renew is None else lambda: Page(title, renew().split("\n"))
            self.sheet.open([Page(title, lines, renew=again)])
            self.panes.draw_details()

    def show_pages(self, pages: Sequence[Page], title: str) -> None:
        """Show pages on the sheet, which takes the keys; if it shows them already, close it."""
        if self.sheet.page is not None and self.sheet.page.title in [page.title for page in pages]:
            self.close_sheet()
            return
        if self.view.guest:
            pages = [
                page if page.runs else page._replace(lines=for_visitors(page.lines, begins=page.title == FIRST_STEPS))
                for page in pages
            ]
        self.panes.hint("")
        self.sheet.marked = self.log_view.line_style.marked
        self._from_log = self._from_log if self.sheet.has_focus else self.log_view.has_focus
        self.sheet.open(pages, title)
        self.panes.draw_details()
        self.chat.set_focus(self.sheet)  # now: letters of a filter may follow

    def close_sheet(self) -> None:
        if self.sheet.has_focus:
            back = self.log_view if self._from_log else self.composer
            self.chat.set_focus(self.finder.words if self.finder is not None and self.finder.is_open else back)
        self.sheet.close()
        self.panes.draw_details()

    def warn(self, text: str) -> None:
        self._say(text, wrong=False)

    def refuse(self, text: str) -> None:
        self._say(text, wrong=True)

    def _say(self, text: str, *, wrong: bool) -> None:
        """Show a line above the input for as long as it takes to read it."""
        self.panes.hint(text, wrong=wrong)
        if self._reading is not None:
            self._reading.cancel()
        self._reading = later(self, max(_READ, len(text) * _READ_LETTER), lambda: self._forget(text))

    def _forget(self, text: str) -> None:
        if self.panes.said("hint") == text:
            self.panes.hint("")

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        super().send(text, action=action, reply_to=reply_to)
        self.model.unread_line.forget()
        self.log_view.unchoose()  # what is asked next is asked of what was just sent
        self.log_view.jump_to_end()

    def copy(self, text: str, what: str) -> None:
        self.copy_to_clipboard(text)
        where = ""
        if self.copies is not None:
            try:
                with open_private(self.copies, "w", errors="replace") as file:
                    file.write(text)
                where = f" and to {self.copies}"
            except OSError as error:
                where = f"; it could not be written to {self.copies}: {error.strerror}"
        self.warn(f"{what} is copied to the clipboard (where the terminal allows that){where}")

    def apply_keys(self) -> None:
        self.set_keymap(self.preferences.keys)
        if self.workspace.shown:
            self.panes.draw_badges()

    def show_secret(self, text: str, title: str, words: str, picture: Sequence[str]) -> None:
        """Show a secret on the sheet until Esc closes it. The clipboard gets it; the file for copies does not."""
        room = max(1, self.logs.size.width - 6)
        high = len(picture) + _BESIDE_PICTURE + len(text) // room + len(words) // room
        needs = max(map(cell_len, picture), default=0)
        wide = f" and {needs + _SIDES_OF_PICTURE} columns" if self.width < needs + _SIDES_OF_PICTURE else ""
        tall = (
            f"Its picture needs a terminal of {high} lines{wide}. Make it larger and ask again, or see sdschat invite "
            "--qr in another one."
        )
        if self.view.guest:
            tall, words = "Its picture needs a larger window.", " ".join(for_visitors([words]))
        if picture and (wide or self.height < high):  # a part of it is of no use
            picture, needs = [tall], 0
        lines = [words, text, *picture]
        page = Page(title, lines, marks=[()] * len(lines))  # no part of the picture is a first column
        self.sheet.open([page], needs=needs)
        self.copy_to_clipboard(text)
        self.warn(f"the {title} is copied to the clipboard (where the terminal allows that), and kept in no file")

    def key_table(self) -> list[tuple[str, str, str]]:
        return [
            (binding.id, self.preferences.keys.get(binding.id, binding.key), binding.description)
            for each in reversed(type(self).__mro__)
            for binding in vars(each).get("BINDINGS", ())
            if isinstance(binding, Binding) and binding.id
        ]

    def split(self, name: str | None) -> None:
        if name is None and self.workspace.beside:
            self.workspace.beside = ""
        else:
            others = [each for each in self.workspace.order if each != self.workspace.shown]
            if name == self.workspace.shown or not others:
                raise CommandError("That channel is shown already. Name another one that is open.")
            self.workspace.beside = name or others[0]
        self._show_beside()
        self.panes.fit()  # two logs leave less room for lists

    def show_bare(self, argument: str) -> None:
        self.panes.bare = switched("bare", argument, self.panes.bare)
        self.chat.set_focus(None if self.panes.bare else self.composer)
        self.panes.fit()
        self.panes.hint(_BACK if self.panes.bare else "")

    def end_finding(self, *, marks: bool) -> bool:
        """End the search, if one is under way. `marks`: keep its words marked. Return True if one ended."""
        if self.finder is None or not self.finder.is_open:
            return False
        self.finder.close(marks=marks)
        return True

    async def edit_draft(self, text: str) -> None:
        from sdschat.tui.editor import draft_file, edited, editor_of

        command = editor_of(os.environ)
        with draft_file(text) as path:
            failure: CommandError | None = None
            try:
                with self.suspend():  # an exception in here would leave the terminal as it is for the editor
                    try:
                        text = await edited(command, path)
                    except CommandError as error:
                        failure = error
            except SuspendNotSupported:
                failure = CommandError("This terminal cannot be handed to an editor.")
        if failure is not None:
            raise failure
        self.composer.put(text)

    def mark(self, words: str) -> None:
        self.log_view.restyle(replace(self.log_view.line_style, marked=pattern_of(words)))

    def leave(self) -> None:
        self.exit(0)

    def restyle(self) -> None:
        """Put the theme into force that is wanted now."""
        palette = self.palette
        self.register_theme(palette.theme)
        self.theme = palette.theme.name
        self.set_class(palette is PLAIN, "-plain")
        self.set_class(self.line_style.glyphs is ASCII, "-ascii")
        preferences = self.preferences
        before = self.line_style
        self.line_style = LineStyle(palette, before.glyphs, preferences.ids, preferences.links, hues=before.hues)
        self.log_view.restyle(self.line_style)
        self.second_view.restyle(self.line_style)
        self.sheet.line_style = self.line_style
        if self.is_running:
            self.draw(EVERYTHING)

    # The rest of `Window`.

    @property
    def chat(self) -> Screen[object]:
        """Return the screen of the chat, also while the palette lies over it."""
        return self.composer.screen

    @property
    def width(self) -> int:
        return self.size.width

    @property
    def height(self) -> int:
        return self.size.height

    @property
    def lens_open(self) -> bool:
        return self.lens.is_open

    @property
    def reads_sheet(self) -> bool:
        return self.sheet.page is not None

    @property
    def finds(self) -> bool:
        return self.finder is not None and self.finder.is_open

    def mount_lens(self, panel: Widget) -> None:
        self.chat.query_one("#body").mount(panel)

    def lens_fitted(self) -> None:
        self.panes.fit()

    def lens_closed(self) -> None:
        self.panes.fit()
        self.composer.focus()

    # Channels.

    async def close_channel(self, name: str) -> None:
        if name == self.workspace.shown:  # /part itself may have been saved as the draft, while it was typed
            self.user_state.set_draft(name, self.composer.text)
        self.user_state.save()
        if self.workspace.beside == name:
            self.split(None)
        self.workspace.remove(name)
        if self.workspace.shown == name:
            self.workspace.shown = ""
            self.show_channel(self.workspace.order[0])
        self.panes.fit()
        await self.view.part(name)

    def show_channel(self, name: str) -> None:
        if name != self.workspace.shown:
            self.end_finding(marks=False)
        self.user_state.set_draft(self.workspace.shown, self.composer.text)
        self.user_state.save()
        if name == self.workspace.beside:
            self.workspace.beside = self.workspace.shown
        self.log_view.show(model := self.workspace.show(name))
        self.composer.begin(self.user_state.draft(name))
        self.panes.hint("")
        self.draw_prompt()
        self.lens.switch(model.conversation.channel)
        self.look_at(model)
        self._show_beside()
        self.panes.fit()
        self.draw(EVERYTHING)

    def way_to(self, name: str) -> str:
        """Return the key that shows an open channel, or the command where it has none."""
        number = self.order.index(name) + 1
        return f"Alt+{number}" if number < 10 else f"/go {number}"

    def draw_prompt(self) -> None:
        """Say in front of the input and in its frame where the text goes: here, to one alone, or as an answer."""
        entry = self.model.timeline.entries.get(self.input_handler.reply_to)
        sign = "@" if self.conversation.peer else ">"
        if entry is None:
            self.input_handler.reply_to = ""
        self.prompt.update(f"{sign if entry is None else self.glyphs.reply} ")
        name = "" if entry is None else self.model.name_of(entry.sender_id, entry.nick)
        self.panes.frames.answer("" if entry is None else f"answer to {name}: {first_line(entry)}")

    def looking(self, name: str) -> bool:
        """True if the user sees the end of this log."""
        if not self.app_focus:
            return False
        view = {self.workspace.shown: self.log_view, self.workspace.beside: self.second_view}.get(name)
        return view is not None and view.following

    def _show_beside(self) -> None:
        """Show the other channel of a split, if there is one."""
        name = self.workspace.beside
        self.second.display = bool(name)
        if name:
            self.second_title.update(Text(f" {self.label(name)} ", "bold"))
            self.second_view.show(self.workspace.models[name])
            self.look_at(self.workspace.models[name])

    def look_at(self, model: ChannelModel) -> None:
        """Count as read what is on the screen of this log."""
        for view in (self.log_view, self.second_view):
            if view.model is model and self.app_focus and self.logs.display:
                view.see()
