"""A training run: a little of everything that the pipeline does, so that its classes are in the archive."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sdschat.pipeline.session.start import spark
from sdschat.pipeline.session.where import Where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _work(session: SparkSession, folder: str) -> None:
    from pyspark.sql import functions as f

    rows = session.range(1000).withColumn("node", f.concat(f.lit("n"), f.col("id") % 7))
    rows.write.mode("overwrite").partitionBy("node").parquet(f"{folder}/rows")
    back: DataFrame = session.read.parquet(f"{folder}/rows")
    by_node = back.groupBy("node").agg(f.count("*").alias("n"), f.bit_xor(f.xxhash64("id")).alias("x"))
    joined = back.join(f.broadcast(by_node), "node").orderBy("id")
    joined.mapInArrow(_same, joined.schema).agg(f.percentile("id", f.array(f.lit(0.5), f.lit(0.9)))).collect()
    joined.dropDuplicates(["node"]).write.mode("overwrite").json(f"{folder}/json")


def main(folder: str) -> None:
    with TemporaryDirectory() as scratch, spark(Where("local[1]", cache=Path(folder))) as session:
        _work(session, scratch)


if __name__ == "__main__":
    main(sys.argv[1])
