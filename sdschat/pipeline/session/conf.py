"""The configuration of Spark: the same behaviour everywhere, and the least start-up work on one machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from sdschat.pipeline.session.where import TargetKind, Where

# The same everywhere, and can be set in a session that somebody else has started.
MEANING: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",  # without it a data source that offers filters fails
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # on one machine, list files without a job
    "spark.io.compression.codec": "lz4",
}
_MOST_PARTITIONS: Final = 8


def configuration(where: Where, flags: str, folder: Path) -> dict[str, str]:
    """Return the configuration. `flags` are for the driver's Java. The user's settings come last and win."""
    conf = dict(MEANING)
    if where.kind is not TargetKind.CONNECT:
        conf["spark.driver.extraJavaOptions"] = flags
        conf["spark.sql.warehouse.dir"] = str(folder / "warehouse")
    if where.kind is TargetKind.LOCAL:
        conf |= _LOCAL
        conf["spark.sql.shuffle.partitions"] = str(min(cores(where.master), _MOST_PARTITIONS))
        conf["spark.driver.memory"] = f"{memory_gib()}g"
    if where.kind is TargetKind.CLUSTER:
        conf["spark.ui.enabled"] = "false"
        conf["spark.ui.showConsoleProgress"] = "false"
        if _on_this_machine(where.master):
            conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
    extra = dict(where.conf)
    if "spark.driver.extraJavaOptions" in extra:
        extra["spark.driver.extraJavaOptions"] = f"{flags} {extra['spark.driver.extraJavaOptions']}"
    return conf | extra


def python_there(master: str) -> str:
    """Return the Python of the executors: PYSPARK_PYTHON, else ours on this machine, else the same version by name."""
    asked = os.environ.get("PYSPARK_PYTHON")
    if asked or _on_this_machine(master):
        return asked or sys.executable
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _on_this_machine(master: str) -> bool:
    return master.startswith(("spark://127.0.0.1:", "spark://localhost:"))


def cores(master: str) -> int:
    inside = master.removeprefix("local").strip("[]").split(",")[0]
    if inside == "*":
        return os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1


def memory_gib() -> int:
    """Return half of the machine's memory, from 1 to 8 GiB: audits stream their rows, so more memory helps little."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2
    return max(1, min(8, whole // (2 << 30)))
