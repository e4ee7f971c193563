"""The place to run Spark, as the user chose it, and the configuration there: the same behaviour everywhere."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from sdschat.audit.processes import half_of_memory

_TOKEN: Final = re.compile(r"(;token=)[^;]*")


class TargetKind(StrEnum):
    LOCAL = "local"  # in processes of this machine
    CLUSTER = "cluster"  # a driver here, executors elsewhere
    CONNECT = "connect"  # all of Spark elsewhere, a thin client here
    GIVEN = "given"  # spark-submit started us, and has already decided the place


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """The place to run Spark. Without `cache` or `log`, a temporary folder is used."""

    master: str = ""  # local[*], spark://, yarn, k8s://
    remote: str = ""  # sc://
    conf: tuple[tuple[str, str], ...] = ()
    cache: Path | None = None  # for the class archive, the front of Java, and the package as a zip
    log: Path | None = None
    few: bool = False  # there are few rows to read: Spark shall above all begin soon

    def resolved(self, environ: Mapping[str, str] = os.environ) -> SparkTarget:
        """Return the place with its master or remote set: from the options, else the environment, else this machine."""
        if self.remote or self.master:
            return self
        remote, master = environ.get("SPARK_REMOTE", ""), environ.get("MASTER", "")
        if remote:
            return replace(self, remote=remote)
        if "PYSPARK_GATEWAY_PORT" in environ:
            return self
        return replace(self, master=master or "local[*]")

    @property
    def kind(self) -> TargetKind:
        if self.remote:
            return TargetKind.CONNECT
        if not self.master:
            return TargetKind.GIVEN
        return TargetKind.LOCAL if self.master.startswith("local") else TargetKind.CLUSTER

    @property
    def named(self) -> bool:
        return bool(self.master or self.remote or self.conf)

    @property
    def shown(self) -> str:
        return without_token(self.remote or self.master)

    def problem(self) -> str:
        if self.remote and self.master:
            return "--master and --remote exclude each other: a Connect server has its own master. Give one of them."
        if self.remote and not self.remote.startswith("sc://"):
            return f"--remote is {without_token(self.remote)!r}; a Connect server is sc://host:port."
        known = ("local", "spark://", "yarn", "k8s://")
        if self.master and not self.master.startswith(known):
            return f"--master is {self.master!r}; it is local[N], spark://host:port, yarn or k8s://https://host:port."
        return ""


def without_token(address: str) -> str:
    """Return the address without its token, which is a secret and must not be in any message or log."""
    return _TOKEN.sub(r"\1…", address)


# The same everywhere, and can be set in a session that somebody else has started.
MEANING: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    # Rows of one group are alike: a file is much smaller than they are, and else Spark takes many of them for few.
    "spark.sql.sources.fileCompressionFactor": "20",
}
# For few rows, compiling a query or planning it again takes longer than the rows do.
NOT_COMPILED: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_FEW_ROWS: Final = NOT_COMPILED | {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
# Each join or group takes one at least. Usual are 64 MiB of them: Java has to clear that, and to collect it.
_SMALL_PAGES: Final = {"spark.buffer.pageSize": "1m"}
# Java compiles once, and not again and better; its collector of one thread takes no time from the others at the start.
QUICK_TO_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "64m",  # on one machine nothing is sent anywhere
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # on one machine, list files without a job
    "spark.io.compression.codec": "lz4",
}
# An audit compiles some hundreds of queries, and the next one in the same session finds them compiled.
_MANY_ROWS: Final = {"spark.sql.codegen.cache.maxEntries": "1000"}
ROOM_FOR_QUERIES: Final = "-XX:ReservedCodeCacheSize=512m"
_MOST_PARTITIONS: Final = 8
_PARTS_FOR_A_CORE: Final = 4


def of_session(target: SparkTarget) -> dict[str, str]:
    """Return the settings that can be made in any session, also in a running one."""
    return MEANING | (_FEW_ROWS if target.few else {})


def configuration(target: SparkTarget, flags: str, folder: Path) -> dict[str, str]:
    """Return the configuration of a session that is not at a Connect server. `flags` are for the driver's Java. The
    user's settings come last and win."""
    conf = {"spark.driver.extraJavaOptions": flags, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    conf["spark.log.level"] = "WARN"
    if target.few:
        conf |= _SMALL_PAGES
    if target.kind is TargetKind.LOCAL:
        conf |= _LOCAL
        conf["spark.sql.shuffle.partitions"] = str(min(cores(target.master), _MOST_PARTITIONS))
        # Half of the machine's, from 1 to 8 GiB: audits stream their rows, so more memory helps little.
        conf["spark.driver.memory"] = f"{max(1, half_of_memory(8 << 30, 2 << 30) >> 30)}g"
        if not target.few:
            conf |= _MANY_ROWS
            # Files of very different sizes would else come to two tasks, of which one has most of the work.
            conf["spark.sql.files.minPartitionNum"] = str(_PARTS_FOR_A_CORE * cores(target.master))
    if target.kind is TargetKind.CLUSTER:
        conf["spark.ui.enabled"] = "false"
        conf["spark.ui.showConsoleProgress"] = "false"
        if _on_this_machine(target.master):
            conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
    conf |= of_session(target)
    extra = dict(target.conf)
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
