"""Exit codes, and the error that ends a command with a reason for the user."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
UNEXPECTED: Final = 1
WRONG_USE: Final = 2
UNREACHABLE: Final = 3
NOT_AUTHORISED: Final = 4
PROFILE: Final = 5
NOT_IN_TIME: Final = 6
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class CommandProblem(Exception):
    """An error that ends the command. The text, one line, says the problem, its reason and its remedy."""

    def __init__(self, text: str, exit_code: int = UNEXPECTED) -> None:
        super().__init__(text)
        self.exit_code = exit_code
