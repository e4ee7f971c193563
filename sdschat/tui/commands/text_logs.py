"""Commands that write text files: the log as it is, and the running text log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import IO, Final

from sdschat.node.files import open_private
from sdschat.node.view.members import has_members
from sdschat.tui.host import Command, Host
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.results import CommandError, typed_path
from sdschat.tui.model.words import clean, count
from sdschat.tui.text_log import OFF, ON, message_lines

_OTHER_FORMATS: Final = frozenset({".json", ".jsonl", ".ndjson", ".md", ".parquet"})


async def _export(host: Host, argument: str) -> None:
    """Write the whole log to a text file, 500 messages at a time: memory use stays small, and the node works on."""
    if not argument:
        raise CommandError("/export needs a file: /export lobby.txt. `sdschat log` has more formats.")
    path = typed_path(argument)
    if path.suffix in _OTHER_FORMATS:
        raise CommandError(f"/export writes text: {path.stem}.txt. `sdschat export` writes {path.suffix} files.")
    try:
        with open_private(path, "x", errors="backslashreplace") as file:
            try:
                written = await _write(file, host.model)
                file.flush()
            except BaseException:  # also where the program ends meanwhile
                path.unlink(missing_ok=True)  # it was not there before, and what is in it is not all
                raise
    except FileExistsError:
        raise CommandError(f"{path} is there already. Choose another name.") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}. Choose another place.") from error
    host.answer(f"{count(written, 'message')} written to {path}", "export")


async def _write(file: IO[str], model: ChannelModel) -> int:
    """Write all messages of a conversation, and return their number."""
    after, written = (-1, ""), 0
    while found := model.conversation.messages(after=after, limit=500):
        file.writelines(message_lines(model.entry_for(shown), model) for shown in found)
        after, written = found[-1].key, written + len(found)
        await asyncio.sleep(0)
    return written


def _log(host: Host, argument: str) -> None:
    word, _, name = argument.partition(" ")
    if word not in ("", ON, OFF) or (word == OFF and name):
        raise CommandError("/log on [FILE] writes a text log of this channel, /log off ends it.")
    if word:
        _switch(host, word, name.strip())
    file = host.text_log.file_of(host.shown)
    host.warn(f"each message is written to {file}" if file else "this channel has no text log | /log on begins one")


def _switch(host: Host, word: str, name: str) -> None:
    if host.conversation.partner() is not None:
        raise CommandError("What two say to each other alone is not written to a text log.")
    if has_members(host.view.node, host.shown):
        raise CommandError(
            "What is deleted in a members' channel is gone for everybody, and a text log would keep it. It has none."
        )
    before = host.preferences.log.get(host.shown)
    host.preferences.log[host.shown] = str(typed_path(name).absolute()) if name else word
    file = host.text_log.file_of(host.shown)
    try:
        if file is not None:
            host.text_log.write(file, "")
    except OSError as error:
        if before is None:
            del host.preferences.log[host.shown]
        else:
            host.preferences.log[host.shown] = before
        raise CommandError(f"{clean(str(file))} cannot be written: {error.strerror}. Choose another file.") from error
    host.save_preferences()


def _words(host: Host, argument: str) -> Iterable[str]:
    return (ON, OFF)


COMMANDS = (
    Command("export", "/export FILE", "Write the log to a text file", _export, group="reading", reaches_out=True),
    Command(
        "log",
        "/log [on [FILE], off]",
        "Append each message to a text file, as it comes",
        _log,
        group="reading",
        reaches_out=True,
        complete=_words,
        details="For this channel, from now on and in later runs. A file of more than 4 MB becomes FILE.1, and a new\n"
        "one begins; /export and `sdschat log` have everything. Members' channels have none: what is deleted there\n"
        "is gone.",
    ),
)
