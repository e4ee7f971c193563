"""The user gets the reason of Spark's errors in one line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.processes import size_of
from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session.spark_errors import is_of_spark, last_words, reason, since
from sdschat.pipeline.session.start import _told
from tests.needs import needs_module

needs_module("pyspark")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failing(batches: Iterator[Any]) -> Iterator[Any]:
    raise ValueError("there is no such thing")


def raised(ask: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (Spark has many)
        ask()
    return caught.value


def test_of_a_file_that_is_torn_its_name_is_told(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).write.parquet(str(tmp_path / "whole"))
    (file, *_) = sorted((tmp_path / "whole").glob("*.parquet"))
    (tmp_path / "torn").mkdir()
    shutil.copy(file, tmp_path / "torn")
    (tmp_path / "torn" / file.name).write_bytes(file.read_bytes()[:50])
    error = raised(lambda: spark.read.schema("id BIGINT").parquet(str(tmp_path / "torn")).agg({"id": "sum"}).collect())
    assert is_of_spark(error)
    told = _told(error, SparkTarget("local[1]"), tmp_path / "spark.log")
    assert file.name in str(told)
    assert "\n" not in str(told)
    assert str(told).endswith("spark.log.")


def test_of_python_on_a_worker_its_last_word_is_told(spark: SparkSession) -> None:
    error = raised(lambda: spark.range(1).mapInArrow(failing, "id BIGINT").collect())
    assert is_of_spark(error)
    assert reason(str(error)) == "ValueError: there is no such thing"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "[STREAM_FAILED] Query [id = 1] terminated: no such folder",
            "[STREAM_FAILED] Query [id = 1] terminated: no such folder",
        ),
        (
            "failed: Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'\n\tat org.apache.Spark(a:1)",
            "KeyError: 'x'",
        ),
        (
            "An error occurred.\n: org.apache.SparkException: [A] B\n\tat a.b(c:1)\n"
            "Caused by: java.io.IOException: no such place\n\tat d.e(f:2)\n",
            "java.io.IOException: no such place",
        ),
        ('failed.\nTraceback (most recent call last):\n  File "a.py"', "failed"),
    ],
)
def test_of_traces_only_the_reason_is_told(told: str, said: str) -> None:
    assert reason(told) == said


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'WARN x\nException in thread "main" org.apache.spark.SparkException: no HADOOP_CONF_DIR.\n\tat a.b(c:1)\n',
            "org.apache.spark.SparkException: no HADOOP_CONF_DIR",
        ),
        ("one\n\nInvalid heap\nError: no\nError: fatal\n", "Invalid heap | Error: no | Error: fatal"),
        ("", ""),
    ],
)
def test_of_a_java_that_ended_it_is_told_what_it_raised_or_else_its_last_lines(said: str, told: str) -> None:
    assert last_words(said) == told


def test_what_earlier_sessions_said_is_not_told_of_this_one(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    assert (size_of(log), since(log, 0)) == (0, "")
    log.write_text("old: java.io.IOException: before\n")
    before = size_of(log)
    with log.open("a") as file:
        file.write("new\n")
    assert since(log, before) == "new\n"


def test_what_is_not_of_spark_is_left_as_it_is() -> None:
    assert not is_of_spark(ValueError("x"))
    assert not is_of_spark(PipelineProblem("x"))
    assert not is_of_spark(KeyboardInterrupt())
