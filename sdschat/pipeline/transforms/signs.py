"""What could be wrong at all: one look at every row, by numbers alone. Most of what is looked for message by message is
in no log, and looking for it costs more than knowing that."""

from __future__ import annotations

import functools
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.pipeline.rules import MAX_LAMPORT, Rules
from sdschat.pipeline.transforms.columns import CHANNEL, MESSAGE


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
    canonical = near_log.select(*MESSAGE, *(F.col(name).alias(f"their_{name}") for name in _VERSION))
    compared = near_copies.join(canonical, list(MESSAGE))
    looks = [
        copies.agg(_any(F.col("damage").isNotNull()).alias("damaged"), _any(is_early(rules)).alias("early")),
        times.agg(
            _any(is_outside()).alias("outside"), _any(F.col("n") > 1).alias("twice"),
            _any(F.col("deps") > 0).alias("dependencies"),
        ),
        near_log.agg(_any(F.col("copies") == 1).alias("alone")),
        compared.agg(_any(_unlike()).alias("unlike")),
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


_VERSION = ("lamport", "sender", "deps", "digest")


def _unlike() -> Column:
    known = (F.col("digest") != "") & (F.col("their_digest") != "")
    content = known & (F.col("digest") != F.col("their_digest"))
    others = (F.col(name) != F.col(f"their_{name}") for name in ("lamport", "sender", "deps"))
    return functools.reduce(Column.__or__, others, content)


def _any(condition: Column) -> Column:
    return F.count_if(condition) > 0
