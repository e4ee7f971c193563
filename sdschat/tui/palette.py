"""The command palette: every slash command and every channel, found by a few letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

if TYPE_CHECKING:
    from sdschat.tui.app import ChatApp


class ChatCommands(Provider):
    """What is typed with a slash, without typing it."""

    @property
    def _chat(self) -> ChatApp:
        return cast("ChatApp", self.app)

    def _offers(self) -> list[tuple[str, str, Callable[[], object]]]:
        """Title, explanation, and what it does. A command that needs an argument is begun in the input."""
        chat, found = self._chat, []
        for command in chat.registry.commands:
            if command.needs_argument:
                run: Callable[[], object] = partial(chat.action_start, f"/{command.name} ")
            else:
                run = partial(chat.action_command, command.name)
            found.append((command.usage, command.summary, run))
        for name in chat.desktop.order:
            found.append((f"channel {chat.label(name)}", "Show this channel", partial(chat.show_channel, name)))
        return found

    async def discover(self) -> Hits:
        for title, explanation, run in self._offers():
            yield DiscoveryHit(Content(title), run, text=title, help=explanation)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, explanation, run in self._offers():
            score = max(matcher.match(title), matcher.match(explanation) * 0.9)
            if score > 0:
                yield Hit(score, matcher.highlight(title), run, help=explanation)


class AsciiPalette(CommandPalette):
    """Without the signs that Textual has around it."""

    DEFAULT_CSS: ClassVar[str] = """
    AsciiPalette SearchIcon { display: none; }
    AsciiPalette #--input { border: ascii; }
    AsciiPalette CommandList { border: ascii; }
    AsciiPalette LoadingIndicator, AsciiPalette LoadingIndicator.--visible { display: none; }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="Search for commands", id="--command-palette")
