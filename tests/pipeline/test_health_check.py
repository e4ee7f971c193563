"""Reports within seconds, with advice, if no Spark answers at an address."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdschat.audit.errors import NO_SPARK, PipelineProblem
from sdschat.audit.schemas import FIELD, Whole
from sdschat.cli.program import run
from sdschat.pipeline.doctor import BAD, Answer, answers, ask, ask_there
from sdschat.pipeline.session import SparkTarget, start
from sdschat.pipeline.session.start import ConnectAddress, addresses, gone_since, must_answer, told_what_for
from tests.needs import needs_module
from tests.transport.worlds import free_port

needs_module("pyspark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Said = pytest.CaptureFixture[str]


def _lake(folder: Path) -> None:
    """Make a lake that some file was taken into."""
    needs_module("deltalake")
    from sdschat.lake.sources.batch import table_of
    from sdschat.lake.tables import Tables

    Tables(str(folder)).append(Whole, table_of(Whole, [Whole(FIELD, "", "ann", 1, 1)]))


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that accepts connections and never sends anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=20) as listener:
        port: int = listener.getsockname()[1]
        yield port


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (SparkTarget("spark://a:1,b:2"), [ConnectAddress("a", 1), ConnectAddress("b", 2)]),
        (SparkTarget("spark://a"), [ConnectAddress("a", 7077)]),
        (SparkTarget("k8s://https://h:6443"), [ConnectAddress("h", 6443)]),
        (SparkTarget("k8s://h"), [ConnectAddress("h", 443)]),
        (SparkTarget("", "sc://h"), [ConnectAddress("h", 15002)]),
        (SparkTarget("", "sc://[::1]:3/;token=x;use_ssl=true"), [ConnectAddress("::1", 3)]),
        (SparkTarget("yarn"), []),
        (SparkTarget("local[2]"), []),
    ],
)
def test_addresses_are_those_that_spark_would_try(
    where: SparkTarget, found: list[ConnectAddress], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert list(addresses(where)) == found


def test_through_a_proxy_nothing_is_tried_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    assert list(addresses(SparkTarget("", "sc://h"))) == list(addresses(SparkTarget("k8s://h"))) == []


@pytest.mark.parametrize(
    "where", [SparkTarget("spark://"), SparkTarget("spark://h:no"), SparkTarget("", "sc://:99999")]
)
def test_what_is_no_address_is_wrong_use(where: SparkTarget) -> None:
    with pytest.raises(PipelineProblem, match="names no host and port") as caught:
        must_answer(where)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("/;token", "Parameter 'token' should be provided as a key-value pair"),
        ("/x", "The path component '/x' must be empty"),
        ("/;session_id=me", "session_id"),
        ("/;user_agent=" + "x" * 3000, "'user_agent' parameter should not exceed 2048 characters"),
        ("/;grpc_keepalive_time_ms=soon", "invalid literal for int"),
    ],
)
def test_an_address_that_spark_would_not_have_is_wrong_use(
    silent: int, end: str, why: str, tmp_path: Path, capsys: Said
) -> None:
    needs_module("grpc")
    _lake(tmp_path)
    place = f"sc://127.0.0.1:{silent}{end}"
    assert run(["pipeline", "audit", "--lake", str(tmp_path), "--remote", place]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"sdschat: {place} is no address of a Connect server: ")
    assert why in said
    assert said.endswith("It is sc://host:port, followed by /;name=value for each setting.\n")


@pytest.mark.parametrize("option", ["--master spark://", "--remote sc://"])
def test_where_nothing_listens_it_is_said_at_once_and_what_to_do(option: str, tmp_path: Path, capsys: Said) -> None:
    _lake(tmp_path)
    place = f"{option.split()[1]}127.0.0.1:{free_port()}"
    assert run(["pipeline", "audit", "--lake", str(tmp_path), option.split()[0], place]) == NO_SPARK
    said = capsys.readouterr().err
    assert said.startswith(f"sdschat: Spark at {place} cannot be reached: nothing listens on 127.0.0.1:")
    assert f"`sdschat pipeline doctor {option.split()[0]} {place}` looks closer" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("address", ["sc://127.0.0.1:{}/;token=secret;user_id=ann", "sc://127.0.0.1:{}/;token"])
def test_a_secret_in_an_address_is_in_no_message(address: str, capsys: Said) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(PipelineProblem) as problem:
        must_answer(SparkTarget(remote=address.format(port)))
    assert "secret" not in str(problem.value)
    assert f"127.0.0.1:{port}" in str(problem.value)


def test_one_master_of_several_is_enough(silent: int) -> None:
    must_answer(SparkTarget(f"spark://127.0.0.1:{free_port()},127.0.0.1:{silent}"))


def test_what_listens_and_is_no_connect_server_is_said_to_be_none(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_module("grpc")
    monkeypatch.setattr(start, "_CONNECT_LIMIT", 0.2)
    with pytest.raises(PipelineProblem, match=r"said nothing within 0\.2 s, so it is no Connect server"):
        must_answer(SparkTarget("", f"sc://127.0.0.1:{silent}"))


def test_a_server_that_is_gone_is_told_from_other_troubles(silent: int) -> None:
    assert gone_since(SparkTarget("", f"sc://127.0.0.1:{silent}")) == gone_since(SparkTarget("local[1]")) == ""
    assert "is gone: nothing listens on" in gone_since(SparkTarget("", f"sc://127.0.0.1:{free_port()}"))


def test_the_doctor_says_that_nothing_listens() -> None:
    (found,) = ask_there(SparkTarget("", f"sc://127.0.0.1:{free_port()}"))
    assert found.state == BAD
    assert found.says.endswith("Start the Connect server, or correct the address")


def test_the_doctor_waits_no_longer_than_it_says() -> None:
    assert ask(SparkTarget("spark://127.0.0.1:1"), 0.05).problem.startswith("after 0.05 s it had not answered")


def test_what_is_asked_there_tells_the_versions_of_session_and_task(spark: SparkSession) -> None:
    import platform

    import pyspark

    session, task = answers(spark)
    assert session == Answer(pyspark.__version__)
    assert task == Answer(pyspark.__version__, platform.python_version(), pyspark.__version__)


def test_whoever_waits_for_long_is_told_what_for() -> None:
    said: list[str] = []
    told = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        told.set()

    with told_what_for("an executor", tell, after=0.0):
        assert told.wait(30)
    with told_what_for("nothing", tell):
        pass
    assert said == ["an executor"]


def test_a_command_that_waits_for_spark_says_so(
    silent: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    needs_module("grpc")
    monkeypatch.setattr(start, "_CONNECT_LIMIT", 2.0)
    monkeypatch.setattr(start, "told_what_for", functools.partial(told_what_for, after=0.0))
    _lake(tmp_path)
    place = f"sc://127.0.0.1:{silent}"
    assert run(["pipeline", "audit", "--lake", str(tmp_path), "--remote", place]) == NO_SPARK
    assert f"still waiting for Spark at {place}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--remote", "sc://h"], "is started there, not here"), (["--conf", "a=b"], "--conf does nothing here")],
)
def test_no_archive_is_made_of_what_is_started_elsewhere(arguments: list[str], says: str, capsys: Said) -> None:
    assert run(["pipeline", "warmup", *arguments]) == 2
    assert says in capsys.readouterr().err
