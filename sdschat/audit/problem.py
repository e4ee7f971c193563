"""Errors of the pipeline for the user."""

from __future__ import annotations

from typing import Final

NO_SPARK: Final = 3  # exit code: no Java, or a cluster that cannot be reached


class PipelineProblem(Exception):
    """An error for the user. The message says what happened, why, and what to do, in one line."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code
