"""The draft in the editor that the user has chosen for such things."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sdschat.tui.model.results import CommandError
from sdschat.tui.plain.lines import pasted_text


def editor_of(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the editor: VISUAL before EDITOR. Raises CommandError."""
    for name in ("VISUAL", "EDITOR"):
        value = environment.get(name, "").strip()
        if value:
            try:
                return shlex.split(value)
            except ValueError as error:
                raise CommandError(f"{name} cannot be read: {error}.") from error
    raise CommandError("No editor is set. Set VISUAL or EDITOR before the start, such as EDITOR=nano.")


@contextlib.contextmanager
def draft_file(text: str) -> Iterator[Path]:
    """Make a file with the text, for us alone, that goes afterwards. Raises CommandError."""
    try:
        with tempfile.TemporaryDirectory(prefix="sdschat-") as folder:
            path = Path(folder) / "draft.txt"
            path.write_text(text, encoding="utf-8", errors="replace")
            yield path
    except OSError as error:
        raise CommandError(f"The draft cannot be handed to an editor: {error.strerror}.") from error


async def edited(command: Sequence[str], path: Path) -> str:
    """Run the editor on the file, and return the text afterwards, cleaned as a paste is. Raises CommandError if the
    editor fails.

    Ctrl+C in an editor is for the editor: this program does not hear it meanwhile.
    """
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        process = await asyncio.create_subprocess_exec(*command, os.fspath(path))
        code = await process.wait()
    except OSError as error:
        raise CommandError(f"The editor {command[0]} cannot be used: {error.strerror}. The draft is kept.") from error
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
    if code:
        raise CommandError(f"The editor {command[0]} ended with error {code}. The draft is as it was.")
    try:
        return pasted_text(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise CommandError(f"The editor {command[0]} left no text. The draft is as it was.") from error
