"""Speed: the same questions on the same rows to Spark, DuckDB and pandas, and simulations on Spark and on a bare pool.

    python -m tests.pipeline.bench --rows 1000000

Start-up is told apart. Every engine has to give the same answer. Times depend on what else the machine does; it is the
ratios within one run that say something.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.pipeline.archive.read import Archive
from sdschat.pipeline.grid.gridfile import Run
from sdschat.pipeline.grid.setting import Setting
from sdschat.pipeline.grid.workers import on_processes, on_spark
from sdschat.pipeline.schemas import Copy, Log, ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NODES = 100
_CHANNELS = 10
_HONEST = (
    "On one machine and at these sizes DuckDB answers first, and needs no Java. Spark pays where rows are on several "
    "machines or do not fit into one, for a stream that counts every row once, and for spreading simulations."
)


@contextmanager
def timed(rows: list[tuple[str, str, float]], what: str, engine: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    rows.append((what, engine, time.perf_counter() - began))
    print(f"{what}, {engine}", file=sys.stderr)


def make_copies(path: Path, count: int) -> int:
    """Deliveries of messages by nodes; some nodes lack some. Gives how many are missing."""
    messages = count // _NODES
    draw = np.random.default_rng(1)
    node = np.repeat(np.arange(_NODES), messages)
    message = np.tile(np.arange(messages), _NODES)
    lost = (node < 4) & (draw.random(len(node)) < 0.002)
    node, message = node[~lost], message[~lost]
    ids = np.array([f"{value:064x}" for value in draw.integers(0, 2**63, messages)])
    texts = {
        "run_id": np.full(len(node), "field"), "channel": np.array([f"c{at}" for at in range(_CHANNELS)])[message % 10],
        "node": np.array([f"node{at:03}" for at in range(_NODES)])[node], "message_id": ids[message],
        "sender": np.array([f"node{at:03}" for at in range(_NODES)])[message % _NODES],
        "digest": np.full(len(node), "0"), "origin": np.full(len(node), "log"),
    }  # fmt: skip
    numbers = {"lamport": 1_700_000_000_000 + message * 500, "received_ms": 1_700_000_000_000 + message * 500 + node}
    columns: dict[str, Any] = {name: pa.array(values) for name, values in {**texts, **numbers}.items()}
    columns |= {
        "deps": pa.array([[]] * len(node), pa.list_(pa.string())), "own": pa.array(node < 0),
        "via": pa.array(np.full(len(node), "live")), "damage": pa.nulls(len(node), pa.string()),
    }  # fmt: skip
    path.mkdir()
    pq.write_table(pa.table({name: columns[name] for name in Copy._fields}), path / "copies.parquet")
    return int(lost.sum())


def ask_spark(spark: SparkSession, path: Path) -> tuple[int, list[int]]:
    from pyspark.sql import functions as F

    from sdschat.pipeline.transforms.fingerprint import fingerprints, in_buckets

    copies = spark.read.schema(ddl(Copy)).parquet(str(path))
    prints = fingerprints(copies).persist()
    differing = (
        prints.groupBy("run_id", "channel", "bucket")
        .agg(F.count("*").alias("nodes"), F.count_distinct("n", "x1", "x2").alias("kinds"))
        .where((F.col("kinds") > 1) | (F.col("nodes") < _NODES)).select("run_id", "channel", "bucket")
    )  # fmt: skip
    part = in_buckets(copies, differing)
    ids = part.select("channel", "message_id").distinct()
    nodes = spark.range(_NODES).select(F.format_string("node%03d", "id").alias("node"))
    missing = ids.crossJoin(nodes).join(part, ["channel", "message_id", "node"], "left_anti").count()
    late = copies.select(F.percentile(F.col("received_ms") - F.col("lamport"), F.array(F.lit(0.5), F.lit(0.99))))
    found = [round(value) for value in late.collect()[0][0]]
    prints.unpersist()
    return missing, found


def ask_duckdb(path: Path) -> tuple[int, list[int]]:
    import duckdb

    rows = f"read_parquet('{path}/*.parquet')"
    with duckdb.connect() as database:
        missing = database.execute(
            f"SELECT sum({_NODES} - n) FROM (SELECT count(*) n FROM {rows} GROUP BY channel, message_id)"
        ).fetchall()[0][0]
        late = database.execute(f"SELECT quantile_cont(received_ms - lamport, [0.5, 0.99]) FROM {rows}").fetchall()
    return int(missing), [round(value) for value in late[0][0]]


def ask_pandas(path: Path) -> tuple[int, list[int]]:
    pd: Any = importlib.import_module("pandas")

    rows = pd.read_parquet(path, columns=["channel", "message_id", "lamport", "received_ms"])
    missing = (_NODES - rows.groupby(["channel", "message_id"]).size()).sum()
    late = (rows["received_ms"] - rows["lamport"]).quantile([0.5, 0.99])
    return int(missing), [round(value) for value in late]


def ask_archive(folder: Path, messages: int, rows: list[tuple[str, str, float]]) -> None:
    """Look-ups by id and by range in an archive written without Spark, since it only is read here."""
    draw = np.random.default_rng(2)
    ids = np.sort(np.array([f"{high:016x}{low:048x}" for high, low in draw.integers(0, 2**63, (messages, 2))]))
    place = draw.permutation(messages) + 1
    table = _log(ids, place)
    for name, order in (("by_id", np.arange(messages)), ("by_place", np.argsort(place))):
        (folder / "archive" / name).mkdir(parents=True)
        target = folder / "archive" / name / "part-0.parquet"
        pq.write_table(table.take(pa.array(order)), target, row_group_size=20_000)
    with timed(rows, f"archive of {messages:,}: open", "pyarrow"):
        archive = Archive(folder)
    spent: list[float] = []
    for at in draw.integers(0, messages, 30):
        began = time.perf_counter()
        assert len(archive.get(str(ids[at]))) == 1
        spent.append(time.perf_counter() - began)
    rows.append((f"archive of {messages:,}: by id, median of 30", "pyarrow", float(np.median(spent))))
    with timed(rows, f"archive of {messages:,}: 100 by position", "pyarrow"):
        assert len(archive.positions("lobby", messages // 2, messages // 2 + 99)) == 100
    with timed(rows, f"archive of {messages:,}: 100 by Lamport time", "pyarrow"):
        assert len(archive.dated("lobby", 1_000_000 + 500 * (messages // 2), count=100)) == 100
    archive.close()


def _log(ids: Any, place: Any) -> pa.Table:
    count = len(ids)
    columns: dict[str, Any] = {name: pa.nulls(count, pa.string()) for name in (*Log._fields, "raw")}
    columns |= {name: pa.array(np.full(count, text)) for name, text in (("run_id", "field"), ("channel", "lobby"))}
    columns |= {name: pa.array(np.zeros(count, dtype=np.int64)) for name in ("copies", "first_ms", "last_ms")}
    columns |= {
        "message_id": pa.array(ids), "position": pa.array(place), "lamport": pa.array(1_000_000 + 500 * place),
        "sender": pa.array(np.full(count, "ann")), "deps": pa.array([[]] * count, pa.list_(pa.string())),
        "raw": pa.nulls(count, pa.binary()),
    }  # fmt: skip
    return pa.table(columns)


def compare_simulation(spark: SparkSession, runs: int, rows: list[tuple[str, str, float]]) -> None:
    wanted = [Run(Setting(by="engine", participants=60, loss=0.1), seed) for seed in range(runs)]
    outcomes = []
    for engine, work in (("Spark, local[2]", on_spark(spark, None)), ("pool of two", on_processes(2, None))):
        list(work(wanted[:2]))  # processes are started
        with timed(rows, f"{runs} runs of 60 participants", engine):
            outcomes.append(sorted((row.run_id, row.figures) for row in work(wanted)))
    assert outcomes[0] == outcomes[1], "Spark and the pool disagree"


def main(argv: Sequence[str] | None = None) -> int:
    from sdschat.pipeline.session import Where, spark

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--messages", type=int, default=5_000_000, help="in the archive")
    parser.add_argument("--runs", type=int, default=40, help="of the simulation")
    options = parser.parse_args(argv)
    rows: list[tuple[str, str, float]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        ask_archive(folder, options.messages, rows)
        lost = make_copies(folder / "copies", options.rows)
        answers: dict[str, tuple[int, list[int]]] = {}
        with timed(rows, "start-up of Spark", "Spark, local[2]"):
            session = spark(Where("local[2]"))
            opened = session.__enter__()
        questions: list[tuple[str, Callable[[], tuple[int, list[int]]]]] = [
            ("Spark, first time", lambda: ask_spark(opened, folder / "copies")),
            ("Spark, again", lambda: ask_spark(opened, folder / "copies")),
            ("DuckDB", lambda: ask_duckdb(folder / "copies")),
            ("pandas", lambda: ask_pandas(folder / "copies")),
        ]
        for engine, ask in questions:
            with timed(rows, f"{options.rows:,} rows: what is missing, and latencies", engine):
                answers[engine] = ask()
        compare_simulation(opened, options.runs, rows)
        session.__exit__(None, None, None)
    assert len({str(answer) for answer in answers.values()}) == 1, answers
    assert next(iter(answers.values()))[0] == lost, (answers, lost)
    for what, engine, seconds in rows:
        print(f"{what:60} {engine:18} {seconds:9.3f} s")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}; {lost:,} missing entries found by all. {_HONEST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
