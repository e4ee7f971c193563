"""What could be wrong at all: one look at every row, by numbers alone. Most of what is looked for message by message is
in no log, and looking for it costs more than knowing that."""

from __future__ import annotations

import functools
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.pipeline.rules import MAX_LAMPORT, Rules
from sdschat.pipeline.transforms.columns import CHANNEL, HELD, MESSAGE, VERSION


class Signs(NamedTuple):
    """False: there is none. True: there may be some."""

    damaged: bool  # a copy that is not as it was written
    early: bool  # a copy that came before its time
    outside: bool  # a Lamport time out of bounds
    twice: bool  # a time that a sender gave to two messages
    dependencies: bool
    alone: bool  # a message that one node alone has
    unlike: bool  # a copy that is not as the canonical log has it


def signs(copies: DataFrame, log: DataFrame, near_copies: DataFrame, near_log: DataFrame, rules: Rules) -> Signs:
    """Copy, Log; the same of divergent buckets."""
    times = log.groupBy(*CHANNEL, "sender", "lamport").agg(F.count("*").alias("n"), F.max(F.size("deps")).alias("deps"))
    looks = [
        copies.agg(_any(F.col("damage").isNotNull()).alias("damaged"), _any(is_early(rules)).alias("early")),
        times.agg(
            _any(is_outside()).alias("outside"), _any(F.col("n") > 1).alias("twice"),
            _any(F.col("deps") > 0).alias("dependencies"),
        ),
        near_log.agg(_any(F.col("copies") == 1).alias("alone")),
        beside(near_copies, near_log).agg(_any(functools.reduce(Column.__or__, unlike().values())).alias("unlike")),
    ]  # fmt: skip
    every = looks[0]
    for each in looks[1:]:
        every = every.unionByName(each, allowMissingColumns=True)
    row = every.agg(*(F.max(name).alias(name) for name in Signs._fields)).collect()[0]
    return Signs(*(bool(row[name]) for name in Signs._fields))


def is_early(rules: Rules) -> Column:
    return ~F.col("own") & F.col("damage").isNull() & (F.col("lamport") > F.col("received_ms") + rules.max_skew)


def is_outside() -> Column:
    return (F.col("lamport") <= 0) | (F.col("lamport") > MAX_LAMPORT)


def beside(copies: DataFrame, log: DataFrame) -> DataFrame:
    """Copy, Log -> the columns of Log, node, and what the copy says instead: my_lamport and so on."""
    ours = copies.select(*HELD, *(F.col(name).alias(f"my_{name}") for name in VERSION))
    return ours.join(log, list(MESSAGE))


def unlike() -> dict[str, Column]:
    """Of `beside`: in what a copy is not as the canonical log has it. That one has no content is no difference."""
    found = {name: F.col(f"my_{name}") != F.col(name) for name in VERSION}
    return found | {"digest": (F.col("my_digest") != "") & (F.col("digest") != "") & found["digest"]}


def _any(condition: Column) -> Column:
    return F.count_if(condition) > 0
