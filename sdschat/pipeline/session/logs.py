"""The log file of Spark. Its launcher and its workers inherit standard error, and write to it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LOG4J: Final = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def write_log4j(folder: Path, log: Path) -> Path:
    """Write the configuration of Spark's logging, and return its path."""
    text = _LOG4J.format(file=log)
    path = folder / f"log4j2-{hashlib.sha256(text.encode()).hexdigest()[:8]}.properties"
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    return path


@contextlib.contextmanager
def standard_error_to(log: Path) -> Iterator[None]:
    """Send standard error to the file while processes start that shall keep the file as their standard error."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def size_of(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def since(log: Path, place: int) -> str:
    """Return the text after this position of the log."""
    try:
        with log.open("rb") as file:
            file.seek(place)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
