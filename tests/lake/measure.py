"""Time and memory of an audit of a large lake, by DuckDB or by Spark.

    python -m tests.lake.measure --rows 10000000
    python -m tests.lake.measure --rows 10000000 --spark 4

The lake has the logs of 100 nodes in ten channels or more. Four nodes lack something, and a twentieth of the messages
is in two readings. Plain DuckDB answers the same from the same files, by statements that are written for this lake
alone. After the first audit, a hundredth more comes into one channel, and the lake is audited again. Spark audits all
of the lake several times, the later ones with what Java has compiled meanwhile.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sdschat.audit.schemas import AuditMissing, Message
from sdschat.audit.verdict import DEFAULT, Rules
from sdschat.lake.duck import connected, open_duck
from sdschat.lake.engine import LakeEngine
from sdschat.lake.judge import audit, consolidate, refine
from sdschat.lake.tables import Tables
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session import spark as open_spark
from tests.pipeline.bench_data import CHANNELS, NODES, lake_of_copies, make_copies, one_more_in_a_hundred
from tests.store.samples import START


def make(folder: Path, count: int, partial: bool, channels: int) -> int:
    """Make the lake, and return how many messages are missing."""
    lost = make_copies(folder / "copies", count, partial=partial, channels=channels)
    horizon = START + count // NODES // 2 * 500 if partial else 0
    lake_of_copies(folder / "copies", folder / "lake", horizon, channels)
    return lost


# Logs alone, of nodes that are owed everything: no journals, reasons, other versions or faults.
_PLAIN = """
CREATE TABLE copy AS
SELECT channel, node, message_id, ARG_MAX((lamport, sender, deps, digest, received_ms, gone), (as_of, read_ms)) AS said
FROM bronze GROUP BY channel, node, message_id;
CREATE TABLE log AS
SELECT *, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY lamport, message_id) AS position,
  SHA256(lamport || ':' || message_id) AS hash
FROM (
  SELECT channel, message_id, said[1] AS lamport, said[2] AS sender, said[3] AS deps, said[4] AS digest,
    COUNT(*) AS copies, MIN(said[5]) AS first_ms, MAX(said[5]) AS last_ms
  FROM copy WHERE NOT said[6] GROUP BY ALL
);
CREATE TABLE member AS SELECT channel, node, COUNT(*) AS messages FROM copy WHERE NOT said[6] GROUP BY channel, node;
CREATE TABLE missing AS
SELECT l.channel, m.node, l.position, l.lamport, l.message_id, l.sender
FROM log AS l
JOIN (SELECT channel, COUNT(*) AS nodes FROM member GROUP BY channel) AS c USING (channel)
JOIN member AS m USING (channel)
WHERE l.copies < c.nodes AND NOT EXISTS (
  SELECT 1 FROM copy AS k WHERE k.channel = l.channel AND k.message_id = l.message_id AND k.node = m.node
);
COPY log TO '{folder}/log.parquet' (COMPRESSION zstd);
COPY missing TO '{folder}/missing.parquet' (COMPRESSION zstd);
"""


def plain(folder: Path) -> float:
    """Answer by plain DuckDB, and return the seconds that it took."""
    with tempfile.TemporaryDirectory() as scratch, connected(scratch) as connection:
        began = time.perf_counter()
        connection.read_parquet(Tables(str(folder)).files(Message)).create_view("bronze")
        for statement in _PLAIN.format(folder=scratch).split(";\n"):
            connection.execute(statement)
        took = time.perf_counter() - began
        found = connection.execute("SELECT COUNT(*) FROM missing").fetchall()[0][0]
    print(f"plain DuckDB: {took:.1f} s, {found:,} found missing", flush=True)
    return took


def judge(lake: LakeEngine, rows: int, rules: Rules = DEFAULT) -> float:
    """Audit the lake, and return the seconds that it took."""
    begun = time.perf_counter()
    stages: dict[str, Callable[[], None]] = {
        "silver": partial(refine, lake, rules),
        "log": partial(consolidate, lake),
        "verdict": partial(audit, lake),
    }
    for name, stage in stages.items():
        began = time.perf_counter()
        stage()
        print(f"{rows:,} rows, {name}: {time.perf_counter() - began:.1f} s", flush=True)
    took = time.perf_counter() - begun
    lake.name(AuditMissing, "lacking")
    print(f"{lake.rows('SELECT COUNT(*) FROM lacking')[0][0]:,} found missing")
    return took


def by_duck(folder: Path, rows: int) -> float:
    with open_duck(folder) as lake:
        return judge(lake, rows)


def by_spark(folder: Path, rows: int, times: int) -> None:
    """Audit all of the lake several times in one session, each time by another limit, and print the seconds."""
    with open_spark(SparkTarget("local[2]", cache=folder / "cache", log=folder / "spark.log")) as session:
        for number in range(times):
            lake = Lake(session, str(folder / "lake"))
            took = judge(lake, rows, DEFAULT._replace(settle=DEFAULT.settle + number))
            print(f"audit {number + 1} by Spark: {took:.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--channels", type=int, default=CHANNELS, help="at most a hundred")
    parser.add_argument("--partial", action="store_true", help="one node joined late, and of one there is an old copy")
    parser.add_argument(
        "--spark", type=int, metavar="TIMES", default=0, help="let Spark audit it so many times instead"
    )
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            # In a process of its own, so that the memory counted is that of the audit alone.
            again = [sys.executable, "-m", "tests.lake.measure", "--in", folder, "--rows", str(options.rows)]
            again += ["--channels", str(options.channels), "--spark", str(options.spark)]
            print(f"{make(Path(folder), options.rows, options.partial, options.channels):,} missing", flush=True)
            return subprocess.run(again, check=False).returncode
    if options.spark:
        by_spark(options.folder, options.rows, options.spark)
        return 0
    first = by_duck(options.folder / "lake", options.rows)
    print(f"in all {first:.1f} s, at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB resident")
    if not options.partial:
        print(f"{first / plain(options.folder / 'lake'):.2f} of the time of plain DuckDB")
    one_more_in_a_hundred(options.folder / "copies", options.folder / "lake", options.channels)
    second = by_duck(options.folder / "lake", options.rows)
    print(f"after a hundredth more in one channel: {second:.1f} s, {second / first:.2f} of the first audit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
