"""Keys and their actions. Every key has a slash command that does the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType

from sdschat.tui.commands.channels import person_name
from sdschat.tui.model.items import first_words
from sdschat.tui.model.results import CommandError, Mark, Page
from sdschat.tui.model.status import STYLES_OF_HEALTH, Health, heard_words, news_words
from sdschat.tui.model.words import fitted, short
from sdschat.tui.screen_host import ScreenHost
from sdschat.tui.widgets.lists import ChannelList, MemberList

_QUIT_WITHIN: Final = 3.0  # seconds between the two presses that leave
_PAGES: Final = {"pageup": -1, "pagedown": 1}
_LEAVING: Final = ("copy_or_quit", "quit_twice")
_QUOTED: Final = 40  # letters of a message that is answered
_MOST: Final = 24  # columns of a name in a list


class KeyedHost(ScreenHost):
    """The host with keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "command('help')", "this help", id="help", priority=True),
        Binding("f2", "lens", "the Lens: what the protocol knows", id="lens", priority=True),
        Binding("f3", "pane('channels')", "the list of channels", id="channels", priority=True),
        Binding("f4", "pane('members')", "the list of members", id="members", priority=True),
        Binding("f5", "command('info')", "details of a message", id="details", priority=True),
        Binding("f6", "focus_log", "into the log, and back", id="log", priority=True),
        Binding("f7", "swap", "swaps the two channels of a split", id="swap", priority=True),
        Binding("alt+up", "choose(-1)", "selects the message above", id="choose-up", priority=True),
        Binding("alt+down", "choose(1)", "selects the message below", id="choose-down", priority=True),
        Binding("alt+a", "command('next')", "the next channel with news", id="next-activity", priority=True),
        Binding("alt+l", "command('late')", "the next message that came late", id="late", priority=True),
        Binding("alt+u", "command('unread')", "the first unread message", id="unread", priority=True),
        Binding("alt+end", "command('end')", "the newest message", id="end", priority=True),
        Binding("alt+left", "turn_lens(-1)", "the view of the Lens before", id="lens-before", priority=True),
        Binding("alt+right", "turn_lens(1)", "the next view of the Lens", id="lens-next", priority=True),
        Binding("alt+e", "editor", "writes in your editor", id="editor", priority=True),
        Binding("ctrl+f", "find", "searches while you type", id="search", priority=True),
        Binding("ctrl+c", "copy_or_quit", "copies, else leaves at the second press", id="copy", priority=True),
        Binding("ctrl+q", "quit_twice", "leaves at the second press", id="quit", priority=True, show=False),
        Binding("escape", "escape", "Back", show=False),
        # A terminal in a browser sends these for Alt and an arrow.
        Binding("ctrl+up", "choose(-1)", "Message above", show=False, priority=True),
        Binding("ctrl+down", "choose(1)", "Message below", show=False, priority=True),
        Binding("ctrl+left", "turn_lens_beside(-1)", "View before", show=False, priority=True),
        Binding("ctrl+right", "turn_lens_beside(1)", "Next view", show=False, priority=True),
        *(Binding(f"alt+{n}", f"channel({n})", f"Channel {n}", show=False, priority=True) for n in range(1, 10)),
    ]

    _quit_asked = 0.0

    async def on_key(self, event: events.Key) -> None:
        """Give a key to the input that was typed for it: one that is no key of what has the focus, and one that went to
        the log, which had the focus a moment before."""
        if self.panes.bare and event.key in _PAGES:
            self.log_view.action_pages(_PAGES[event.key])
        if self._begins_a_message(event):
            if self.panes.bare:
                self.show_bare("off")
            self.chat.set_focus(self.composer)
        late = self.focused is self.composer and (event.is_printable or event.key == "enter")
        if late and event.key not in self._bindings.key_to_bindings:
            event.stop()
            event.prevent_default()
            self.composer.post_message(events.Key(event.key, event.character))

    @property
    def waits(self) -> bool:  # type: ignore[override]
        return not (self.composer.text or self.reads_sheet or self.finds) and self.screen is self.chat

    @property
    def _covered(self) -> bool:
        """True while another screen lies over the chat, such as the palette."""
        return len(self.screen_stack) > 1

    def _begins_a_message(self, event: events.Key) -> bool:
        """True for a letter that is no key of what has the focus."""
        if not event.is_printable or event.key == "space" or self._covered:
            return False
        for log in (self.log_view, self.second_view):
            if log.has_focus:
                return not log.takes(event.key)
        return event.key not in self.screen.active_bindings

    def keep_refused(self, text: str) -> None:
        """Leave a refused text in the input for the user to correct, and the reason above it until it changes."""
        self.composer.begin(text, refused=True)
        self.refused = text
        if self._reading is not None:
            self._reading.cancel()
        self.panes.frames.draw()

    def on_text_area_changed(self) -> None:
        if self.refused and self.composer.text != self.refused:
            self.refused = ""
            self.panes.hint("")
            self.panes.frames.draw()

    def on_paste(self, event: events.Paste) -> None:
        """Give what was pasted where nothing takes it, such as in the log, to the filter of a sheet, else to the
        input."""
        if self._covered:
            return
        if self.sheet.page is not None and self.sheet.has_focus:
            self.sheet.narrow(event.text)
        else:
            self.chat.set_focus(self.composer)
            self.composer.post_message(events.Paste(event.text))

    async def action_command(self, line: str) -> None:
        """Run a command line without its slash, for a key or the palette, as if the user had typed it."""
        try:
            await self.input_handler.run(f"/{line}")
        except CommandError as error:
            self.refuse(str(error))

    def action_start(self, text: str) -> None:
        """Begin to write a command."""
        self.chat.set_focus(self.composer)
        self.composer.put(text)

    async def action_find(self) -> None:
        """Begin a search. Its line is made at the first one."""
        if self.finder is None:
            from sdschat.tui.finder import Finder

            self.finder = Finder(self)
            await self.chat.mount(self.finder.bar, after=self.panes.notice)
        self.finder.open()

    def action_find_on(self, step: int) -> None:
        if self.finder is not None:
            self.finder.go(step)

    def action_find_list(self) -> None:
        if self.finder is not None:
            self.finder.list_hits()

    async def action_editor(self) -> None:
        try:
            await self.edit_draft(self.composer.text)
        except CommandError as error:
            self.refuse(str(error))

    def action_lens(self) -> None:
        try:
            self.lens.toggle()
        except CommandError as error:
            self.refuse(str(error))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of the Lens to the input while the Lens is closed, and those that move by a word while there
        are words. Behind the palette, let no key do anything but leave."""
        if self._covered and action not in _LEAVING:
            return False
        if action == "turn_lens":
            return self.lens.is_open
        if action == "turn_lens_beside":
            return self.lens.is_open and self.focused is self.composer and not self.composer.text
        return super().check_action(action, parameters)

    def action_turn_lens(self, by: int) -> None:
        self.lens.turn(by)

    def action_turn_lens_beside(self, by: int) -> None:
        """Turn the Lens while the keys go to an empty input."""
        self.lens.turn(by)

    def action_pane(self, what: str) -> None:
        """Show or hide a list; where there is no room for it beside the log, show it on a sheet."""
        if not self.panes.has_room(what):
            self.show_pages([_people_page(self) if what == "members" else _channels_page(self)], "")
            return
        setattr(self.panes, what, not getattr(self.panes, what))
        self.panes.fit()

    def on_channel_list_picked(self, message: ChannelList.Picked) -> None:
        self.action_channel(message.number + 1)

    def on_member_list_picked(self, message: MemberList.Picked) -> None:
        """Show the members with the clicked one chosen, and not at once what Enter does there: nobody is to write to
        one alone by a slip."""
        self.show_pages([_people_page(self, message.sender_id)], "")

    def action_focus_log(self) -> None:
        self.end_finding(marks=True)
        if self.logs.display:
            self.chat.set_focus(self.composer if self.log_view.has_focus else self.log_view)
        elif self.composer.has_focus:
            self.lens.focus()  # it covers the log
        else:
            self.chat.set_focus(self.composer)

    def action_swap(self) -> None:
        if self.workspace.beside:
            self.show_channel(self.workspace.beside)

    def action_reply(self) -> None:
        """Make the next message an answer to the selected one."""
        entry = self.model.timeline.entries.get(self.selection or "")
        if entry is None:
            self.warn("no message is selected: Alt+Up selects one")
            return
        self.input_handler.reply_to = entry.message_id
        self.draw_prompt()
        if not self.panes.frames.titled:
            name = self.model.name_of(entry.sender_id, entry.nick)
            self.warn(f"answering {name}: {first_words(entry, _QUOTED, self.glyphs.cut)} | Esc: not an answer")
        self.chat.set_focus(self.composer)  # at once: letters that come with this key are for it already

    def action_choose(self, step: int) -> None:
        self.log_view.action_choose(step)

    def action_channel(self, number: int) -> None:
        if number <= len(self.workspace.order):
            self.show_channel(self.workspace.order[number - 1])

    def action_escape(self) -> None:
        """Go one step back: out of a filter, a sheet, a lone slash, the bare log, a refused text, the Lens, an answer,
        a selection, scrolling, or a conversation of two."""
        self.panes.hint("")
        if self.sheet.page is not None:
            if not self.sheet.clear_filter():
                self.close_sheet()
            return
        if self.end_finding(marks=False):
            pass  # at the hit; another Esc goes to the end
        elif self.composer.text == "/":
            self.composer.put("")  # a command that was not begun
        elif self.panes.bare:
            self.show_bare("off")
        elif self.refused and self.composer.has_focus:
            self.composer.put("")
        elif self.lens.is_open:
            self.lens.close()
        elif self.input_handler.reply_to:
            self.input_handler.reply_to = ""
            self.draw_prompt()
        elif self.selection is not None:
            if any(found == self.selection for _, found in self.model.hits):
                self.log_view.jump_to_end()
            self.log_view.unchoose()
            self.mark("")
        elif not self.log_view.following:
            self.log_view.jump_to_end()
        else:
            self._leave_talk()
        self.composer.focus()

    def _leave_talk(self) -> None:
        """Go from a conversation of two back to the channel. One who is writing stays, so that nothing that is meant
        for one alone is written to all."""
        channel = self.workspace.out_of_talk()
        if channel is None:
            return
        if self.composer.text:
            self.warn(
                f"{self.way_to(channel)} goes back to {self.label(channel)}; what stands in the input is kept here."
            )
        else:
            self.show_channel(channel)

    def action_copy_or_quit(self) -> None:
        marked = self.screen.get_selected_text() or self.composer.selected_text
        if marked:
            self.copy(marked, "The selection")
        else:
            self.action_quit_twice()

    def action_quit_twice(self) -> None:
        now = time.monotonic()
        if now - self._quit_asked < _QUIT_WITHIN:
            self.exit(0)
            return
        self._quit_asked = now
        self.warn(" ".join(("Once more to leave.", *self._left_behind())))

    def _left_behind(self) -> Iterator[str]:
        """Yield what becomes of what one leaves."""
        if waiting := self.workspace.unsent_words():
            yield waiting
        if unconfirmed := self.workspace.unconfirmed_words():
            yield unconfirmed
        if self.composer.text.strip():
            yield "What stands in the input is kept."
        if self.workspace.hosting and any(model.present for model in self.models.values()):
            yield "The broker runs in this program: somebody else on this machine goes on with it."


def _channels_page(host: ScreenHost) -> Page:
    """Return the open channels and conversations, for a terminal too narrow to list them. Enter shows one."""
    names = [f"{number} {host.label(name)}" for number, name in enumerate(host.order, 1)]
    width = min(_MOST, max(map(cell_len, names)))
    lines, marks = [], list[list[Mark]]()
    for name, label in zip(host.order, names, strict=True):
        unread, mentions = host.workspace.counted(name)
        news = news_words(unread, mentions)
        shown = fitted(label, width, host.glyphs.cut)
        line, state = f"{shown}  {host.badge(name)}", host.workspace.health(name)
        marks.append([(0, len(shown), "heading" if name == host.shown else "key")])
        if state is not Health.GOOD:
            marks[-1].append((len(shown) + 2, len(line), STYLES_OF_HEALTH[state]))
        line += ", " if news else ""
        marks[-1].append((len(line), len(line + news), "mention" if mentions else "new"))
        lines.append(line + news)
    lines.append("/join CHANNEL opens another one")
    marks.append([(0, len("/join CHANNEL"), "key")])
    runs = [*(f"go {number}" for number in range(1, len(lines))), "join"]
    return Page("channels", lines, runs, "shows it", partial(_channels_page, host), marks, at_top=True)


def _people_page(host: ScreenHost, chosen_id: str = "") -> Page:
    """Return the participants, for a terminal too narrow to list them, or behind a click. Enter writes to one alone."""
    now, glyphs = host.view.now().wall, host.glyphs
    connected = host.view.connected(host.channel)
    people = host.view.channel(host.channel).people()
    nicks = [f"{person_name(person)}{f' {glyphs.verified}' if person.verified else ''}" for person in people]
    width = min(_MOST, max(map(cell_len, nicks), default=0))
    lines, marks, runs = [], list[list[Mark]](), []
    for person, nick in zip(people, nicks, strict=True):
        here = person.online and connected
        shown = fitted(nick, width, glyphs.cut)
        line = f"{glyphs.online if here else glyphs.offline} {shown}  "
        marks.append([(0, 1, "acked" if here else "time"), (2, 2 + len(shown), f"nick:{person.sender_id}")])
        lines.append(f"{line}{short(person.sender_id, 8)}  {heard_words(person._replace(online=here), now)}")
        runs.append("nick" if person.own else f"msg {person.sender_id}")
    title = f"{sum(person.online for person in people)} here" if connected else "not connected"
    chosen = next((at for at, person in enumerate(people) if person.sender_id == chosen_id), 0)
    return Page(title, lines, runs, "writes to them alone", partial(_people_page, host), marks, chosen, at_top=True)
