"""A test question to a Spark address, in a process of its own: if that process hangs, we do not."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.audit.problem import PipelineProblem
from sdschat.pipeline.session.start import NO_ROOM, spark
from sdschat.pipeline.session.warm import spark_version
from sdschat.pipeline.session.where import TargetKind, Where

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from pyspark.sql import SparkSession

LIMIT: Final = 60.0  # seconds: the start of Java and of executors may take half of it


class Answer(NamedTuple):
    """The facts that Spark told us. An unknown fact is empty, and `problem` has the reason."""

    spark: str = ""
    python: str = ""  # the version of Python on the executors
    executed_by: str = ""  # the version of Spark on the executors
    problem: str = ""


def ask(where: Where, limit: float = LIMIT) -> Answer:
    """Ask Spark. Return its answer within `limit` seconds, or the problem."""
    context = get_context("spawn")
    heard, tell = context.Pipe(duplex=False)
    process = context.Process(target=_ask, args=(where, tell), daemon=True)
    found, until = Answer(), time.monotonic() + limit
    process.start()
    tell.close()
    try:
        while heard.poll(max(0.0, until - time.monotonic())):
            found = Answer(*heard.recv())
            if found.python or found.problem:
                return found
    except EOFError:
        return found._replace(problem="it ended without a word")
    finally:
        _end(process)
    return found._replace(problem=f"after {limit:g} s {_nothing_done(where) if found.spark else _not_started(where)}")


def _end(process: SpawnProcess) -> None:
    """Kill the process, and all that it started: they are a group once it has begun."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _ask(where: Where, tell: Connection) -> None:
    """Tell Spark's answer, in a process of its own that ends with its parent."""
    os.setsid()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    found = Answer()
    try:
        with spark(where) as session:
            for found in answers(session):
                tell.send(found)
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        tell.send(found._replace(problem=str(error) if isinstance(error, PipelineProblem) else said[-1]))


def _end_with_the_parent() -> None:
    """End with the parent, together with Java, which is in the same process group."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.killpg(0, signal.SIGKILL)


def _not_started(where: Where) -> str:
    if where.kind is TargetKind.CONNECT:
        return "it had not answered: what listens there may be no Connect server, or one without room for a session"
    return f"it had not answered: what listens there may be no master of Spark {spark_version()}"


def _nothing_done(where: Where) -> str:
    if where.kind is TargetKind.CONNECT:
        return "it had accepted this client, but done no work: its cluster may be busy"
    return f"it had accepted this program, but given it no executor: {NO_ROOM}"


def _of_task(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the versions on the executor that runs this task."""
    import platform

    import pyarrow
    import pyspark

    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"python": [platform.python_version()], "spark": [pyspark.__version__]})


def answers(session: SparkSession) -> Iterator[Answer]:
    """Yield what the session tells, and then what a task tells too."""
    found = Answer(session.version)
    yield found
    try:
        (row,) = session.range(1).mapInArrow(_of_task, "python STRING, spark STRING").collect()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        problem = next((line for line in lines if "Error: " in line), lines[0])
        yield found._replace(problem=f"a task in Python fails there: {problem}")
    else:
        yield found._replace(python=row["python"], executed_by=row["spark"])
