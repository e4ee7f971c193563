"""The streaming query: segments of a folder in the order of their arrival."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from sdschat.pipeline.lake import as_it_is
from sdschat.pipeline.stream.batches import do_batch
from sdschat.pipeline.stream.carried import for_connect
from sdschat.pipeline.stream.gone import CHECKPOINT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_GLOB: Final = "*.{jsonl,ndjson,json,parquet}"


def start(
    spark: SparkSession,
    segments: str,
    lake: str,
    run_id: str,
    every: str = "2 seconds",
    once: bool = False,
    most: int = 200,
) -> Any:
    """Start the query. `once`: process the present files, then end. Only the names of files are read here.

    Spark records the files of a batch before it begins the batch, so that a repeated batch has the same files.
    """
    from pyspark.sql import is_remote

    files = (
        spark.readStream.format("binaryFile")
        .schema(_FILE)
        .option("pathGlobFilter", _GLOB)
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", str(most))
        .load(as_it_is(segments))
        .select("path")
    )
    do = for_connect(lake, run_id) if is_remote() else functools.partial(do_batch, lake=lake, run_id=run_id)
    writer = (
        files.writeStream.foreachBatch(do)
        .option("checkpointLocation", f"{lake.rstrip('/')}/{CHECKPOINT}")
        .queryName("segments")
    )
    return (writer.trigger(availableNow=True) if once else writer.trigger(processingTime=every)).start()
