"""What Spark raises, in a line. It tells of everything with the traces of two languages, each within the other."""

from __future__ import annotations

import re
from typing import Final

_RAISED: Final = re.compile(r"(?:: |Caused by: )?\s*([A-Za-z_][\w.$]*(?:Error|Exception|Problem): .*)")
_LONGEST: Final = 400
_OF_SPARK: Final = frozenset({"py4j", "pyspark", "grpc"})


def is_of_spark(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _OF_SPARK for kind in type(error).__mro__)


def reason(told: str) -> str:
    """What was raised last."""
    raised = [found[1] for found in map(_RAISED.match, told.splitlines()) if found]
    return " ".join((raised[-1] if raised else told.split("Traceback")[0]).split())[:_LONGEST].rstrip(".")
