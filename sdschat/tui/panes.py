"""What stands around the log: head, banners, details of the selection, lists. Drawn from the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.widgets import Static

from sdschat.tui.model.cleaning import clean, nick_text, short
from sdschat.tui.model.gaps import gap_words
from sdschat.tui.model.items import Entry, GapItem
from sdschat.tui.model.status import fate_sentence, offline_words, provenance
from sdschat.tui.widgets.lists import ChannelLine, ChannelList, MemberList, unread_mark

if TYPE_CHECKING:
    from sdschat.tui.screen_host import ScreenHost

WIDE: Final = 100  # columns from which there is room for one list beside the log
WIDER: Final = 120  # and for two
_NAME: Final = 24


class Panes:
    """Draws what has changed, and nothing else."""

    def __init__(self, app: ScreenHost) -> None:
        self._app = app
        self.head = Static("", id="head", markup=False)
        self.details = Static("", id="details", markup=False)
        self.faults = Static("", id="faults", classes="banner", markup=False)
        self.offline = Static("", id="offline", classes="banner", markup=False)
        self.notice = Static("", id="hint", markup=False)
        self.channel_list = ChannelList(id="channels")
        self.member_list = MemberList(id="members")
        self._texts: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self.members = True  # whether they are wanted, where there is room
        self.channels = True
        self.bare = False  # nothing but the log
        self.fitted = 0  # channels there were when all of it was fitted

    def _put(self, pane: Static, text: Text, *, hide: bool = False) -> None:
        """Only where it says something else than before: every change lays the screen out anew."""
        name, key = pane.id or "", f"{text.plain}|{text.spans}"
        if self._texts.get(name) != key:
            self._texts[name] = key
            self._said[name] = text.plain
            pane.update(text, layout=hide)
            if hide:
                pane.display = bool(text.plain)

    def lines(self) -> list[ChannelLine]:
        app, found = self._app, []
        for name in app.desktop.order:
            unread, mentions = app.desktop.counted(name)
            label = clean(app.label(name), limit=_NAME)
            found.append(ChannelLine(name, label, app.badge(name), unread, mentions, name == app.desktop.shown))
        return found

    def draw_badges(self) -> None:
        lines = self.lines()
        self.channel_list.set_lines(lines, self._app.look)
        self._draw_head(lines)

    def _draw_head(self, lines: list[ChannelLine]) -> None:
        app, text = self._app, Text(no_wrap=True, overflow="crop")
        width = app.size.width
        shown = next((line for line in lines if line.shown), None)
        if len(lines) > 1 and not self.channel_list.display:
            for number, line in enumerate(lines, 1):
                mark = unread_mark(line)
                style = "bold reverse" if line.shown else "bold" if mark else ""
                text.append(f" {number} {line.label}{' ' + mark if mark else ''} ", style)
        elif shown is not None:
            text.append(f" {shown.label} ", "bold reverse")
        if shown is not None:
            text.append(f" {shown.badge}{self._company(shown.name)}")
            late = len(app.desktop.models[shown.name].late_unseen)
            if late:
                text.append(" | ")
                text.append(f"{late} late: Alt+L", app.look.style("late"))
        if app.timing != "spec":
            text.append(f" | timing {app.timing}")
        if app.desktop.hosting:
            text.append(" | hosting the broker")
        keys = "F1 help  F2 lens "
        if text.cell_len + len(keys) + 1 < width:
            text.append(" " * (width - text.cell_len - len(keys)) + keys, "dim")
        self._put(self.head, text)

    def _company(self, name: str) -> str:
        """How many read what is written here."""
        app = self._app
        partner = app.view.partner(name)
        if partner is not None:
            return f" | only {nick_text(partner.nick) or 'the other one'} and you read this"
        if app.desktop.models[name].connection.state != "connected":
            return ""
        return f" | {sum(person.online for person in app.view.people(name))} here"

    def draw_people(self) -> None:
        app = self._app
        if self.member_list.display and app.desktop.shown:
            people, name = app.view.people(app.desktop.shown), app.desktop.shown
            connected = app.desktop.models[name].connection.state == "connected"
            self.member_list.set_people(people, app.look, app.view.now().wall, connected)

    def draw_banners(self) -> None:
        """The connection, and faults that are injected."""
        app, name = self._app, self._app.desktop.shown
        model = app.desktop.models.get(name)
        if model is None:
            return
        sync, now = app.view.sync(name), app.view.now().wall
        offline = offline_words(model.connection, sync, now)
        self._put(self.offline, Text(f"! {offline}" if offline else ""), hide=True)
        faults = clean(app.view.faults(name), limit=200)
        self._put(self.faults, Text(f"! FAULTS ON: {faults} | /fault off" if faults else ""), hide=True)

    def draw_details(self) -> None:
        self._put(self.details, Text(self._details()), hide=True)

    def _details(self) -> str:
        app, name = self._app, self._app.desktop.shown
        model = app.desktop.models.get(name)
        if model is None or model.selected is None:
            return ""
        at = model.timeline.index_of_message(model.selected)
        item = None if at is None else model.timeline.items[at]
        now = app.view.now().wall
        if isinstance(item, GapItem):
            return f"{short(item.message_id, 8)} | {gap_words(item, now)}"
        if not isinstance(item, Entry):
            return ""
        lines = [f"{short(item.message_id, 8)} | {provenance(item)}"]
        if item.fate is not None:
            own = app.view.own(name, item.message_id)
            people, partner = app.view.people(name), app.view.partner(name)
            lines.append(fate_sentence(item, item.fate, own, people, now, partner))
        return "\n".join(lines)

    def hint(self, text: str) -> None:
        self._put(self.notice, Text(text), hide=True)

    def said(self, name: str) -> str:
        """What a pane says now."""
        return self._said.get(name, "")

    def fit(self) -> None:
        """To the size of the terminal, and to what is wanted."""
        app = self._app
        wide = app.size.width >= WIDE and not self.bare
        self.fitted = len(app.desktop.order)
        several = self.fitted > 1
        for pane in (self.head, app.entry):
            pane.display = not self.bare
        full = app.lens.is_open and not wide
        app.logs.display = not full
        app.logs.styles.layout = "horizontal" if wide else "vertical"
        self.channel_list.display = wide and self.channels and several
        both = app.size.width >= WIDER or not self.channel_list.display
        self.member_list.display = wide and self.members and both and not app.lens.is_open
        self.draw_badges()
        self.draw_people()
