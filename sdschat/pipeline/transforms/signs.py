"""Suspicions: one fast look at every row, by numbers alone.

Most kinds of faults occur in no log, and a search for them message by message costs more than this look.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.audit.rules import MAX_LAMPORT, Rules
from sdschat.pipeline.transforms.columns import CHANNEL, HELD, MESSAGE, VERSION


class Signs(NamedTuple):
    """The possible kinds of faults. False: there is none. True: there may be some."""

    damaged: bool  # an altered copy
    early: bool  # a copy received before its Lamport time
    outside: bool  # a Lamport time out of bounds
    twice: bool  # a Lamport time that a sender gave to two messages
    dependencies: bool
    alone: bool  # a message that only one node has
    unlike: bool  # a copy that differs from the canonical log


def signs(copies: DataFrame, log: DataFrame, near_copies: DataFrame, near_log: DataFrame, rules: Rules) -> Signs:
    """Copy, Log, and the same two of divergent buckets -> the possible kinds of faults."""
    times = log.groupBy(*CHANNEL, "sender", "lamport").agg(F.count("*").alias("n"), F.max(F.size("deps")).alias("deps"))
    looks = [
        copies.agg(_any(F.col("damage").isNotNull()).alias("damaged"), _any(is_early(rules)).alias("early")),
        times.agg(
            _any(is_outside()).alias("outside"),
            _any(F.col("n") > 1).alias("twice"),
            _any(F.col("deps") > 0).alias("dependencies"),
        ),
        near_log.agg(_any(F.col("copies") == 1).alias("alone")),
        beside(near_copies, near_log).agg(_any(functools.reduce(Column.__or__, unlike().values())).alias("unlike")),
    ]
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
    """Copy, Log -> the columns of Log, node, and the values of the copy: my_lamport and so on."""
    ours = copies.select(*HELD, *(F.col(name).alias(f"my_{name}") for name in VERSION))
    return ours.join(log, list(MESSAGE))


def unlike() -> dict[str, Column]:
    """Return for `beside` the conditions for a difference from the canonical log. A missing content does not count."""
    found = {name: F.col(f"my_{name}") != F.col(name) for name in VERSION}
    return found | {"digest": (F.col("my_digest") != "") & (F.col("digest") != "") & found["digest"]}


def _any(condition: Column) -> Column:
    return F.count_if(condition) > 0
