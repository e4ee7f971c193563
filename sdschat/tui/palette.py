"""The command palette: every slash command and every channel, found by a few letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from sdschat.tui.keys import KeyedHost


class ChatCommands(Provider):
    """Every slash command and every channel, offered by the palette."""

    def _offers(self) -> list[tuple[str, str, Callable[[], object]]]:
        """Return title, explanation and action of each. A command that needs an argument is begun in the input."""
        host, found = self.app, []
        assert isinstance(host, KeyedHost)
        for command in host.registry.commands:
            if command.needs_argument:
                run: Callable[[], object] = partial(host.action_start, f"/{command.name} ")
            else:
                run = partial(host.action_command, command.name)
            found.append((command.usage, command.summary, run))
        for name in host.order:
            found.append((f"channel {host.label(name)}", "Show this channel", partial(host.show_channel, name)))
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
    """The palette without the signs of Textual that are not ASCII."""

    DEFAULT_CSS: ClassVar[str] = """
    AsciiPalette SearchIcon { display: none; }
    AsciiPalette #--input { border: ascii; }
    AsciiPalette CommandList { border: ascii; }
    AsciiPalette LoadingIndicator, AsciiPalette LoadingIndicator.--visible { display: none; }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="Search for commands", id="--command-palette")
