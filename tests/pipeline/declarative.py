"""The project of `init-sdp`, run by `spark-pipelines`, compared with the same tables made by DuckDB.

    python -m tests.pipeline.declarative

Needs pip install 'pyspark[pipelines]'.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sdschat.audit.schemas import Event, Presence
from sdschat.lake.duck import open_duck
from sdschat.lake.ingest import ingest
from sdschat.lake.judge import refine
from sdschat.lake.tables import Tables
from sdschat.pipeline.sdp import init_sdp
from sdschat.pipeline.session.java import find_java, usable_home
from tests.cli.processes import ROOT
from tests.lake.bronze import rows_in
from tests.lake.stream_kills import Arriving
from tests.needs import needs_program

TABLES = {"silver_event": Event, "silver_presence": Presence}


def lake_of_journals(folder: Path) -> Path:
    """Make a lake with the journals of a simulated group in bronze."""
    segments, lake = folder / "segments", folder / "lake"
    segments.mkdir()
    Arriving(segments, 2, 3).rest()
    ingest(Tables(str(lake)), sorted(segments.iterdir()), "field", 1)
    return lake


def run_pipelines(project: Path, cache: Path) -> None:
    java = find_java().java
    assert java is not None, "there is no Java"
    variables = {
        **os.environ,
        "JAVA_HOME": str(usable_home(java, cache)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    command = [
        needs_program("spark-pipelines"),
        "run",
        "--conf",
        "spark.sql.catalogImplementation=hive",
        "--conf",
        "spark.driver.memory=1g",
        "--conf",
        "spark.ui.enabled=false",
    ]
    done = subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"spark-pipelines ended with {done.returncode}: {(done.stdout + done.stderr)[-4000:]}")


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lake = lake_of_journals(folder)
        init_sdp(folder / "project", str(lake))
        for _ in ("first", "again"):
            run_pipelines(folder / "project", folder)
        found = {
            name: _rows(pq.read_table(folder / "project" / "spark-warehouse" / name).to_pylist(), table)
            for name, table in TABLES.items()
        }
        with open_duck(lake) as there:
            refine(there)
        wanted = {
            name: _rows([row._asdict() for row in rows_in(Tables(str(lake)), table)], table)
            for name, table in TABLES.items()
        }
    for name in TABLES:
        print(f"{name}: {len(found[name])} rows, {'equal' if found[name] == wanted[name] else 'NOT equal'} to DuckDB's")
    return 0 if found == wanted and all(found.values()) else 1


def _rows(found: list[dict[str, Any]], table: type) -> list[tuple[Any, ...]]:
    plain = ({name: list(value) if isinstance(value, tuple) else value for name, value in row.items()} for row in found)
    return sorted((tuple(row[name] for name in table.__annotations__) for row in plain), key=repr)


if __name__ == "__main__":
    sys.exit(main())
