"""The start of Spark, or the connection to a running one, and the wait until it works.

First comes a check that its address answers: Spark itself would try for minutes without a message.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from sdschat.audit.errors import NO_SPARK, PipelineProblem, install_command
from sdschat.audit.processes import size_of
from sdschat.pipeline.session import spark_errors, spark_target
from sdschat.pipeline.session.java import ADVICE, OLDEST, archive_flags, find_java, usable_home
from sdschat.pipeline.session.package_files import PACKAGE_ROOT, package_zip
from sdschat.pipeline.session.spark_target import QUICK_TO_START, SparkTarget, TargetKind, python_there, without_token

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark(target: SparkTarget) -> Iterator[SparkSession]:
    """Open the session that `target` describes. Stop it at the end, if we started it. Raises PipelineProblem."""
    chosen = target.resolved()
    if problem := chosen.problem():
        raise PipelineProblem(problem, 2)
    with contextlib.ExitStack() as stack:
        folder = chosen.cache or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sdschat-spark-")))
        folder.mkdir(parents=True, exist_ok=True)
        log = chosen.log or folder / "spark.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with spark_errors.interrupts_kept():
            session = _open(chosen, folder, log)
        if chosen.kind is not TargetKind.GIVEN:
            stack.callback(_stop, session, chosen)
        if chosen.kind is not TargetKind.LOCAL:
            session.addArtifacts(str(package_zip(folder)), pyfile=True)
        try:
            yield session
        except Exception as error:
            if spark_errors.is_of_spark(error):
                raise _told(error, chosen, log) from error
            raise


def _told(error: Exception, target: SparkTarget, log: Path) -> PipelineProblem:
    with suppress(OSError), log.open("a", encoding="utf-8") as file:  # the reason goes before its details
        traceback.print_exception(error, file=file)
    if gone := gone_since(target):
        return PipelineProblem(gone, NO_SPARK)
    return PipelineProblem(f"Spark failed: {spark_errors.reason(str(error))}. The details are in {log}.")


def _open(target: SparkTarget, folder: Path, log: Path) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise PipelineProblem(
            f"The data pipeline needs {error.name or 'pyspark'}, which is not installed. Do: "
            f"{install_command('pipeline')}",
            NO_SPARK,
        ) from error
    # Spark needs pandas for everything with Arrow, and warns about its newer versions. We use no pandas.
    warnings.filterwarnings("ignore", PANDAS, FutureWarning)
    must_answer(target)
    if target.kind is TargetKind.CONNECT:
        return _reach(target, log)
    flags, variables = _java(target, folder)
    builder = SparkSession.builder.appName("sdschat pipeline")
    if target.master:
        builder = builder.master(target.master)
    for key, value in spark_target.configuration(target, flags, folder).items():
        builder = builder.config(key, value)
    before = size_of(log)
    try:
        with spark_errors.standard_error_to(log), _environment(variables):
            return builder.getOrCreate()
    except Exception as error:
        raise PipelineProblem(_why(target, error, log, spark_errors.since(log, before)), NO_SPARK) from error


def _java(target: SparkTarget, folder: Path) -> tuple[str, dict[str, str | None]]:
    """Return the flags of the driver's Java, and the environment variables for its start."""
    variables: dict[str, str | None] = {"PYTHONDONTWRITEBYTECODE": None, "SPARK_REMOTE": None}
    if target.kind is TargetKind.GIVEN:
        return "", variables
    java = find_java().java
    if java is None:
        raise PipelineProblem(f"Spark needs Java {OLDEST} or later, and there is none here. {ADVICE}", NO_SPARK)
    home = usable_home(java, folder)
    variables["JAVA_HOME"] = str(home)
    # Spark's Python context reads this variable, and not the configuration.
    variables["PYSPARK_PYTHON"] = sys.executable if target.kind is TargetKind.LOCAL else python_there(target.master)
    variables["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if target.kind is TargetKind.LOCAL:
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        path = [str(PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables["PYTHONPATH"] = os.pathsep.join(path)
    flags = [f"-Dderby.system.home={folder}", *archive_flags(folder, java)]
    # Before the user's flags, which win.
    if target.few:
        asked = dict(target.conf).get("spark.driver.extraJavaOptions", "")
        # Java takes one collector.
        flags += [flag for flag in QUICK_TO_START if not (flag.endswith("GC") and "GC" in asked)]
    else:
        flags.append(spark_target.ROOM_FOR_QUERIES)
    return shlex.join(flags), variables


def _reach(target: SparkTarget, log: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        with spark_errors.standard_error_to(log):
            session = SparkSession.builder.remote(target.remote).appName("sdschat pipeline").getOrCreate()
            try_again(session, TRIES)
            for key, value in (spark_target.of_session(target) | dict(target.conf)).items():
                session.conf.set(key, value)
        return session
    except Exception as error:
        raise PipelineProblem(_why(target, error, log), NO_SPARK) from error


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set these variables only while processes are started: no other program's Java shall change."""
    before = {name: os.environ.pop(name, None) for name in variables}
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _why(target: SparkTarget, error: Exception, log: Path, said: str = "") -> str:
    why = spark_errors.reason(str(error)) or type(error).__name__
    if "JAVA_GATEWAY_EXITED" in why:
        why = spark_errors.last_words(said) or why
    if "stopped SparkContext" in why:  # Spark's message after it has given up
        why = "what listens there does not answer as a master of this version of Spark does"
    what = f"Spark at {target.shown} " if target.remote or target.kind is TargetKind.CLUSTER else "Spark "
    return f"{what}could not be started or reached: {why}. Its log is {log}; `sdschat pipeline doctor` looks closer."


def _stop(session: SparkSession, target: SparkTarget) -> None:
    """Stop the session. Errors are ignored: a session that is gone with its server needs no stop."""
    with contextlib.suppress(Exception):
        if target.kind is TargetKind.CONNECT:
            try_again(session, 0)
        session.stop()
    sys.stderr.flush()


PATIENCE: Final = 15.0  # seconds, after which the user is told the reason for the wait
NO_ROOM: Final = (
    "others may be using it, or its workers have less memory or fewer cores than spark.executor.memory and "
    "spark.executor.cores ask for (--conf)"
)

Told = Callable[[str], None]


@contextmanager
def told_what_for(text: str, told: Told, after: float = PATIENCE) -> Iterator[None]:
    timer = threading.Timer(after, told, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def until_it_works(session: SparkSession, target: SparkTarget, told: Told) -> None:
    """Do a first small task on a cluster: its workers may all be busy, or too small for the configuration."""
    if target.kind is TargetKind.CLUSTER:
        text = f"{target.master} has no executor for us yet: {NO_ROOM}. Ctrl+C ends this."
        with told_what_for(text, told):
            session.range(1).count()


_LIMIT: Final = 5.0  # seconds for each address
_CONNECT_LIMIT: Final = 20.0  # seconds for a Connect server to greet us
_PORTS: Final = {"spark": 7077, "sc": 15002, "https": 443, "http": 80}
PANDAS: Final = "PySpark does not yet fully support pandas"  # a warning; we do not use pandas
TRIES: Final = 5  # attempts of each request, within about twenty seconds; few requests are made then
_PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy")


class ConnectAddress(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def must_answer(target: SparkTarget) -> None:
    """Raise PipelineProblem if nothing listens at the address. For yarn only its own configuration knows it."""
    if reason := _unheard(target):
        raise PipelineProblem(_unreached(target, reason), NO_SPARK)
    if target.kind is TargetKind.CONNECT:
        _must_greet(target)


def _unheard(target: SparkTarget) -> str:
    """Return why none of the addresses can be reached; empty if one can, or none is known."""
    reasons = []
    for address in addresses(target):
        if not (reason := _why_not(address)):
            return ""
        reasons.append(reason)
    return "; ".join(reasons)


def addresses(target: SparkTarget) -> Iterator[ConnectAddress]:
    """Yield the addresses, one for each master of a cluster. Raises PipelineProblem for an invalid address."""
    if target.master.startswith("spark://"):
        for each in target.master.removeprefix("spark://").split(","):
            yield _address(target.master, "spark", each)
    elif any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        return  # a proxy may reach addresses that we cannot reach
    elif target.kind is TargetKind.CONNECT:
        yield _address(target.remote, "sc", target.remote.removeprefix("sc://").partition("/")[0])
    elif target.master.startswith("k8s://"):
        inside = target.master.removeprefix("k8s://")
        scheme, found, rest = inside.partition("://")
        yield _address(target.master, scheme if found else "https", (rest if found else inside).partition("/")[0])


def _address(whole: str, scheme: str, place: str) -> ConnectAddress:
    with suppress(ValueError):
        parts = urlsplit(f"//{place}")
        if parts.hostname:
            return ConnectAddress(parts.hostname, _PORTS.get(scheme, 443) if parts.port is None else parts.port)
    raise PipelineProblem(f"{whole} names no host and port, as in {scheme}://host:{_PORTS.get(scheme, 443)}.", 2)


def _why_not(address: ConnectAddress) -> str:
    try:
        socket.create_connection(address, _LIMIT).close()
    except socket.gaierror:
        return f"there is no machine called {address.host}"
    except ConnectionRefusedError:
        return f"nothing listens on {address}"
    except TimeoutError:
        return f"{address} does not answer within {_LIMIT:g} s"
    except (OSError, UnicodeError) as error:
        return f"{address} cannot be reached: {getattr(error, 'strerror', None) or error}"
    return ""


def _must_greet(target: SparkTarget) -> None:
    """Raise PipelineProblem unless a Connect server answers on the port, with its encryption and through its proxy."""
    import grpc  # type: ignore[import-untyped]

    with _channel(target.remote) as channel:
        try:
            grpc.channel_ready_future(channel).result(_CONNECT_LIMIT)
        except grpc.FutureTimeoutError:
            reason = (
                f"what listens there said nothing within {_CONNECT_LIMIT:g} s, so it is no Connect server, expects "
                "another encryption (;use_ssl=true), or has too much to do"
            )
            raise PipelineProblem(_unreached(target, reason), NO_SPARK) from None


def _channel(remote: str) -> Any:
    """Return a channel to the server. Raises PipelineProblem for an address that Spark would refuse, now or later."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", PANDAS, FutureWarning)
        from pyspark.errors import PySparkException
        from pyspark.sql.connect.client import DefaultChannelBuilder
    try:
        builder = DefaultChannelBuilder(remote)
        _ = builder.session_id, builder.userAgent
        return builder.toChannel()
    except (PySparkException, ValueError) as error:
        told = str(error).partition("Spark Connect: ")[2] or str(error)
        why = told.partition(". Please")[0].rstrip(".")
        raise PipelineProblem(
            f"{without_token(remote)} is no address of a Connect server: {why}. "
            "It is sc://host:port, followed by /;name=value for each setting.",
            2,
        ) from error


def try_again(session: SparkSession, times: int) -> None:
    """Set the number of attempts for a Connect server that does not answer. The default takes ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the same is raised as an error
    client: Any = session.client
    client.set_retry_policies([DefaultPolicy(max_retries=times)])


def gone_since(target: SparkTarget) -> str:
    """Return why Spark cannot be reached any more; empty if it can, and the error has another cause."""
    with suppress(PipelineProblem):
        if reason := _unheard(target):
            return (
                f"Spark at {target.shown} is gone: {reason}. What was written before is in the lake; once it is back, "
                "the same command does the rest."
            )
    return ""


def _unreached(target: SparkTarget, reason: str) -> str:
    option = f"--{'remote' if target.kind is TargetKind.CONNECT else 'master'} {target.shown}"
    what = "the Connect server" if target.kind is TargetKind.CONNECT else "the cluster"
    return (
        f"Spark at {target.shown} cannot be reached: {reason}. Start {what}, or correct the address; "
        f"`sdschat pipeline doctor {option}` looks closer."
    )
