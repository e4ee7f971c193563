"""The key file of a profile: made at first use, readable by its owner only, never overwritten."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from sdschat.identity.signing import SEED_BYTES, Identity

KEY_FILE: Final = "identity.key"
_HEADER: Final = "sdschat identity v1"
_MAX_BYTES: Final = 1024
_DIRECTORY_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


class KeyFileError(Exception):
    """The key cannot be read or made. The message says what happened, why, and what to do."""


def load_or_create(directory: Path, random: Callable[[int], bytes] = os.urandom) -> Identity:
    """Return the identity in `directory`; make it if it is missing. Make the directory, and close it to other users."""
    path = directory / KEY_FILE
    try:
        _private_directory(directory)
        if not os.path.lexists(path):
            _create(path, random(SEED_BYTES))
        # Read the file even if we just made it: another process may have been first, and then its key is the profile's.
        return load(path)
    except OSError as error:
        raise _unkept(path, error) from error


def _unkept(path: Path, error: OSError) -> KeyFileError:
    """Return the error of a key that cannot be read or kept, with what to do."""
    if error.errno == errno.EACCES and os.path.lexists(path):
        return KeyFileError(f"{path} cannot be read: no permission. Is it another user's?")
    what = "Free some space" if error.errno == errno.ENOSPC else "Make the directory writable"
    return KeyFileError(
        f"The identity of this profile cannot be kept in {path.parent}: {error.strerror or error}. {what}, or choose "
        "another one with --data-dir."
    )


def create(directory: Path, identity: Identity) -> None:
    """Keep this identity in `directory`. Raises KeyFileError if there is one already: a key is never overwritten."""
    path = directory / KEY_FILE
    try:
        _private_directory(directory)
        _create(path, identity.reveal_seed())
        kept = load(path)
    except OSError as error:
        raise _unkept(path, error) from error
    if kept.public_key != identity.public_key:
        raise KeyFileError(f"{path} has another key already. Choose another profile with --profile.")


def load(path: Path) -> Identity:
    """Return the identity in this file. If other users may read the file, first close it to them."""
    # O_NOFOLLOW: a link could point at a file of somebody else, and we must not change its mode.
    # O_NONBLOCK: opening a named pipe would wait for a writer for ever.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise KeyFileError(f"{path} is a link, and is not followed. Put the file itself in its place.") from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{path} is not a file. Move it away, or choose another profile with --profile.")
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, _FILE_MODE)
        text = os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)
    return _parse(path, text)


def _parse(path: Path, text: bytes) -> Identity:
    """Parse a key file. The file repeats the public key, to detect a damaged seed that would be another key."""
    with contextlib.suppress(ValueError, UnicodeDecodeError):
        header, seed, public, rest = text.decode("ascii").split("\n")
        identity = Identity(bytes.fromhex(seed.removeprefix("seed ")))
        if header == _HEADER and public == f"public {identity.public_key.hex()}" and not rest:
            return identity
    raise KeyFileError(
        f"The key file {path} is damaged or of a newer program. Put a copy of it back; without one, moving it away "
        "makes a new identity, under which the others will not know you."
    )


def _private_directory(directory: Path) -> None:
    directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
    # The umask changes the mode given to mkdir, and the directory may exist already.
    if stat.S_IMODE(directory.stat().st_mode) != _DIRECTORY_MODE:
        directory.chmod(_DIRECTORY_MODE)


def _create(path: Path, seed: bytes) -> None:
    """Write a temporary file, then link it to its name: it is complete or absent, even after a power failure."""
    text = f"{_HEADER}\nseed {seed.hex()}\npublic {Identity(seed).public_key.hex()}\n"
    with _temporary(path) as (descriptor, temporary):
        os.fchmod(descriptor, _FILE_MODE)
        os.write(descriptor, text.encode("ascii"))
        os.fsync(descriptor)
        # A link, not a rename: if another process was faster, its key stays.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, Path]]:
    """Return a new file beside `path`, closed to other users from the start, and removed at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        yield descriptor, temporary
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
