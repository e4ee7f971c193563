"""A folder of recordings: its lock, and the names of its broker sessions, which keep packets while no tap runs."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sdschat.cli.errors import WRONG_USE, CommandProblem

_FILE: Final = ".tap"


class TapFolder:
    """The state of a folder: its own random name, and the sessions that recorded before."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._own, self._recorded = self._read()

    def _read(self) -> tuple[str, list[str]]:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found = json.loads(os.pread(self._descriptor, 1 << 20, 0))
            return str(found["tap"]), [str(each) for each in found["recorded"]]
        return secrets.token_hex(8), []

    def session(self, broker: str, topics: Sequence[str]) -> str:
        """Return the session name for a broker and a set of topics: a session keeps the topics it was made with."""
        whole = json.dumps([self._own, broker, sorted(topics)])
        return f"sdschat-tap-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"

    def begin(self, session: str) -> bool:
        """Note that the session records. Return True if it recorded before: the broker kept packets for it."""
        before = session in self._recorded
        if not before:
            self._recorded.append(session)
            whole = json.dumps({"tap": self._own, "recorded": self._recorded}).encode()
            os.pwrite(self._descriptor, whole, 0)
            os.ftruncate(self._descriptor, len(whole))
            os.fsync(self._descriptor)
        return before


@contextmanager
def tap_folder(folder: Path) -> Iterator[TapFolder]:
    """Lock the folder for the block: two taps would take the broker's session from each other. Raises Problem."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be written: {error.strerror}. Choose another --to.", WRONG_USE
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandProblem(f"Another tap records into {folder}. Choose another --to.", WRONG_USE) from None
        yield TapFolder(descriptor)
    finally:
        os.close(descriptor)
