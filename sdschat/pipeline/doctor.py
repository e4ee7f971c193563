"""A check if Spark can run here: which Java and why, what is installed, and what would fail."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.audit.errors import PipelineProblem, install_command
from sdschat.audit.processes import end_with_parent
from sdschat.pipeline.session.java import ADVICE, MODULE, archive_path, find_java, spark_version, version_of
from sdschat.pipeline.session.spark_target import SparkTarget, TargetKind
from sdschat.pipeline.session.start import NO_ROOM, must_answer, spark

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from pyspark.sql import SparkSession

GOOD, NOTE, BAD = "ok", "note", "fails"
_NEEDED: Final = ("pyspark", "pyarrow", "pandas", "numpy", "duckdb", "deltalake", "altair", "vl-convert-python")
_FOR_CONNECT: Final = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
_ROOM: Final = 1 << 30
LIMIT: Final = 60.0  # seconds: the start of Java and of executors may take half of it


class Finding(NamedTuple):
    state: str
    what: str
    says: str


class Answer(NamedTuple):
    """The facts that Spark told us. An unknown fact is empty, and `problem` has the reason."""

    spark: str = ""
    python: str = ""  # the version of Python on the executors
    executed_by: str = ""  # the version of Spark on the executors
    problem: str = ""


def examine(target: SparkTarget) -> list[Finding]:
    """Check without starting anything; this takes less than a second."""
    chosen = target.resolved()
    kind = chosen.kind
    where = "the session that spark-submit gave" if kind is TargetKind.GIVEN else f"{chosen.shown} ({kind.value})"
    return [Finding(GOOD, "where", where), *_java(chosen), *_packages(chosen), *_folders(chosen)]


def elsewhere(target: SparkTarget) -> bool:
    """True if Spark runs elsewhere and has to be asked: on a cluster or a Connect server."""
    return target.resolved().kind in (TargetKind.CLUSTER, TargetKind.CONNECT)


def ask_there(target: SparkTarget) -> list[Finding]:
    """Ask the remote Spark and return the findings. This takes at most `LIMIT` seconds."""
    chosen = target.resolved()
    try:
        must_answer(chosen)
    except PipelineProblem as error:
        return [Finding(BAD, "there", _here(str(error)))]
    answer, found = ask(chosen), []
    if answer.spark:
        found.append(Finding(GOOD, "there", f"{chosen.shown} answers: Spark {answer.spark}"))
    if answer.python:
        found.append(Finding(GOOD, "tasks there", f"Python {answer.python}, Spark {answer.executed_by}"))
        found += _of_other_version(answer)
    if answer.problem:
        found.append(Finding(BAD, "tasks there" if answer.spark else "there", _here(answer.problem)))
    return found


def _here(problem: str) -> str:
    return problem.partition("; `sdschat pipeline doctor")[0]


def _of_other_version(answer: Answer) -> Iterator[Finding]:
    """Compare the first two numbers of the versions of Python and Spark there with those here."""
    here = ".".join(map(str, sys.version_info[:2]))
    if answer.python.split(".")[:2] != here.split("."):
        says = f"Python there is {answer.python}, here it is {here}: set PYSPARK_PYTHON to one that is {here} there"
        yield Finding(BAD, "tasks there", says)
    ours = spark_version()
    if ours and answer.spark.split(".")[:2] != ours.split(".")[:2]:
        says = f"Spark there is {answer.spark}, here it is {ours}: pip install 'pyspark=={answer.spark}'"
        yield Finding(NOTE, "there", says)


def _java(target: SparkTarget) -> list[Finding]:
    if target.kind is TargetKind.CONNECT:
        return [Finding(GOOD, "Java", "not needed: a Connect server has its own")]
    search = find_java()
    found = [Finding(NOTE, "Java", f"passed over: {reason}") for reason in search.passed_over]
    java = search.java
    if java is None:
        return [*found, Finding(BAD, "Java", f"none of version 17 or later. {ADVICE}")]
    through = "" if java.complete else f", through a front of two lines since it lacks {MODULE}"
    found.append(Finding(GOOD, "Java", f"{java.version} from {java.source}, {java.home}{through}"))

    if target.cache is not None:
        archive = archive_path(target.cache, java)
        if archive.exists():
            found.append(Finding(GOOD, "class archive", f"{archive} ({archive.stat().st_size >> 20} MiB)"))
        else:
            found.append(Finding(NOTE, "class archive", "none; `sdschat pipeline warmup` makes one, for faster starts"))
    return found


def _packages(target: SparkTarget) -> list[Finding]:
    found, connects = [Finding(GOOD, "Python", sys.version.split()[0])], target.kind is TargetKind.CONNECT
    for name in (*_NEEDED, *(_FOR_CONNECT if connects else ())):
        state, says = GOOD, version_of(name)
        if not says and name == "pyspark" and (client := version_of("pyspark-client")):
            state = GOOD if connects else BAD
            says = f"the thin client alone, {client}: only for --remote sc://"
        elif not says:
            state, says = BAD, f"is not installed. Do: {install_command('pipeline')}"
        found.append(Finding(state, name, says))
    return found


def _folders(target: SparkTarget) -> list[Finding]:
    scratch = Path(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir())
    free = shutil.disk_usage(scratch).free if scratch.exists() else 0
    says = f"{scratch}, {free >> 30} GiB free; SPARK_LOCAL_DIRS moves it"
    found = [Finding(GOOD if free >= _ROOM else BAD, "scratch", says)]
    if target.log is not None:
        found.append(Finding(GOOD, "log", f"Spark's own words go to {target.log}"))
    return found


def ask(target: SparkTarget, limit: float = LIMIT) -> Answer:
    context = get_context("spawn")
    heard, tell = context.Pipe(duplex=False)
    process = context.Process(target=_ask, args=(target, tell), daemon=True)
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
    return found._replace(problem=f"after {limit:g} s {_no_answer(target, accepted=bool(found.spark))}")


def _end(process: SpawnProcess) -> None:
    """Kill the process, and all that it started: they are a group once it has begun."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _ask(target: SparkTarget, tell: Connection) -> None:
    """Tell Spark's answer, in a process of its own that ends with its parent, together with Java, which it starts."""
    os.setsid()
    end_with_parent(lambda: os.killpg(0, signal.SIGKILL))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    found = Answer()
    try:
        with spark(target) as session:
            for found in answers(session):
                tell.send(found)
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        tell.send(found._replace(problem=str(error) if isinstance(error, PipelineProblem) else said[-1]))


def _no_answer(target: SparkTarget, *, accepted: bool) -> str:
    if target.kind is TargetKind.CONNECT:
        if accepted:
            return "it had accepted this client, but done no work: its cluster may be busy"
        return "it had not answered: what listens there may be no Connect server, or one without room for a session"
    if accepted:
        return f"it had accepted this program, but given it no executor: {NO_ROOM}"
    return f"it had not answered: what listens there may be no master of Spark {spark_version()}"


def _of_task(batches: Iterator[Any]) -> Iterator[Any]:
    import platform

    import pyarrow
    import pyspark

    for _ in batches:
        yield pyarrow.RecordBatch.from_pydict({"python": [platform.python_version()], "spark": [pyspark.__version__]})


def answers(session: SparkSession) -> Iterator[Answer]:
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
