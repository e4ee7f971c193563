"""The palette: commands, channels, people, messages and themes, found by a few letters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from inspect import unwrap
from typing import ClassVar, Final

from textual import events, on
from textual.await_complete import AwaitComplete
from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.theme import Theme
from textual.widgets import Button, Input, OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker

from sdschat.node.view.searching import HistorySearch, SearchQuery
from sdschat.tui.keys import KeyedHost
from sdschat.tui.model.delivery import name_of
from sdschat.tui.model.items import first_words
from sdschat.tui.model.status import news_words
from sdschat.tui.model.words import ASCII, UNICODE, fitted, when
from sdschat.tui.themes import keys_marked

_THEME: Final = "theme "
_LEAST: Final = 3  # letters from which on messages are searched
_MESSAGES: Final = 6
_OTHERS: Final = 3  # messages of each channel that is not shown
_TEXT: Final = 80
_NAMED: Final = 100.0  # more than any score of scattered letters
_SCORE: Final = 50.0  # of messages: below everything that is called so, and above what has its letters scattered
_EXPLAINED: Final = 40.0  # of what is explained with these words
_WIDTH: Final = 96  # columns of the palette, at most
_SIDES: Final = 6  # columns of frame, margins and scroll bar
_TITLE: Final = 30  # columns of a title in front of its explanation
_LOW: Final = 12  # lines below which nothing is left free above the palette
_ABOVE, _INPUT = 2, 2  # lines that are left free there; of the input, with its frame
_LEAST_LIST: Final = 3  # lines of the list, with its frame
_SHARE: Final = 0.7  # of the lines of the screen
_LEAST_SAID: Final = 8  # columns below which an explanation says nothing

Offer = tuple[str, str, Callable[[], object]]  # title, explanation and action


def _host(provider: Provider) -> KeyedHost:
    assert isinstance(provider.app, KeyedHost)
    return provider.app


class ChatCommands(Provider):
    """Everything that the palette offers."""

    def _offers(self) -> list[Offer]:
        """Return what has a name. A command that needs an argument is begun in the input."""
        host, found = _host(self), list[Offer]()
        for name in sorted(host.order, key=self._by_news):
            news = news_words(*host.workspace.counted(name))
            said = "Shown now" if name == host.workspace.shown else news or "Show this channel"
            found.append((f"channel {host.label(name)}", said, partial(host.show_channel, name)))
        for person in host.view.channel(host.channel).people():
            if not person.own:
                title = f"person {name_of(person)}"
                found.append((title, "Write to them alone", partial(host.action_command, f"msg {person.sender_id}")))
        for name in host.preferences.themes:
            found.append(
                (
                    f"{_THEME}{name}",
                    "For a start without NO_COLOR" if host.colours_off else "Shown while you move here",
                    partial(host.action_command, f"theme {name}"),
                )
            )
        for command in host.registry.commands:
            if command.needs_argument:
                run: Callable[[], object] = partial(host.action_start, f"/{command.name} ")
            else:
                run = partial(host.action_command, command.name)
            found.append((command.usage, command.summary, run))
        return found

    def _by_news(self, name: str) -> tuple[bool, bool, bool]:
        """Put channels with news first, and the one that is shown last."""
        workspace = _host(self).workspace
        unread, mentions = workspace.counted(name)
        return name == workspace.shown, not mentions, not unread

    async def discover(self) -> Hits:
        for title, explanation, run in self._offers():
            yield DiscoveryHit(self._row(Content(title), explanation), run, text=title)

    def _row(self, title: Content, explanation: str, marked: re.Pattern[str] | None = None) -> Content:
        """Return an offer in one row: its title, and what it is as far as there is room, with the marks in that."""
        room = min(_WIDTH, self.app.size.width) - _SIDES
        title = title.pad_right(max(0, min(_TITLE, room // 2) - title.cell_length))
        left = room - title.cell_length - 2
        if left < _LEAST_SAID or not explanation:
            return title.truncate(room, ellipsis=True)
        said = Content.styled(fitted(explanation, left, _host(self).glyphs.cut).rstrip(), "dim")
        for found in marked.finditer(said.plain) if marked else ():
            said = said.stylize("bold underline", *found.span())
        return Content.assemble(title, "  ", said)

    async def search(self, query: str) -> Hits:
        """Yield what has these words in its title, or where nothing has them, their letters; and what has words that
        begin so in its explanation. They are marked."""
        offers, words = self._offers(), query.strip().casefold()
        scattered = not any(words in title.casefold() for title, _, _ in offers)
        matcher, begins = self.matcher(query), [rf"\b{re.escape(word)}" for word in query.split()]
        marked = re.compile("|".join(begins), re.IGNORECASE)
        for title, explanation, run in offers:
            named = words in title.casefold()
            score = matcher.match(title) if named or scattered else 0
            if score > 0:
                score += _NAMED * named
                yield Hit(score, self._row(matcher.highlight(title), explanation), run, text=title)
            elif all(re.search(word, explanation, re.IGNORECASE) for word in begins):
                yield Hit(_EXPLAINED, self._row(Content(title), explanation, marked), run, text=title)
        async for title, explanation, run in self._messages(query):
            yield Hit(_SCORE, self._row(Content(title), explanation), run, text=title)

    async def _messages(self, query: str) -> AsyncIterator[Offer]:
        """Yield messages of all open channels and conversations, the newest ones of each; those of the shown first."""
        host = _host(self)
        if len(query.strip()) < _LEAST:
            return
        for name in sorted(host.order, key=lambda name: name != host.shown):
            model, here = host.models.get(name), name == host.shown
            if model is None:  # closed meanwhile
                continue
            search = HistorySearch(host.node, model.conversation, SearchQuery(query), _MESSAGES if here else _OTHERS)
            try:
                found = await search.run()
            finally:
                search.stop()  # it was cancelled if other letters were typed
            for _, message_id in reversed(found):
                shown = model.conversation.message(message_id)
                if shown is not None:
                    entry = model.entry_for(shown)
                    text = first_words(entry, _TEXT, host.glyphs.cut)
                    said = f"message of {when(entry.at, host.view.now().wall)}"
                    where = "" if here else f", {host.label(name)}"
                    title = f"{model.name_of(entry.sender_id, entry.nick)}: {text}"
                    yield title, said + where, partial(self._show, name, message_id)

    async def _show(self, name: str, message_id: str) -> None:
        host = _host(self)
        if name != host.shown:
            host.show_channel(name)
        await host.action_command(f"goto {message_id}")


class ChatPalette(CommandPalette):
    """The palette of Textual, which shows a theme while it is highlighted; without its icon, which many fonts lack,
    and with `--ascii` without other signs than ASCII."""

    DEFAULT_CSS: ClassVar[str] = """
    ChatPalette SearchIcon { display: none; }
    ChatPalette.-shows-theme { background: transparent; }
    ChatPalette.-low > Vertical { margin-top: 0; }
    ChatPalette > Vertical { margin-top: 2; width: 96; max-width: 100%; background: $surface; }
    ChatPalette #--input, ChatPalette #--input.--list-visible { border: round $accent; border-bottom: none;
        background: $surface; border-title-color: $accent; }
    ChatPalette CommandInput, ChatPalette CommandInput:focus { border: none; height: 1; padding: 0 1; }
    ChatPalette CommandList, ChatPalette CommandList.--populating { border: round $accent; border-top: none;
        background: $surface;
        border-subtitle-color: $foreground 75%; scrollbar-size-vertical: 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
        scrollbar-color: $secondary; scrollbar-color-hover: $accent; scrollbar-color-active: $accent; }
    ChatPalette CommandInput > .input--placeholder { color: $foreground 75%; }
    ChatPalette CommandList > .option-list--option { padding: 0 1; text-style: none; }
    ChatPalette.-ascii #--input, ChatPalette.-ascii #--input.--list-visible { border: ascii $accent;
        border-bottom: none; }
    ChatPalette.-ascii CommandList, ChatPalette.-ascii CommandList.--populating { border: ascii $accent;
        border-top: none; }
    ChatPalette LoadingIndicator, ChatPalette LoadingIndicator.--visible { display: none; }
    """

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__(placeholder="a channel, person, message, command or theme")
        self.set_class(ascii_only, "-ascii")
        self._between = f" {(ASCII if ascii_only else UNICODE).between} "
        self._theme: str | None = None  # what `theme_now` was before a theme was shown
        self._shows = False  # a theme is shown that nobody has chosen yet
        self._listed = False  # the list is that of the text in the input, and not of an earlier one
        self._entered = False  # Enter was pressed before it was
        self._done = False  # it is on its way out: keys that came meanwhile do nothing

    def on_mount(self) -> None:
        self.query_one("#--input").border_title = "go to"
        self.app.theme_changed_signal.subscribe(self, self._take_theme)
        self._take_theme(self.app.current_theme)

    def _take_theme(self, theme: Theme) -> None:
        """Take the colours of a theme. Textual gives them to all screens but those of this kind."""
        keys = keys_marked(("Enter chooses", "Esc closes"), self._between, coloured=not theme.ansi)
        self.query_one(CommandList).border_subtitle = keys
        self.app.stylesheet.update(self)

    def take_keys(self) -> None:
        """Let letters go into the line at once: those that come with the key that opened it are for it already."""
        self.set_focus(self.query_one(Input))

    def on_resize(self, event: events.Resize) -> None:
        """Leave room for the frame of the list below its last row, and list anew what was fitted to another width."""
        height = event.size.height
        self.set_class(height < _LOW, "-low")
        above = _ABOVE * (height >= _LOW) + _INPUT
        self.query_one(CommandList).styles.max_height = max(_LEAST_LIST, min(height - above, round(_SHARE * height)))
        if self._listed:
            self._gather_commands(self.query_one(Input).value)

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        """Close the palette for a click beside it, if there is still a place where the click was."""
        event.prevent_default()
        with suppress(NoWidget):
            super()._on_click(event)

    @on(Input.Changed)
    def _look_again(self) -> None:
        self._listed = self._entered = False

    @on(Input.Submitted)
    def _wait_for_list(self, event: Input.Submitted) -> None:
        """Take nothing from the list of an earlier text: who types fast presses Enter before it has changed."""
        if self._done or not self._listed:
            event.stop()
            event.prevent_default()
            self._entered = True

    def _start_no_matches_countdown(self, search_value: str) -> None:
        """Say that nothing was found, at once, and as a filter says it."""
        if search_value:
            none = Content(f"Nothing here has {search_value}. Backspace takes a letter back.")
            self.query_one(CommandList).add_option(Option(none, id=self._NO_MATCHES, disabled=True))
            self._list_visible = True

    def _select_or_command(self, event: Input.Submitted | Button.Pressed | None = None) -> None:
        """Run what is chosen, once."""
        if not self._done:
            super()._select_or_command(event)

    def _gather_commands(self, search_value: str) -> Worker[None]:
        find = partial(self._find_offers, search_value)
        return self.run_worker(find, exclusive=True, group=self._GATHER_COMMANDS_GROUP)

    async def _find_offers(self, words: str) -> None:
        """Find the offers, as long as the list for them is there: the palette or the program may end meanwhile."""
        with suppress(NoMatches):
            await unwrap(super()._gather_commands)(self, words)

    def _action_command_list(self, action: str) -> None:
        """Do this in the list. Textual cannot turn pages in one for which a small screen has no room."""
        if self.query_one(CommandList).scrollable_content_region or not action.startswith("page"):
            super()._action_command_list(action)

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        super()._refresh_command_list(command_list, commands, clear_current)
        self._listed = True
        if self._entered:
            self._entered = False
            self.call_later(self._select_or_command)

    @on(OptionList.OptionHighlighted)
    def _show_theme(self, event: OptionList.OptionHighlighted) -> None:
        option = event.option
        text = (option.hit.text or "") if isinstance(option, Command) else ""
        self._restyle(text.removeprefix(_THEME) if text.startswith(_THEME) else "")

    def _restyle(self, theme: str) -> None:
        """Show a theme; with an empty name, the one of before. With NO_COLOR, show none."""
        host = self.app
        assert isinstance(host, KeyedHost)
        if host.colours_off:
            return
        if theme in host.preferences.themes:
            if not self._shows:
                self._theme, self._shows = host.theme_now, True
            host.theme_now = theme
        elif self._shows:
            host.theme_now, self._shows = self._theme, False
        else:
            return
        self.set_class(self._shows, "-shows-theme")
        host.restyle()

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close the palette. Textual would take the screen below it away at a second call."""
        if self._done:
            return AwaitComplete()
        self._done = True
        self._cancel_gather_commands()
        self._stop_no_matches_countdown()
        self._restyle("")
        return super().dismiss(result)
