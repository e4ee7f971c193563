"""A hundred million rows on one machine: time and memory of the stages."""

from __future__ import annotations

import time
from pathlib import Path

from sdschat.audit.rules import DEFAULT
from sdschat.audit.schemas import AuditMissing, Copy, Fingerprint, Node, Presence
from sdschat.pipeline.session import Where, spark
from tests.pipeline.bench_bars import Bar, Bars
from tests.pipeline.bench_data import CHANNELS, NODES, WITH_GAPS, members, readings
from tests.store.samples import START

FULL = 100_000_000
_MEMORY = "8g"  # of the driver


def make_many(path: Path, count: int) -> int:
    """Write copies like `make_copies`, but by DuckDB, which needs little memory. Return the number of missing ones.

    The rows are in the order of the log, like silver.
    """
    import duckdb

    messages = count // NODES
    first, last = messages // 3, messages // 3 + messages // 100
    values = {
        "run_id": "'field'",
        "channel": f"'c' || (m % {len(CHANNELS)})",
        "node": "node",
        "message_id": "id",
        "lamport": f"{START} + m * 500",
        "sender": f"format('node{{:03d}}', m % {NODES})",
        "deps": "[]::VARCHAR[]",
        "digest": "'0'",
        "own": "false",
        "via": "'live'",
        "received_ms": f"{START} + m * 500 + n",
        "origin": "'log'",
        "damage": "NULL::VARCHAR",
    }
    columns = ", ".join(f"{values[name]} AS {name}" for name in Copy._fields)
    lacks = f"n < {len(WITH_GAPS)} AND m BETWEEN {first} AND {last} AND hash(m * {NODES} + n) % 5 = 0"
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE nodes AS SELECT n, format('node{{:03d}}', n) node FROM range({NODES}) t(n)")
        database.execute(f"CREATE TABLE sent AS SELECT m, sha256(m::VARCHAR) id FROM range({messages}) t(m)")
        rows = f"SELECT {columns} FROM sent CROSS JOIN nodes WHERE NOT ({lacks})"
        path.mkdir()
        database.execute(f"COPY ({rows}) TO '{path}/copies.parquet' (FORMAT parquet, COMPRESSION zstd)")
        (found,) = database.execute(f"SELECT count(*) FROM sent, nodes WHERE {lacks}").fetchall()
    return int(found[0])


def hundred_million(bars: Bars, folder: Path, count: int = FULL) -> None:
    from sdschat.pipeline import stages
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.transforms.fingerprint import fingerprints

    with bars(f"{count:,} rows: made", "DuckDB", count):
        lost = make_many(folder / "many", count)
    whole = 0.0
    with spark(Where("local[2]", conf=(("spark.driver.memory", _MEMORY),))) as session:
        lake = Lake(session, str(folder / "large"))
        (folder / "large" / "silver").mkdir(parents=True)
        Path(lake.path(Copy)).symlink_to(folder / "many")
        lake.keep(Presence, members())
        lake.keep(Node, readings())
        for what, do in (
            ("fingerprints", lambda: lake.replace(Fingerprint, fingerprints(lake.read(Copy)))),
            ("canonical log", lambda: stages.consolidate(lake)),
            ("audit", lambda: stages.audit(lake, DEFAULT)),
        ):
            began = time.perf_counter()
            with bars(f"{count:,} rows: {what}", f"Spark, {_MEMORY}", count):
                do()
            whole += time.perf_counter() - began
        assert lake.read(AuditMissing).count() == lost
        memory = most_memory()
    bar = count >= FULL
    bars.tell(f"{count:,} rows: all three", f"Spark, {_MEMORY}", whole, "s", Bar(6, 120) if bar else None)
    bars.tell("resident memory of its Java, at most", "", memory, "GB", Bar(6, 6, "GB") if bar else None)


def most_memory() -> float:
    """Return the peak memory of the driver's Java, as counted by Linux."""
    from pyspark import SparkContext

    process = SparkContext._gateway.proc.pid  # type: ignore[union-attr]
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e9
