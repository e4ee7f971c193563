"""A test question to a Spark address, in a process of its own: if that process hangs, we do not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.audit.problem import PipelineProblem
from sdschat.pipeline.session.start import NO_ROOM
from sdschat.pipeline.session.warm import spark_version
from sdschat.pipeline.session.where import TargetKind, Where

if TYPE_CHECKING:
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
    with _asking(where) as process:
        try:
            said, wrong = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            told = _told(_ended(process))
            waited = _nothing_done(where) if told.spark else _not_started(where)
            return told._replace(problem=f"after {limit:g} s {waited}")
    found = _told(said)
    if not found.python and not found.problem:
        last = wrong.strip().splitlines()[-1:] or ["it ended without a word"]
        return found._replace(problem=last[0])
    return found


@contextmanager
def _asking(where: Where) -> Iterator[subprocess.Popen[str]]:
    """Run the asking process in a session of its own, so that it can be ended together with all that it started.

    It never lives longer than we do: it watches its standard input, whose other end is closed when we end in any way.
    """
    asked = json.dumps([where.master, where.remote, where.conf, str(where.cache or ""), str(where.log or "")])
    watched, held = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "sdschat.pipeline.session.ask", asked],
            stdin=watched,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        except BaseException:  # mostly Ctrl+C: nobody waits for an answer any more
            _ended(process)
            raise
    finally:
        os.close(watched)
        os.close(held)


def _ended(process: subprocess.Popen[str]) -> str:
    """Kill the process, and return what it had printed."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def _end_with_the_parent() -> None:
    """End with the parent, together with Java, which is in the same process group."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _not_started(where: Where) -> str:
    if where.kind is TargetKind.CONNECT:
        return "it had not answered: what listens there may be no Connect server, or one without room for a session"
    return f"it had not answered: what listens there may be no master of Spark {spark_version()}"


def _nothing_done(where: Where) -> str:
    if where.kind is TargetKind.CONNECT:
        return "it had accepted this client, but done no work: its cluster may be busy"
    return f"it had accepted this program, but given it no executor: {NO_ROOM}"


def _told(said: str) -> Answer:
    found: dict[str, str] = {}
    for line in said.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    return Answer(**found)


def _of_task(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the versions on the executor that runs this task."""
    import platform

    import pyarrow
    import pyspark

    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"python": [platform.python_version()], "spark": [pyspark.__version__]})


def _say(**told: str) -> None:
    print(json.dumps(told), flush=True)


def _answer(session: SparkSession) -> None:
    _say(spark=session.version)
    try:
        (row,) = session.range(1).mapInArrow(_of_task, "python STRING, spark STRING").collect()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        _say(problem=f"a task in Python fails there: {next((line for line in lines if 'Error: ' in line), lines[0])}")
    else:
        _say(python=row["python"], executed_by=row["spark"])


def main(asked: str) -> None:
    from pathlib import Path

    from sdschat.pipeline.session.start import spark

    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    master, remote, conf, cache, log = json.loads(asked)
    pairs = tuple((key, value) for key, value in conf)
    where = Where(master, remote, pairs, Path(cache) if cache else None, Path(log) if log else None)
    try:
        with spark(where) as session:
            _answer(session)
    except PipelineProblem as error:
        _say(problem=str(error))


if __name__ == "__main__":
    main(sys.argv[1])
