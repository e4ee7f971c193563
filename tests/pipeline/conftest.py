"""One Spark session for all tests here: its start takes longer than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session import spark as open_spark
from tests.audit.conftest import field, untouched
from tests.needs import needs_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["field", "untouched"]
HERE = Path(__file__).parent
PATIENCE = 1_800  # seconds: the first test starts Spark, perhaps on a busy machine
# With so little work, most of the time would go into good compilation. All tests have one session, whose queries would
# fill Java's memory for code.
QUICK_TO_START = (
    ("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"),
    ("spark.sql.codegen.cache.maxEntries", "100"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore Spark's warnings about pandas, which is not used here, and about a socket that its gateway leaves open.

    The tests get more time, because the first one waits for the start of Spark.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            if "spark" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(PATIENCE))


@pytest.fixture(scope="session")
def where(tmp_path_factory: pytest.TempPathFactory) -> SparkTarget:
    """Return the place where the tests run Spark: here, or the Connect server or cluster in the variables."""
    folder = tmp_path_factory.mktemp("spark")
    master, remote = os.environ.get("SDSCHAT_TEST_MASTER", ""), os.environ.get("SDSCHAT_TEST_REMOTE", "")
    conf: tuple[tuple[str, str], ...] = (("spark.sql.shuffle.partitions", "2"),)
    if not master and not remote:
        master, conf = "local[2]", (*conf, ("spark.driver.memory", "2g"), *QUICK_TO_START)
    return SparkTarget(master, remote, conf, folder, folder / "spark.log")


@pytest.fixture(scope="session")
def spark(where: SparkTarget) -> Iterator[SparkSession]:
    needs_module("pyspark")
    needs_module("pyarrow")
    with open_spark(where) as session:
        yield session
    _end_java()


def _end_java() -> None:
    """End Spark's Java. Spark leaves it running to the end of the process, and Python warns about that."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = None
