"""The project of `init-sdp`, run by `spark-pipelines`, compared with the same tables made at once.

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

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.schemas import Fingerprint, Journal, columns
from sdschat.audit.sources.databases import PacketMemory, Reading
from sdschat.lake.places import PLACES
from sdschat.pipeline.sdp import init_sdp
from sdschat.pipeline.session import Where, spark
from sdschat.pipeline.session.java import find_java, usable_home
from sdschat.pipeline.sources.batch import ARROW
from sdschat.pipeline.sources.files import read_file
from sdschat.pipeline.stream.tables import Activity
from tests.cli.processes import ROOT
from tests.needs import needs_program
from tests.pipeline.kills import Arriving

TABLES = {"node_activity": Activity, "fingerprints": Fingerprint}


def lake_of_journals(folder: Path) -> Path:
    """Make a lake with the journals of a simulated group in bronze."""
    segments, lake = folder / "segments", folder / "lake"
    segments.mkdir()
    Arriving(segments, 2, 3).rest()
    rows = [row for path in segments.iterdir() for row in read_file(Reading("field", path, 1, PacketMemory()))]
    schema = pa.schema([(name, ARROW[kind]) for name, (kind, _) in columns(Journal).items()])
    values = {name: [getattr(row, name) for row in rows] for name in columns(Journal)}
    target = lake / PLACES[Journal]
    target.mkdir(parents=True)
    pq.write_table(pa.table(values, schema=schema), target / "part-0.parquet")
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
        with spark(Where("local[2]", conf=(("spark.driver.memory", "1g"),), cache=folder / "cache")) as session:
            wanted = _at_once(session, lake)
    for name in TABLES:
        print(
            f"{name}: {len(found[name])} rows, {'equal' if found[name] == wanted[name] else 'NOT equal'} to the batch"
        )
    return 0 if found == wanted and all(found.values()) else 1


def _at_once(session: Any, lake: Path) -> dict[str, list[tuple[Any, ...]]]:
    from sdschat.audit.schemas import ddl
    from sdschat.pipeline.stream.tables import activity, copies_of, prints

    journal = session.read.schema(ddl(Journal)).parquet(str(lake / PLACES[Journal]))
    once = journal.dropDuplicates(["run_id", "node", "boot", "seq"])
    made = {"node_activity": activity(once), "fingerprints": prints(copies_of(session, journal))}
    return {name: _rows([row.asDict() for row in made[name].collect()], table) for name, table in TABLES.items()}


def _rows(found: list[dict[str, Any]], table: type) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in table.__annotations__) for row in found)


if __name__ == "__main__":
    sys.exit(main())
