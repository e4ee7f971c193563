"""The spark-submit command for the same work, for users who want to see or schedule it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sdschat.pipeline.session.conf import MEANING, python_there
from sdschat.pipeline.session.ship import package_zip
from sdschat.pipeline.session.where import Where


def submit_command(where: Where, arguments: Sequence[str], folder: Path) -> str:
    """Return the spark-submit command. `arguments` are those after `sdschat pipeline`."""
    master = where.master or "local[*]"
    parts = ["spark-submit", "--master", master]
    if not master.startswith("local"):
        parts += ["--deploy-mode", "client", "--conf", f"spark.pyspark.python={python_there(master)}"]
    package = package_zip(folder)
    parts += ["--py-files", str(package)]
    for key, value in (MEANING | dict(where.conf)).items():
        parts += ["--conf", f"{key}={value}"]
    if master.startswith("k8s://") and "spark.kubernetes.container.image" not in dict(where.conf):
        parts += ["--conf", "spark.kubernetes.container.image=<image with Python and the packages below>"]
    parts += [str(entry_point(folder)), *arguments]
    return shlex.join(parts)


def connect_command(where: Where, arguments: Sequence[str]) -> str:
    """Return the command of a Connect client, which is started like any program."""
    pairs = [part for key, value in where.conf for part in ("--conf", f"{key}={value}")]
    return shlex.join(["sdschat", "pipeline", *arguments, "--remote", where.remote, *pairs])


def entry_point(folder: Path) -> Path:
    """Write the file that spark-submit runs. It only calls the program, which is in the zip."""
    path = folder / "sdschat_pipeline.py"
    text = 'import sys\n\nfrom sdschat.cli.program import run\n\nsys.exit(run(["pipeline", *sys.argv[1:]]))\n'
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path
