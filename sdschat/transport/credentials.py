"""Search for the broker's password: never in the arguments, never in a file that other users may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sdschat.transport.address import Address, AddressError, Secret

PASSWORD_VARIABLE: Final = "SDSCHAT_BROKER_PASSWORD"
PASSWORD_PLACES: Final = (
    f"The user stands in the URL; the password in {PASSWORD_VARIABLE} or the file of --password-file, or is asked for "
    "at the start."
)
STDIN: Final = Path("-")  # in place of a file
_MAX_BYTES: Final = 65535  # of a password, in MQTT


def is_writable_by_others(path: Path) -> bool:
    """Return True if another user may write a file: it is theirs, or open to all."""
    status = path.stat()
    return status.st_uid not in (0, os.geteuid()) or bool(status.st_mode & stat.S_IWOTH)


def find_password(
    address: Address,
    from_url: Secret | None,
    environ: Mapping[str, str],
    *,
    file: Path | None = None,
    ask: Callable[[str], str] | None = None,
) -> Secret | None:
    """Return the password: from the URL, else the variable, else the file, else from the user if a user is named."""
    if from_url is not None:
        return _checked(from_url.reveal())
    if environ.get(PASSWORD_VARIABLE):
        return _checked(environ[PASSWORD_VARIABLE])
    if file is not None:
        return _checked(_read_stdin() if file == STDIN else _read(file))
    if address.user and ask is not None:
        return _checked(ask(f"Password of {address.user} at {address.host}: "))
    return None


def _checked(password: str) -> Secret:
    try:
        fits = len(password.encode()) <= _MAX_BYTES
    except UnicodeEncodeError:
        raise AddressError("The broker's password is not readable text. Type it again, or check its file.") from None
    if not fits:
        raise AddressError(f"The broker's password has more than {_MAX_BYTES} bytes, which MQTT cannot carry.")
    return Secret(password)


def _read_stdin() -> str:
    """Return the first line of the standard input, and leave the rest there: it may be what is to be sent."""
    line = bytearray()
    while len(line) <= _MAX_BYTES and (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise AddressError(
            "The first line of the standard input is not UTF-8 text. Write the password there."
        ) from None


def _read(file: Path) -> str:
    """Return the first line of the file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise AddressError(f"The password file {file} is not a file. Name one that holds the password.")
            if stat.S_IMODE(mode) & 0o077:
                raise AddressError(
                    f"Others may read the password file {file}. Close it with: chmod 600 {file} "
                    "(and choose a new password, if this machine has other users)."
                )
            return os.read(descriptor, _MAX_BYTES + 2).decode().split("\n", 1)[0].removesuffix("\r")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise AddressError(f"The password file {file} cannot be read: {error.strerror}. Check its name.") from error
    except UnicodeDecodeError:
        raise AddressError(
            f"The password file {file} is not UTF-8 text. Write the password on its first line."
        ) from None
