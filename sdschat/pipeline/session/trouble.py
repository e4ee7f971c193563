"""Spark's errors as one line. Spark mixes the tracebacks of two languages."""

from __future__ import annotations

import re
from typing import Final

_RAISED: Final = re.compile(
    r"""(?:: |Caused by: |Exception in thread "[^"]*" )?\s*([A-Za-z_][\w.$]*(?:Error|Exception|Problem): .*)"""
)
_LONGEST: Final = 400
_LINES: Final = 3
_OF_SPARK: Final = frozenset({"py4j", "pyspark", "grpc"})


def is_of_spark(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _OF_SPARK for kind in type(error).__mro__)


def reason(told: str) -> str:
    """Return the last error in the text, in one line."""
    return _in_a_line(raised(told) or told.split("Traceback")[0])


def raised(told: str) -> str:
    """Return the last error with its name, as it stands in the text; empty if there is none."""
    found = [match[1] for match in map(_RAISED.match, told.splitlines()) if match]
    return found[-1] if found else ""


def last_words(told: str) -> str:
    """Return the last error in the output of a program that has ended, else its last lines."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return _in_a_line(raised(told) or " | ".join(lines[-_LINES:]))


def _in_a_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST].rstrip(".")
