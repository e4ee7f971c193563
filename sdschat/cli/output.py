"""Output of commands: texts made safe for a terminal, numbers and times, progress, and files that appear whole."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO, TypeVar

from sdschat.cli.errors import WRONG_USE, CommandProblem, say
from sdschat.identity.sanitize import before_text, harmless


def safe(text: str, *, lines: bool = False) -> str:
    """Return the text without anything that drives a terminal. With `lines`, line breaks stay."""
    return harmless(text, lines=lines)


def speaker(name: str) -> str:
    """Return a name to stand before a text, so that the text does not seem to begin within it."""
    return before_text(name)


def on_screen(text: str) -> str:
    """Return the lines of a message for standard output. On a terminal long ones are broken here: the terminal begins
    the rest of a line in the first column, where it looks like a line of its own."""
    if not _terminal(sys.stdout):
        return text
    from sdschat.tui.plain.lines import folded, width_of

    return folded(text, width_of(sys.stdout))


def tell_left_out(path: Path, lines: int) -> None:
    """Say how many lines of a recording are damaged, if some are."""
    if lines:
        say(f"warning: left out of {path}, as damaged: {counted(lines, 'line')}")


def counted(number: int, thing: str) -> str:
    """Return a count with its noun: 1 message, 2,000 messages."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return the names with commas between, made safe; of more than `most` it says how many are left out."""
    left = len(names) - most
    return ", ".join(map(safe, names[:most])) + (f" and {left:,} more" if left > 0 else "")


def moment(milliseconds: int) -> str:
    """Return a time as local time, to the second."""
    return _written(milliseconds, lambda at: at.strftime("%Y-%m-%d %H:%M:%S"))


def zoned(milliseconds: int) -> str:
    """Return a time as local time with its zone, for what others may read."""
    return _written(milliseconds, lambda at: at.astimezone().isoformat(sep=" ", timespec="seconds"))


def _written(milliseconds: int, form: Callable[[datetime], str]) -> str:
    try:
        return form(datetime.fromtimestamp(milliseconds / 1000))
    except (ValueError, OverflowError, OSError):
        return f"@{milliseconds}"


T = TypeVar("T")
_EVERY: Final = 512  # items between two updates, so that showing costs next to nothing


def is_watched() -> bool:
    """True if a person watches. Results that scroll by on the same terminal are progress enough."""
    return _terminal(sys.stderr) and not _terminal(sys.stdout)


def show_progress(work: Iterable[T], what: str, total: int | None) -> Iterator[T]:
    """Yield the items of `work`, and show their count meanwhile."""
    if not is_watched():
        yield from work
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for count, thing in enumerate(work, 1):
            yield thing
            if count % _EVERY == 0:
                bar.update(task, completed=count)


def _terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty is not None and isatty())


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[TextIO]:
    """Open a temporary file beside `path`, and rename it to `path` at the end. Raises OSError.

    A symbolic link at `path` is replaced and never followed: what it points to may be a file of somebody else's choice.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there, and is no file")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as output:
            yield output
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def writable(file: Path) -> Iterator[TextIO]:
    """Open the file to be written whole, readable by its owner only."""
    with contextlib.ExitStack() as stack:
        try:
            output = stack.enter_context(whole_file(file, 0o600))
        except OSError as error:
            raise CommandProblem(
                f"{file} cannot be written: {error.strerror}. Choose another name.", WRONG_USE
            ) from error
        yield output
