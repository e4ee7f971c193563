"""Printing of a history, with names that tell its authors apart, and what an answer answers."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

import click

from sdschat.cli.errors import say
from sdschat.cli.histories import AuthorTags, WantedHistory, matching, with_senders
from sdschat.cli.local_histories import LocalHistory, asked_history
from sdschat.cli.log_formats import as_markdown, as_text, is_action, who, write_messages
from sdschat.cli.options import Chosen
from sdschat.cli.output import on_screen, safe
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.reader import Reader

_QUOTED: Final = 40  # letters of the message that is answered
_ID: Final = 8
_NOTHING: Final = "nothing was said there yet"
_NOTHING_FOUND: Final = "no message fits: --search takes whole words or their beginnings, --since and --until a time"
_PAUSE: Final = 250  # milliseconds between two looks for new messages


def print_history(chosen: Chosen, reader: Reader, wanted: WantedHistory, form: str, *, follows: bool = False) -> None:
    """Print the history to standard output; with `follows`, go on until the program is interrupted, or the end of the
    wanted time is over."""
    wanted = with_senders(chosen, reader, wanted)
    follows = follows and not _is_over(wanted)
    history = asked_history(chosen, reader, wanted)
    if follows:
        history.start()
    found = history.wanted(wanted)
    if form == "parquet":
        write_messages(found)
        return
    show = history.as_json if form == "json" else _Naming(chosen, reader, history).lines(form)
    if not follows:
        if not print_lines(map(show, found)) and form == "text":
            narrowed = wanted.search or wanted.since or wanted.until or wanted.senders is not None
            say(_NOTHING_FOUND if narrowed else _NOTHING)
        return
    found = list(found)
    print_lines(map(show, found))
    printed = {(message.message_id, message.text) for message in found}  # some of them may be yielded once more
    ends = False
    while not ends:
        ends = _is_over(wanted)  # looked at before the last messages are
        for message in matching(history.more(), wanted):
            if (message.message_id, message.text) not in printed:
                click.echo(show(message))
        if not ends and _is_reader_gone(_PAUSE):
            raise BrokenPipeError


def _is_over(wanted: WantedHistory) -> bool:
    """True if nothing that is said from now on is wanted."""
    return wanted.until is not None and wanted.until < time.time_ns() // 1_000_000


def _is_reader_gone(patience: int) -> bool:
    """Wait so many milliseconds, or until nobody reads standard output any more. True if nobody does: the next message
    may be hours away."""
    if sys.stdout is None:
        return True
    poll = select.poll()
    poll.register(sys.stdout, 0)  # an error and a hang-up are always told
    return bool(poll.poll(patience))


def print_lines(lines: Iterator[str]) -> int:
    """Print lines. Return their number."""
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007
        click.echo(line)
    return number


class _Naming:
    """Names the authors of one history."""

    def __init__(self, chosen: Chosen, reader: Reader, history: LocalHistory) -> None:
        self._history = history
        self._reader = reader
        self._tags = AuthorTags(chosen, reader)

    def lines(self, form: str) -> Callable[[DisplayMessage], str]:
        """Return the function that makes the lines of a message, as "text" or "md"."""
        show = {"text": as_text, "md": as_markdown}[form]
        fit: Callable[[str], str] = on_screen if form == "text" else str
        return lambda message: fit(show(message, self._name(message), self._answered(message.reply_to)))

    def _name(self, message: DisplayMessage) -> str:
        """Return the name of the author where more than the nick is needed, else an empty text."""
        tag = self._tags.tag_of(message.sender_id, message.nick) if message.nick else ""
        return f"{who(message)} {safe(tag)}" if tag else ""

    def _answered(self, message_id: str) -> str:
        """Return author and beginning of the message that is answered; its id, if it is not here."""
        if not message_id:
            return ""
        original = self._history.message(message_id)
        if original is None or original.text is None:
            return safe(message_id[:_ID])
        if self._reader.hides(original.sender_id):
            return f"{self._name(original) or who(original)}: (not shown)"
        words = " ".join(safe(original.text, lines=True).split())
        if len(words) > _QUOTED:
            words = f"{words[: _QUOTED - 1].rstrip()}…"
        return f"{self._name(original) or who(original)}{' ' if is_action(original) else ': '}{words}"
