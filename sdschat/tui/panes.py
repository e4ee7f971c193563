"""The parts around the log: head, banners, details of the selection, lists. Drawn from the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from sdschat.node.view.private import is_shut_out
from sdschat.tui.frames import Frames
from sdschat.tui.model.delivery import name_of
from sdschat.tui.model.items import GapItem, MessageItem, gap_words
from sdschat.tui.model.status import (
    PART,
    WentAway,
    first_sentence,
    last_heard_words,
    offline_words,
    provenance,
)
from sdschat.tui.model.words import HIT, clean, clean_name, fitted, key_words, short, when, whole_parts, wrapped
from sdschat.tui.widgets.lists import ChannelLine, ChannelList, MemberList, health_sign, unread_mark
from sdschat.tui.window import Window

WIDE: Final = 100  # columns from which there is room for one list beside the log
WIDER: Final = 120  # and for two
WIDEST: Final = 140  # and for the list of channels beside the log and the Lens
LOW: Final = 14  # lines below which the Lens has all of the room, not its lower half
_TINY: Final = 5  # lines up to which all there is are the newest messages and the input
_LOW: Final = 20  # lines below which the details of a message have few of them, and none beside a sheet
_BANNER_LINES: Final = 5  # of the banner, as in app.tcss
_BROKEN: Final = 12  # columns of a line of it that words leave empty where they are broken
_FEW: Final = 2
_NAME: Final = 24
_ROOM_FOR_KEYS: Final = 80  # columns from which both keys have a place of their own in the head
_ROOM_FOR_HELP: Final = 60  # and from which help has one
_CLICKED: Final = {"help": "app.command('help')", "lens": "app.lens"}  # by a word of the head
_STATE: Final = 18  # columns of the head for the state of the channel, at least


def _news(line: ChannelLine) -> str:
    mark = unread_mark(line)
    return f" {mark}" if mark else ""


class _Head(Static):
    """The line of state. What can be clicked keeps its colours: Textual would give all of it one."""

    @property
    def link_style(self) -> Style:
        return Style()


class Panes:
    """Draws what has changed, and nothing else."""

    def __init__(self, screen: Window) -> None:
        self._screen = screen
        self.head = _Head("", id="head", markup=False)
        self.details = Static("", id="details", markup=False)
        self.faults = Static("", id="faults", classes="banner", markup=False)
        self.offline = Static("", id="offline", classes="banner", markup=False)
        self.notice = Static("", id="hint", markup=False)
        self.channel_list = ChannelList(id="channels")
        self.member_list = MemberList(id="members")
        self.frames = Frames(screen, self.channel_list, self.member_list)
        self._texts: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._gone = WentAway()
        self.members = True  # the list is wanted, if there is room
        self.channels = True
        self.bare = False  # nothing but the log
        self.fitted = 0  # number of channels when the panes were last fitted

    def _put(self, pane: Static, text: Text, *, hide: bool = False) -> None:
        """Update the pane if its text is another than before: every update costs a new layout of the screen."""
        name, key = pane.id or "", f"{text.plain}|{text.spans}"
        if self._texts.get(name) != key:
            self._texts[name] = key
            self._said[name] = text.plain
            text.plain = text.plain.replace(PART, f" {self._screen.line_style.glyphs.between} ")
            pane.update(text, layout=hide)
            if hide:
                pane.display = bool(text.plain)

    def lines(self) -> list[ChannelLine]:
        screen, found = self._screen, []
        for name in screen.workspace.order:
            unread, mentions = screen.workspace.counted(name)
            label = screen.label(name, _NAME)
            shown, tag = name == screen.workspace.shown, clean_name(screen.view.conversation(name).tag())
            state = screen.workspace.health(name)
            found.append(ChannelLine(name, label, screen.badge(name), unread, mentions, shown, tag, state))
        return found

    def draw_badges(self) -> None:
        lines = self.lines()
        self.channel_list.set_lines(lines, self._screen.line_style)
        self.frames.show_others(lines)
        self._draw_head(lines)

    def _draw_head(self, lines: list[ChannelLine]) -> None:
        """Draw the line of state: channel, pill, and as many of the other parts as fit whole."""
        screen, text, named = self._screen, Text(no_wrap=True, overflow="crop"), self._keys()
        shown = next((line for line in lines if line.shown), None)
        if len(lines) > 1 and not self.channel_list.display and not self.frames.ruled:
            text.append_text(self._numbered(lines))
        elif shown is not None:
            text.append(f" {screen.label(shown.name, max(_NAME, screen.width // 3))} ", "bold reverse")
        if shown is not None:
            both, one = map(len, named)
            kept = both if screen.width >= _ROOM_FOR_KEYS else one if screen.width >= _ROOM_FOR_HELP else 0
            between = f" {screen.line_style.glyphs.between} "
            parts = [*self._parts(shown.name)]
            first = cell_len(between + parts[0][0][-1]) + kept if parts and screen.width >= _ROOM_FOR_HELP else 0
            text.append_text(self._pill(shown, screen.width - text.cell_len - first))
            for ways, drawn in parts:
                room = screen.width - kept - text.cell_len - len(between)
                part = next((way for way in ways if cell_len(way) <= room), "")
                if part:
                    text.append(between).append(part, drawn)
        keys = next((keys for keys in named if text.cell_len + len(keys) <= screen.width), "")
        drawn_keys = Text(keys.rjust(screen.width - text.cell_len))
        drawn_keys.highlight_regex(r"(?:help|lens)\b", "dim")
        drawn_keys.highlight_regex(r"\S+(?= (?:help|lens)\b)", screen.line_style.style("key"))
        for word, action in _CLICKED.items():  # what looks like a button is one
            drawn_keys.highlight_regex(rf"\S+ {word}\b", Style(meta={"@click": action}))
        text.append_text(drawn_keys)
        self._put(self.head, text)

    def _keys(self) -> tuple[str, str]:
        """Return the keys that the head names where there is room, and that which it names where there is less."""
        help_ = f"  {self._key('help')} help "
        return f"{help_} {self._key('lens')} lens ", help_

    def _key(self, action: str) -> str:
        """Return the key that an action has now."""
        return next(key_words(key) for name, key, _ in self._screen.key_table() if name == action)

    def _numbered(self, lines: list[ChannelLine]) -> Text:
        """Return all channels with their numbers: by name if that leaves room for the state, else the one that is shown
        by name, and of the others the numbers of as many as there is room for, those with news first."""
        room = self._screen.width - _STATE
        named = [f" {number} {line.label}{_news(line)} " for number, line in enumerate(lines, 1)]
        wanted = set(range(len(lines)))
        if sum(map(cell_len, named)) > room:
            named = [
                name if line.shown else f" {number}{_news(line)} "
                for number, (name, line) in enumerate(zip(named, lines, strict=True), 1)
            ]
            by_news = sorted(wanted, key=lambda at: (not lines[at].shown, not lines[at].mentions, not lines[at].unread))
            while len(by_news) > 1 and sum(cell_len(named[at]) for at in by_news) > room:
                by_news.pop()
            wanted = set(by_news)
        text = Text(no_wrap=True, overflow="crop")
        for at in sorted(wanted):
            line, shows = lines[at], Style(meta={"@click": f"app.channel({at + 1})"})
            text.append(named[at], Style(bold=bool(line.shown or _news(line)), reverse=line.shown) + shows)
        return text

    def _pill(self, shown: ChannelLine, room: int) -> Text:
        """Return the state of the channel that is shown, with its sign and colour: as much of it as fits whole."""
        screen = self._screen
        model, (sign, name) = screen.workspace.models[shown.name], health_sign(shown.health, screen.line_style)
        words = shown.badge.replace("alone", "nothing missing", 1)  # beside it stands that one is alone here
        if model.refused and model.connection.state == "connected":
            words = "not allowed to write"
        elif is_shut_out(screen.view.node, shown.name):
            words = "not a member"
        pill = f"{sign} {whole_parts(words, room - 3)}"
        return Text.assemble(" ", (pill, screen.line_style.style(name)))

    def _parts(self, name: str) -> Iterator[tuple[tuple[str, ...], Style]]:
        """Yield the other parts of the head with their styles, the most wanted first: each as it is where there is
        room, then shorter."""
        screen = self._screen
        model, plain = screen.workspace.models[name], Style()
        late = len(model.late.unseen)
        if late:
            yield (f"{late} late: {self._key('late')}",), screen.line_style.style("late")
        new = model.unread_line.words(self._key("unread"))
        if new:
            yield new, screen.line_style.style("late")
        if model.conversation.channel in screen.view.node.recorded:
            yield ("recording",), plain
        partner, people = model.conversation.partner(), model.conversation.people()
        if partner is not None:
            yield (f"only {name_of(partner) if partner.nick else 'the other one'} and you read this",), plain
        elif model.connection.state == "connected":
            counts = not is_shut_out(screen.view.node, name)  # who is here says nothing to who is no member
            here = sum(person.online for person in people)
            went = self._gone.names(name, model.present, people, screen.view.now().wall)
            those = "alone here" if here == 1 else f"{here} here"
            if counts:
                yield (f"{those}, {went} not here", those) if went else (those,), plain
            if screen.workspace.hosting:
                yield ("hosting the broker",), plain
            heard = last_heard_words(people, screen.view.now().wall)
            if heard and here > 1 and counts:
                yield (heard,), plain
        if screen.view.node.settings.timing == "demo":
            yield ("quick repair",), plain

    def draw_people(self) -> None:
        screen = self._screen
        if self.member_list.display and screen.workspace.shown:
            model = screen.workspace.models[screen.workspace.shown]
            people = model.conversation.people()
            connected = model.connection.state == "connected"
            self.member_list.set_people(people, screen.line_style, screen.view.now().wall, connected)

    def draw_banners(self) -> None:
        """Draw the state of the connection, and the faults that are injected."""
        screen, name = self._screen, self._screen.workspace.shown
        model = screen.workspace.models.get(name)
        if model is None:
            return
        sync, now = model.conversation.sync(), screen.view.now().wall
        room = _BANNER_LINES * (screen.width - _BROKEN)
        offline = offline_words(model.connection, sync, now, recorded=bool(screen.view.recorded), room=room)
        if model.refused and not offline:
            offline = f"NOT TAKEN {model.refused} | what you write is kept, and tried again"
        self._put_banner(self.offline, f"! {offline}" if offline else "")
        faults = clean(screen.view.faults(model.conversation.channel), limit=200)
        if offline and screen.height <= _TINY:
            faults = ""  # the log needs the line
        on = f"FAULTS WERE ON: {faults}" if screen.view.recorded else f"FAULTS ON: {faults} | /fault off"
        self._put_banner(self.faults, f"! {on}" if faults else "")

    def _put_banner(self, pane: Static, text: str) -> None:
        """Draw a banner: in one line where there are few, and without colours as wide as the screen."""
        screen, cut = self._screen, self._screen.line_style.glyphs.cut
        shown, room = text.replace(PART, f" {screen.line_style.glyphs.between} "), screen.width - 2
        if shown and screen.height <= _TINY:
            shown = fitted(shown, room, cut).rstrip()
        if shown and screen.line_style.palette.theme.ansi:
            shown = "\n".join(fitted(f" {shown[low:high]}", screen.width, cut) for low, high in wrapped(shown, room))
        self._put(pane, Text(shown), hide=True)
        self._said[pane.id or ""] = text

    def draw_details(self) -> None:
        self._put(self.details, Text(self._details()), hide=True)
        model = self._screen.workspace.models.get(self._screen.workspace.shown)
        if model is not None and self.said("hint").startswith(f"{HIT} "):
            hit = [message_id for _, message_id in model.hits[model.hit_at : model.hit_at + 1]]
            if hit != [model.selected]:
                self.hint("")

    def _details(self) -> str:
        screen, name = self._screen, self._screen.workspace.shown
        model = screen.workspace.models.get(name)
        if model is None or model.selected is None or (screen.reads_sheet and screen.height < _LOW):
            return ""
        at = model.timeline.index_of_message(model.selected)
        item = None if at is None else model.timeline.items[at]
        now = screen.view.now().wall
        if isinstance(item, GapItem):
            return f"{short(item.message_id, 8)} | {gap_words(item, now)}"
        if not isinstance(item, MessageItem):
            return ""
        told = first_sentence(model.told_of(item)) or provenance(item, when(item.at, now))
        room = screen.width - 2
        if screen.height <= _TINY:  # the log needs the lines
            return "" if self.said("hint") or screen.finds else self._in_few(told)
        if screen.height < _LOW and len(wrapped(told, room)) > _FEW:
            return self._in_few(told, " | F5")
        told = told.rstrip(".")
        whole = f"{told} | id {short(item.message_id, 8)} | F5 all of it"
        if cell_len(whole) <= room:
            return whole
        shorter = f"{told} | F5 all of it"
        return shorter if len(wrapped(shorter, room)) == len(wrapped(told, room)) else told  # no line for that alone

    def _in_few(self, text: str, end: str = "") -> str:
        """Return as much of a text as few lines hold."""
        room, glyphs = self._screen.width - 2, self._screen.line_style.glyphs
        lines = wrapped(text, room)
        if len(lines) <= _FEW:
            return text
        last = lines[_FEW - 1][0]
        return text[:last] + fitted(text[last:].replace("\n", " "), room - len(end), glyphs.cut).rstrip() + end

    def hint(self, text: str, *, wrong: bool = False) -> None:
        """Show a line above the input; if something was `wrong`, in the colour of a warning."""
        self.notice.set_class(wrong, "-wrong")
        drawn, glyphs = Text(text), self._screen.line_style.glyphs
        if text and self._screen.line_style.palette.theme.ansi:  # no colour tells it from the log
            drawn = Text(f"{glyphs.alert if wrong else glyphs.system} {text}")
        if self._screen.height <= _TINY:
            drawn = Text(self._in_few(drawn.plain))
        self._put(self.notice, drawn, hide=True)
        self._said[self.notice.id or ""] = text
        if self._screen.height <= _TINY:
            self.draw_details()  # there is no room for both

    def said(self, name: str) -> str:
        """Return the text of a pane."""
        return self._said.get(name, "")

    def has_room(self, what: str) -> bool:
        """True if this list, `channels` or `members`, can stand beside the log."""
        screen, several = self._screen, len(self._screen.workspace.order) > 1
        if screen.width < WIDE or self.bare:
            return False
        if what == "channels":
            return several
        two_beside = screen.workspace.beside and screen.width < WIDEST
        lens_beside = screen.lens_open and screen.width >= WIDEST
        return not two_beside and not lens_beside and (screen.width >= WIDER or not (self.channels and several))

    def fit(self) -> None:
        """Fit everything to the size of the terminal, and show the panes that are wanted."""
        screen = self._screen
        wide = screen.width >= WIDE and not self.bare
        self.fitted = len(screen.workspace.order)
        self.head.display = not self.bare and screen.height > _TINY
        screen.entry.display = not self.bare
        screen.logs.display = not (screen.lens_open and screen.height < LOW)
        screen.logs.styles.layout = "horizontal" if wide else "vertical"
        screen.logs.set_class(not wide, "-stacked")
        self.channel_list.display = self.channels and self.has_room("channels")
        self.member_list.display = self.members and self.has_room("members")
        for pane in (self.notice, self.details, self.faults, self.offline):
            pane.set_class(screen.height <= _TINY, "-tiny")
        self.frames.fit()
        self.draw_badges()
        self.draw_people()
        self.draw_banners()
