"""The passphrase of an exported identity: from a file, a variable, or a prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from sdschat.cli.errors import WRONG_USE, CommandProblem, read_small

PASSPHRASE_VARIABLE: Final = "SDSCHAT_PASSPHRASE"


def find_passphrase(file: Path | None, *, twice: bool) -> str:
    """Return the passphrase; `twice` asks again, to notice a mistyped one. Raises CommandProblem if there is none."""
    if file is not None:
        return read_small(file, f"The passphrase cannot be read from {file}").rstrip("\r\n")
    if PASSPHRASE_VARIABLE in os.environ:
        return os.environ[PASSPHRASE_VARIABLE]
    if sys.stdin is None or not sys.stdin.isatty():
        raise CommandProblem(
            f"There is no terminal to ask for the passphrase. Give --passphrase-file, or set {PASSPHRASE_VARIABLE}.",
            WRONG_USE,
        )
    import getpass

    found = getpass.getpass("Passphrase: ")
    if twice and getpass.getpass("The same again: ") != found:
        raise CommandProblem("These were two passphrases. Begin again.", WRONG_USE)
    return found
