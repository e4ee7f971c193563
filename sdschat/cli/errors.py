"""Exit codes, the error that ends a command with a reason for the user, and checks of arguments that end with it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

DONE: Final = 0
UNEXPECTED: Final = 1
WRONG_USE: Final = 2
UNREACHABLE: Final = 3
NOT_AUTHORISED: Final = 4
PROFILE: Final = 5
NOT_IN_TIME: Final = 6
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_COMMAND: Final = re.compile(r"`[^`\n]*`|(?<=: )(?:sdschat|\S+ -m pip) [^\n]*$", re.MULTILINE)
_SMALL: Final = 2**20  # characters of a file that is read as a whole
_HELD: Final = "\ue000"  # a space at which no line ends: of nobody's text


class CommandProblem(Exception):
    """An error that ends the command. The text, one line, says the problem, its reason and its remedy."""

    def __init__(self, text: str, exit_code: int = UNEXPECTED) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def say(text: str) -> None:
    """Print a sentence for the user on standard error; standard output is for results. On a terminal, lines end between
    words. Nothing in it drives a terminal: names of files and arguments are repeated in errors."""
    from sdschat.identity.sanitize import harmless

    text = harmless(text, lines=True)
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # no terminal
        columns = 0
    try:
        print(wrapped(text, columns) if columns else text, file=sys.stderr, flush=True)
    except OSError:  # nobody can be told, and what was to be told does not change the exit code
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def wrapped(text: str, columns: int) -> str:
    """Return the text in lines of at most so many columns. A command that is to be copied stays in one line."""
    if all(len(line) <= columns for line in text.split("\n")):
        return text
    import textwrap

    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _HELD), text)
    lines = (textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False) for line in whole.split("\n"))
    return "\n".join(lines).replace(_HELD, " ")


@contextmanager
def in_the_chat(command: str) -> Iterator[None]:
    """Name the command of the chat that does the same, where the profile is in use by an open chat."""
    from sdschat.store.errors import ProfileInUse

    try:
        yield
    except ProfileInUse as error:
        raise CommandProblem(f"{error}. If that is a chat, type {command} in it", error.exit_code) from error


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise CommandProblem("Standard input is closed. Give it something to read.", WRONG_USE)
    return sys.stdin.buffer


def read_small(path: Path, unread: str) -> str:
    """Return the text of a file that a person wrote or a command exported. Raises CommandProblem for one that is too
    large for that, such as a device, and for one that cannot be read: `unread` says that, and the reason follows."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_SMALL + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise CommandProblem(f"{unread}: {why}. Check its name.", WRONG_USE) from error
    if len(text) > _SMALL:
        raise CommandProblem(f"{path} is too large to be what this reads. Check its name.", WRONG_USE)
    return text


def channel_name(text: str) -> str:
    """Return the name in its normal form, or a link to a private channel as it is. Raises CommandProblem for another
    text."""
    from sdschat.transport.base import normal_channel

    if text.strip().startswith("sdschat:"):
        return _checked_link(text.strip())
    refuse_files(text)
    try:
        return normal_channel(text)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def given_name(_context: click.Context, option: click.Parameter, text: str | None) -> str:
    """Return the name of a participant, empty if the option is not given. Raises CommandProblem for an empty one: a
    variable without a value would turn a direct message into one for everybody."""
    if text is not None and not text.strip(" @"):
        raise CommandProblem(f"{option.opts[0]} is empty. Give a nick, or an id.", WRONG_USE)
    return text or ""


def not_empty(_context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Return the value of an option. Raises CommandProblem for an empty one, as of a variable without a value: an empty
    path would be the folder that one is in."""
    if text is not None and not text.strip():
        raise CommandProblem(f"{option.opts[0]} is empty. Give it a value, or leave it out.", WRONG_USE)
    return text


class FilePath(click.Path):
    """A path. An empty one, as of a variable without a value, is refused: it would be the folder that one is in."""

    def __init__(self, made: type[Path | str] = Path) -> None:
        super().__init__(path_type=made)
        self.name = "file"  # in capitals it stands for the value in the help

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.strip():
            self.fail("it is empty. Give the path of a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


FILE: Final = FilePath(str)


def refuse_files(text: str) -> None:
    """Raise CommandProblem for an exported identity or a file that holds one or an invite. As the name of an open
    channel it would not be what anybody means by it."""
    from sdschat.identity.backup import HEADER

    begin, held = text, "This"
    if not text.startswith(HEADER):
        if not os.path.isfile(text):  # nor a named pipe, which somebody else may have put here
            return
        try:
            with open(text, encoding="utf-8") as file:
                begin, held = file.read(64), text
        except (OSError, ValueError):
            return
    if begin.startswith(HEADER):
        raise CommandProblem(
            f"{held} is an exported identity, and no channel. `sdschat import-identity FILE` makes a profile of it.",
            WRONG_USE,
        )
    if begin.lstrip().startswith("sdschat:"):
        raise CommandProblem(f'{held} is a file that holds an invite. Give the invite: "$(cat {held})".', WRONG_USE)


def _checked_link(text: str) -> str:
    import time

    from sdschat.identity.private.link import LinkError, read_link

    try:
        read_link(text, time.time_ns() // 1_000_000)
    except LinkError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    return text


def user_path(text: str) -> Path:
    """Return a path of an option, a variable or a file, with a home in the place of `~`. Raises CommandProblem."""
    from sdschat.node.files import expanded

    try:
        return expanded(text)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def time_option(option: str, text: str, ending: str = ".") -> int:
    """Return the time given with an option in milliseconds. Raises CommandProblem for a text that is no time.

    `ending` ends the sentence of the error: an example, or another value that the option takes.
    """
    from sdschat.node.quantities import duration

    try:
        return duration(text)
    except ValueError as error:
        raise CommandProblem(f"{option} is {text!r}, and {error}{ending}", WRONG_USE) from error
