"""Typed input: it is sent as a message or run as a command; and the completion of a word."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

from sdschat.node.view.user_texts import UNSAVED
from sdschat.tui.host import Host
from sdschat.tui.model.line_input import Completion, emoji_completion, matching, nick_completion
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.status import unsaved_words
from sdschat.tui.model.words import whole_nick

_NAME: Final = re.compile(r"\s")  # ends the name of a command


class InputHandler:
    """The input of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._registry = host.registry
        self._doubted = ""  # text that looked like a mistyped command and so was not sent; sent if entered again
        self._answered: dict[str, str] = {}  # by channel

    @property
    def reply_to(self) -> str:
        """Return the id of the message that the next one in this channel answers; empty: none."""
        return self._answered.get(self._host.shown, "")

    @reply_to.setter
    def reply_to(self, message_id: str) -> None:
        self._answered[self._host.shown] = message_id

    async def submit(self, text: str) -> bool:
        """Send or run the text. Return False, with the reason shown, if it must stay in the input."""
        host = self._host
        try:
            if text.startswith("/") and not text.startswith("//"):
                await self.run(text)
            elif self._is_doubtful(text):
                self._doubted = text
                host.warn("This looks like a command with a space before it. Enter again sends it as a message.")
                return False
            else:
                host.send(text.removeprefix("/") if text.startswith("//") else text, reply_to=self.reply_to)
                self.reply_to = ""
        except CommandError as error:
            host.refuse(str(error))
            return False
        self._doubted = ""
        return True

    def _is_doubtful(self, text: str) -> bool:
        word = text.strip().partition(" ")[0]
        return (
            text[0].isspace()
            and word.startswith("/")
            and self._registry.get(word[1:]) is not None
            and text != self._doubted
        )

    async def run(self, line: str) -> None:
        """Run a command line that begins with its slash. Raises CommandError."""
        line = expanded(line[1:].strip(), self._host.preferences.aliases)
        name, argument = _NAME.split(f"{line} ", maxsplit=1)
        if not name:
            raise CommandError("A slash alone is no command. /help lists all of them.")
        try:
            found = self._registry.find(name).run(self._host, argument.strip())
            if inspect.isawaitable(found):
                await found
        except UNSAVED as error:
            raise CommandError(f"Not done: {unsaved_words(str(error))}. Try it again later.") from error

    def complete(self, text: str, at: int) -> Completion | None:
        if text.startswith("/") and not text.startswith("//") and "\n" not in text[:at]:
            return self._complete_command(text, at)
        return self._complete_word(text, at)

    def _complete_word(self, text: str, at: int) -> Completion | None:
        return emoji_completion(text, at) or nick_completion(text, at, self._nicks())

    def _complete_command(self, text: str, at: int) -> Completion | None:
        host, head = self._host, text[1:at]
        name, space, argument = head.partition(" ")
        if not space:
            words = matching(name, [*self._registry.names(), *sorted(host.preferences.aliases)])
            return Completion(1, text[at:], [f"{word} " for word in words]) if words else None
        command = self._registry.get(name)
        start = at - len(argument.rpartition(" ")[2])
        if command is not None and command.complete is not None:
            found = matching(text[start:at], command.complete(host, argument))
            if found:
                return Completion(start, text[at:], [f"{word} " for word in found])
        return self._complete_word(text, at)

    def _nicks(self) -> list[str]:
        """Return the nicks of the others, the one heard last first."""
        host = self._host
        people = sorted(host.conversation.people(), key=lambda person: -person.heard_at)
        return [nick for person in people if not person.own and (nick := whole_nick(person.nick))]


def expanded(line: str, aliases: Mapping[str, str]) -> str:
    """Return a command line with its alias replaced by the line it stands for; `$*` marks the place of the argument."""
    name, _, argument = line.partition(" ")
    stands_for = aliases.get(name.lower())
    if stands_for is None:
        return line
    if "$*" in stands_for:
        return stands_for.replace("$*", argument)
    return f"{stands_for} {argument}".strip()
