"""The verdict by node and channel; the same as `sdschat.pipeline.reference.audit`."""

from __future__ import annotations

import functools
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit import rules as words
from sdschat.audit.rules import Rules
from sdschat.audit.schemas import FAULTS, AuditChannel, AuditJournal, AuditNode
from sdschat.pipeline.transforms import findings as look
from sdschat.pipeline.transforms.columns import CHANNEL, HELD, MEMBER, VERSION, table
from sdschat.pipeline.transforms.conform import BOOT
from sdschat.pipeline.transforms.consolidate import K
from sdschat.pipeline.transforms.fingerprint import divergent, in_buckets
from sdschat.pipeline.transforms.kept import Keep
from sdschat.pipeline.transforms.missing import ended, extras, lacking, last_held, missing, shown
from sdschat.pipeline.transforms.signs import Signs, signs
from sdschat.pipeline.transforms.silver import SilverTables


class Suspects(NamedTuple):
    """The rows in which nodes may differ, as far as fingerprints show."""

    copies: DataFrame  # Copy, the columns that all copies must have equal
    log: DataFrame  # Log


class AuditEvidence(NamedTuple):
    missing: DataFrame  # AuditMissing
    findings: DataFrame  # AuditFinding


def suspects(silver: SilverTables, log: DataFrame, keep: Keep, k: int = K) -> Suspects:
    """Return the rows in which nodes may differ. Asks Spark for the first and last time of the differences.

    Silver and the log are in the order of time, so Spark then skips most of what it would read.
    """
    buckets = keep(divergent(silver.fingerprints, silver.presences))
    first, last = buckets.agg(F.min("bucket"), F.max("bucket")).collect()[0]
    alike = silver.copies.select(*HELD, *VERSION, "damage")
    if first is None:
        return Suspects(alike.where(F.lit(False)), log.where(F.lit(False)))
    near = F.col("lamport").between(first << k, (last + 1 << k) - 1)
    return Suspects(keep(in_buckets(alike.where(near), buckets, k)), keep(in_buckets(log.where(near), buckets, k)))


def evidence(silver: SilverTables, log: DataFrame, rules: Rules, keep: Keep, k: int = K) -> AuditEvidence:
    """Return all faults. Only suspicious parts are compared message by message."""
    near = suspects(silver, log, keep, k)
    seen = signs(silver.copies, log, near.copies, near.log, rules)
    told = shown(silver.events)
    extra = extras(near.log, near.copies, silver.presences, told, rules) if seen.alone else None
    lack = keep(lacking(near.log, near.copies, silver.presences, extra))
    late = keep(lack.where(ended(rules)).select(*MEMBER).distinct())
    newest = None if late.isEmpty() else last_held(silver.copies, silver.fingerprints, late, k)
    return AuditEvidence(
        missing(lack, newest, silver.declared, told, rules), _findings(silver, log, near, seen, extra, rules)
    )


def _findings(
    silver: SilverTables, log: DataFrame, near: Suspects, seen: Signs, extra: DataFrame | None, rules: Rules
) -> DataFrame:
    found = [look.counts(silver.nodes), look.gaps(silver.declared, log)]
    if seen.damaged:
        found.append(look.altered(silver.copies, log))
    if seen.unlike:
        found += [look.contents(near.copies, log), look.orders(near.copies, silver.copies, log)]
    if seen.dependencies:
        found += [look.causes(silver.events, log, silver.presences), look.late(log)]
    if seen.outside:
        found.append(look.outside(log))
    if seen.twice:
        found.append(look.twice(log))
    if seen.early:
        found.append(look.early(silver.copies, log, rules))
    if extra is not None:
        found.append(look.extra_findings(extra))
    return functools.reduce(DataFrame.unionByName, found)


def audit_nodes(silver: SilverTables, lacking: DataFrame, found: DataFrame) -> DataFrame:
    """Silver, AuditMissing, AuditFinding -> AuditNode."""
    held = silver.fingerprints.groupBy(*MEMBER).agg(F.sum("n").alias("messages"))
    reasons = lacking.groupBy(*MEMBER).agg(
        F.count_if(F.col("reason") == words.LOST).alias("missing"),
        F.count_if(F.col("reason") == words.LAGGING).alias("lagging"),
        F.count_if(F.col("reason").isin(words.JOINED_LATER, words.RETENTION)).alias("excused"),
        F.min(F.when(F.col("reason") == words.LOST, F.struct("position", "lamport", "message_id"))).alias("first_lost"),
    )
    bad = found.where(F.col("kind").isin(*FAULTS))
    place = F.when(F.col("position").isNotNull(), F.struct("position", "lamport", "message_id"))
    faults = bad.groupBy(*MEMBER).agg(
        F.count("*").alias("faults"),
        F.count_if(F.col("kind") == "extra").alias("extra"),
        F.min(place).alias("first_fault"),
    )
    joined = silver.presences
    for each in (held, reasons, faults):
        joined = joined.join(each, list(MEMBER), "left")
    joined = joined.na.fill(0, ["messages", "missing", "lagging", "excused", "faults", "extra"])
    first = F.least("first_lost", "first_fault")
    whole = joined.withColumns(
        {
            "owed": F.col("messages") - F.col("extra") + F.col("missing"),
            "first": first,
            "agrees": (F.col("missing") == 0) & (F.col("faults") == 0),
        }
    ).withColumns({f"first_{name}": F.col(f"first.{field}") for name, field in _FIRST.items()})
    return table(whole, AuditNode)


_FIRST = {"position": "position", "lamport": "lamport", "id": "message_id"}


def audit_channels(nodes: DataFrame, log: DataFrame, lacking: DataFrame, found: DataFrame) -> DataFrame:
    """AuditNode, Log, AuditMissing, AuditFinding -> AuditChannel."""
    ends = log.groupBy(*CHANNEL).agg(
        F.count("*").alias("messages"), F.max_by(F.struct("lamport", "running"), F.col("position")).alias("end")
    )
    members = nodes.groupBy(*CHANNEL).agg(F.count("*").alias("nodes"))
    reasons = lacking.groupBy(*CHANNEL).agg(
        F.count_if(F.col("reason") == words.LOST).alias("missing"),
        F.count_if(F.col("reason") != words.LOST).alias("excused"),
    )
    faults = found.where(F.col("kind").isin(*FAULTS)).groupBy(*CHANNEL).agg(F.count("*").alias("faults"))
    joined = members.join(ends, list(CHANNEL), "full")
    for each in (reasons, faults):
        joined = joined.join(each, list(CHANNEL), "left")
    joined = joined.na.fill(0, ["nodes", "messages", "missing", "excused", "faults"])
    whole = joined.withColumns(
        {
            "converged": (F.col("missing") == 0) & (F.col("faults") == 0),
            "checked_to": F.coalesce("end.lamport", F.lit(0).cast("long")),
            "running": F.coalesce("end.running", F.lit("0" * 32)),
        }
    )
    return table(whole, AuditChannel)


def audit_journals(events: DataFrame) -> DataFrame:
    """Event -> AuditJournal."""
    found = events.groupBy(*BOOT).agg(
        F.min("seq").alias("first_seq"),
        F.max("seq").alias("last_seq"),
        F.count("*").alias("rows"),
        F.min("ts_ms").alias("first_ms"),
        F.max("ts_ms").alias("last_ms"),
    )
    return table(found.withColumn("lost", F.col("last_seq") - F.col("first_seq") + 1 - F.col("rows")), AuditJournal)
