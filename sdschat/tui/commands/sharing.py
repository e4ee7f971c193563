"""The command that writes the last minutes of a channel as a page for a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.node.files import open_private
from sdschat.node.sharing.events import folder_for_pages, page_name
from sdschat.node.sharing.of_node import page_of
from sdschat.node.view.private import privacy
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError, typed_path

_MINUTES: Final = 5
_MOST_MINUTES: Final = 100_000
_NO_TEXTS: Final = "no-texts"
_YES: Final = "yes"


class _Wanted(NamedTuple):
    """The argument of the command."""

    minutes: int
    has_texts: bool
    is_sure: bool
    file: str


def _wanted(argument: str) -> _Wanted:
    minutes, file, words = _MINUTES, "", argument.split()
    for word in words:
        if word.isascii() and word.isdigit():
            minutes = max(1, min(int(word[:7]), _MOST_MINUTES))
        elif word not in (_NO_TEXTS, _YES):
            file = f"{file} {word}".strip()
    return _Wanted(minutes, _NO_TEXTS not in words, _YES in words, file)


async def _share(host: Host, argument: str) -> None:
    wanted = _wanted(argument)
    if host.conversation.partner() is not None:
        raise CommandError("What two say to each other alone is not shared. Go to a channel first.")
    if privacy(host.view.node, host.shown) is not None and wanted.has_texts and not wanted.is_sure:
        raise CommandError(
            f"This channel is private, and the file would hold its texts in clear. /share {_NO_TEXTS} leaves them out; "
            f"/share {f'{argument} {_YES}'.strip()} keeps them."
        )
    path = _path(host, wanted.file)
    since = host.view.now().wall - wanted.minutes * 60_000
    try:
        made = await asyncio.to_thread(page_of, host.view.node, host.shown, since, has_texts=wanted.has_texts)
        with open_private(path, "x") as file:
            file.write(made)
    except ValueError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}. Name a place: /share FILE.") from error
    host.answer(f"The page is {path}. Open it in a browser, or by sdschat replay FILE. {_told(wanted)}", "share")


def _told(wanted: _Wanted) -> str:
    if not wanted.has_texts:
        return "It has no texts of messages; nicks, ids and times are in it."
    return f"Texts are in it: /share {_NO_TEXTS} leaves them out."


def _path(host: Host, given: str) -> Path:
    name = given
    if not given:
        at = datetime.fromtimestamp(host.view.now().wall / 1000)
        name = str(folder_for_pages() / page_name(host.label(host.shown), at))
    path = typed_path(name).absolute()
    if path.exists():
        raise CommandError(f"{path} is there already. Choose another name.")
    return path


def _words(host: Host, argument: str) -> Iterable[str]:
    return (_NO_TEXTS,)


COMMANDS = (
    Command(
        "share",
        "/share [MINUTES] [no-texts] [FILE]",
        "Write the last minutes as a page that plays in a browser",
        _share,
        group="reading",
        reaches_out=True,
        complete=_words,
        details="Without MINUTES the last 5. It shows texts, states, repairs, packets and the fingerprint of the log,\n"
        "and its events can be saved as JSON lines. With no-texts only the length of each text is in it.\n"
        "sdschat replay plays the page. Without FILE it is written into the folder that the program was started in;\n"
        "where that cannot be written, into your home.",
    ),
)
