"""What a person has to be told when the pipeline cannot do what it was asked."""

from __future__ import annotations

from typing import Final

NO_SPARK: Final = 3  # no Java, or a cluster that cannot be reached


class PipelineProblem(Exception):
    """The text says what, why and what to do, in one line."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code
