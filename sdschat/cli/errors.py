"""An end of the program that a person has to know the reason of."""

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


class Problem(Exception):
    """The text says what, why and what to do, in one line."""

    def __init__(self, text: str, exit_code: int = UNEXPECTED) -> None:
        super().__init__(text)
        self.exit_code = exit_code
