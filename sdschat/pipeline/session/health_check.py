"""A check that a Spark address answers. Spark itself would try for minutes without a message."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from sdschat.audit.errors import NO_SPARK, PipelineProblem
from sdschat.pipeline.session.spark_target import SparkTarget, TargetKind, without_token

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
