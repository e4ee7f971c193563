"""The package as a zip, sent to the machines on which it runs, and the spark-submit command that does so."""

from __future__ import annotations

import hashlib
import os
import shlex
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import sdschat
from sdschat.pipeline.session.spark_target import MEANING, SparkTarget, python_there

PACKAGE_ROOT: Final = Path(sdschat.__file__).parent.parent
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # one fixed date, so that equal contents give an equal file
_LEFT_OUT: Final = ("__pycache__", ".pyc")


def package_files() -> list[tuple[str, Path]]:
    return [
        (path.relative_to(PACKAGE_ROOT).as_posix(), path)
        for path in sorted((PACKAGE_ROOT / "sdschat").rglob("*"))
        if path.is_file() and not any(part.endswith(_LEFT_OUT) for part in path.parts)
    ]


def package_zip(folder: Path) -> Path:
    """Return a zip of the package, made unless there is one of the same content."""
    files = [(name, path.read_bytes()) for name, path in package_files()]
    digest = hashlib.sha256()
    for name, body in files:
        digest.update(f"{name} {len(body)}\n".encode())
        digest.update(body)
    target = folder / f"sdschat-{sdschat.__version__}-{digest.hexdigest()[:12]}.zip"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{target.name}.{os.getpid()}"
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), body, zipfile.ZIP_DEFLATED)
    fresh.replace(target)
    return target


def submit_command(target: SparkTarget, arguments: Sequence[str], folder: Path) -> str:
    """Return the spark-submit command. `arguments` are those after `sdschat pipeline`."""
    master = target.master or "local[*]"
    parts = ["spark-submit", "--master", master]
    if not master.startswith("local"):
        parts += ["--deploy-mode", "client", "--conf", f"spark.pyspark.python={python_there(master)}"]
    package = package_zip(folder)
    parts += ["--py-files", str(package)]
    for key, value in (MEANING | dict(target.conf)).items():
        parts += ["--conf", f"{key}={value}"]
    if master.startswith("k8s://") and "spark.kubernetes.container.image" not in dict(target.conf):
        parts += ["--conf", "spark.kubernetes.container.image=<image with Python and the packages below>"]
    parts += [str(PACKAGE_ROOT / "sdschat" / "__main__.py"), "pipeline", *arguments]
    return shlex.join(parts)


def connect_command(target: SparkTarget, arguments: Sequence[str]) -> str:
    pairs = [part for key, value in target.conf for part in ("--conf", f"{key}={value}")]
    return shlex.join(["sdschat", "pipeline", *arguments, "--remote", target.remote, *pairs])
