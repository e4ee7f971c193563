"""An archive of Spark's loaded classes for the JVM, for a version of each. It halves the time to start."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from sdschat.audit.errors import NO_SPARK, PipelineProblem, install_command
from sdschat.pipeline.session.java import Java, find_java, usable_home
from sdschat.pipeline.session.spark_target import SparkTarget

_TRAINING: Final = "SDSCHAT_TRAINING_ARCHIVE"
_QUIET: Final = ("-Xlog:disable", "-Xlog:all=off")
_LONGEST: Final = 600


def archive_path(folder: Path, java: Java) -> Path:
    return folder / f"classes-java{java.version}-spark{spark_version()}.jsa"


def spark_version() -> str:
    """Return the version of Spark without importing Spark, which takes a second."""
    from importlib.metadata import PackageNotFoundError, version

    for name in ("pyspark", "pyspark-client"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def archive_flags(folder: Path, java: Java) -> list[str]:
    training = os.environ.get(_TRAINING)
    base = _base(folder, java)
    before = [f"-XX:SharedArchiveFile={base}"] if base.exists() else []
    if training:
        return [*before, f"-XX:ArchiveClassesAtExit={training}", *_QUIET]
    archive = archive_path(folder, java)
    if not archive.exists():
        return []
    joined = f"{base}{os.pathsep}{archive}" if base.exists() else str(archive)
    return ["-Xshare:auto", f"-XX:SharedArchiveFile={joined}", *_QUIET]


def _base(folder: Path, java: Java) -> Path:
    """Return the path of the base archive. Small runtimes lack the one that all others start from."""
    return folder / f"base-java{java.version}.jsa"


def warm_up(target: SparkTarget) -> Path:
    if importlib.util.find_spec("pyspark") is None:
        raise PipelineProblem(f"pyspark is not installed. Do: {install_command('pipeline')}", NO_SPARK)
    assert target.cache is not None
    folder = target.cache
    folder.mkdir(parents=True, exist_ok=True)
    java = find_java().java
    if java is None:
        raise PipelineProblem("there is no Java 17 or later: `sdschat pipeline doctor` says what to do.", NO_SPARK)
    if not list(java.home.glob("lib/*/classes*.jsa")):
        program = usable_home(java, folder) / "bin" / "java"
        subprocess.run(
            [program, "-Xshare:dump", f"-XX:SharedArchiveFile={_base(folder, java)}"],
            check=False,
            capture_output=True,
            timeout=_LONGEST,
        )
    archive = archive_path(folder, java)
    fresh = archive.with_name(f".{archive.name}.{os.getpid()}")
    _train(folder, fresh)
    fresh.replace(archive)
    return archive


def _train(folder: Path, fresh: Path) -> None:
    environ = {**os.environ, _TRAINING: str(fresh), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environ.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-m", "sdschat.pipeline.session.training_run", str(folder)]
    try:
        done = subprocess.run(command, env=environ, check=False, capture_output=True, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired as error:
        raise PipelineProblem(f"the class archive was not made within {_LONGEST // 60} minutes.", NO_SPARK) from error
    if done.returncode or not fresh.exists():
        fresh.unlink(missing_ok=True)  # an archive of half a run would lack the rest
        said = " ".join((done.stderr or done.stdout).split())[-200:]
        raise PipelineProblem(f"the class archive was not made: {said or 'the training run left none'}.", NO_SPARK)
