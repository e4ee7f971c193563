"""The place to run Spark, as the user chose it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

_TOKEN: Final = re.compile(r"(;token=)[^;]*")


class TargetKind(StrEnum):
    LOCAL = "local"  # in processes of this machine
    CLUSTER = "cluster"  # a driver here, executors elsewhere
    CONNECT = "connect"  # all of Spark elsewhere, a thin client here
    GIVEN = "given"  # spark-submit started us, and has already decided the place


@dataclass(frozen=True, slots=True)
class Where:
    """The place to run Spark. `cache` is a folder for the class archive, the Java front, and the package as a zip.

    `log` is the file for all output of Spark. Without either, a temporary folder is used.
    """

    master: str = ""  # local[*], spark://, yarn, k8s://
    remote: str = ""  # sc://
    conf: tuple[tuple[str, str], ...] = ()
    cache: Path | None = None
    log: Path | None = None
    app: str = "sdschat pipeline"

    def resolved(self, environ: Mapping[str, str] = os.environ) -> Where:
        """Return the place with its master or remote set: from the options, else the environment, else this machine."""
        if self.remote or self.master:
            return self
        remote, master = environ.get("SPARK_REMOTE", ""), environ.get("MASTER", "")
        if remote:
            return Where("", remote, self.conf, self.cache, self.log, self.app)
        if "PYSPARK_GATEWAY_PORT" in environ:
            return self
        return Where(master or "local[*]", "", self.conf, self.cache, self.log, self.app)

    @property
    def kind(self) -> TargetKind:
        if self.remote:
            return TargetKind.CONNECT
        if not self.master:
            return TargetKind.GIVEN
        return TargetKind.LOCAL if self.master.startswith("local") else TargetKind.CLUSTER

    @property
    def shown(self) -> str:
        return without_token(self.remote or self.master)

    def problem(self) -> str:
        """Return the problem with the user's choice, or ""."""
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
