"""The wait for an executor of a cluster: Spark waits for one without limit and without a message."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sdschat.pipeline.session.where import TargetKind, Where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE: Final = 15.0  # seconds, after which the user is told the reason for the wait

NO_ROOM: Final = (
    "others may be using it, or its workers have less memory or fewer cores than spark.executor.memory and "
    "spark.executor.cores ask for (--conf)"
)

Told = Callable[[str], None]


@contextmanager
def told_what_for(text: str, told: Told, after: float = PATIENCE) -> Iterator[None]:
    """Tell the user this text if the work takes longer than usual."""
    timer = threading.Timer(after, told, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def until_it_works(session: SparkSession, where: Where, told: Told) -> None:
    """Do a first small task on a cluster: its workers may all be busy, or too small for the configuration."""
    if where.kind is TargetKind.CLUSTER:
        text = f"{where.master} has no executor for us yet: {NO_ROOM}. Ctrl+C ends this."
        with told_what_for(text, told):
            session.range(1).count()
