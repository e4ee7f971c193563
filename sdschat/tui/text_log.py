"""The running text log: a file for each channel that gets a line for each message, as it comes.

Times, names and texts are those of `/export`; whatever could drive a terminal is written out. Members' channels have
none: what is deleted there is gone for everybody, and a file would keep it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sdschat.node.events import MessageDelivered, NodeEvent
from sdschat.node.view.members import has_members
from sdschat.node.view.values import shown_of
from sdschat.tui.model.words import short, stamp

if TYPE_CHECKING:
    from sdschat.tui.model.channel import ChannelModel
    from sdschat.tui.model.items import MessageItem
    from sdschat.tui.model.workspace import Workspace
    from sdschat.tui.preferences import Preferences

LARGEST: Final = 4 * 1024 * 1024  # bytes; then the file becomes FILE.1, and that of before goes
ON: Final = "on"
OFF: Final = "off"
EVERY: Final = "*"  # stands for all channels
_PLAIN_NAME: Final = re.compile(r"[\w~-][\w.~-]{0,79}")


def message_lines(entry: MessageItem, model: ChannelModel) -> str:
    """Return a message as lines of a text file, an answer with what it answers: each further line of its text begins
    with four spaces."""
    text, quote = entry.text.replace("\n", "\n    "), entry.quote
    who = model.name_of(entry.sender_id, entry.nick)
    if quote is not None:
        who += f" (answers {f'{quote.nick}: {quote.text}' if quote.nick else short(quote.message_id)})"
    return f"{stamp(entry.at)} {who}{' ' if entry.action else ': '}{text}\n"


class TextLog:
    """Writes the files that the preferences name."""

    def __init__(
        self, workspace: Workspace, preferences: Preferences, folder: Path, warn: Callable[[str], None]
    ) -> None:
        """`folder`: for files without a name of their own. `warn` is told once that a file cannot be written."""
        self._workspace = workspace
        self._preferences = preferences
        self._folder = folder
        self._warn = warn
        self._failed: set[Path] = set()

    def file_of(self, channel: str) -> Path | None:
        """Return the file of a channel; None if it has none."""
        wanted = self._preferences.log.get(channel, self._preferences.log.get(EVERY, OFF))
        if wanted == OFF or has_members(self._workspace.view.node, channel):
            return None
        return self._folder / _file_name(channel) if wanted == ON else Path(os.path.expanduser(wanted))

    def hear(self, event: NodeEvent) -> None:
        """Write a message of a channel that has a file."""
        if not isinstance(event.body, MessageDelivered) or event.channel not in self._workspace.models:
            return
        file = self.file_of(event.channel)
        if file is None or file in self._failed:
            return
        model = self._workspace.models[event.channel]
        entry = model.entry_for(shown_of(event.body.said, event.time, event.body.via))
        try:
            self.write(file, message_lines(entry, model))
        except OSError as error:
            self._failed.add(file)
            self._warn(f"The text log {file} cannot be written: {error.strerror}. Nothing more goes there.")

    def write(self, file: Path, lines: str) -> None:
        """Append lines to a file, and make it if it is not there. Raises OSError."""
        if file.parent == self._folder:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        data = lines.encode(errors="backslashreplace")
        if file.is_file() and file.stat().st_size + len(data) > LARGEST:
            file.replace(file.with_name(f"{file.name}.1"))
        with open(file, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as output:
            output.write(data)
        self._failed.discard(file)


def _file_name(channel: str) -> str:
    """Return the name of a channel's file: its own name, if any system can have it, else with a part of its hash."""
    if _PLAIN_NAME.fullmatch(channel):
        return f"{channel}.txt"
    digest = blake2b(channel.encode(), digest_size=6).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', channel)[:40]}-{digest}.txt"
