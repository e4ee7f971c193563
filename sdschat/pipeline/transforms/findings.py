"""All other findings; the same as `sdschat.pipeline.reference.findings`. Each function returns AuditFinding."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from sdschat.audit.rules import Rules
from sdschat.audit.schemas import FAULTS, AuditFinding
from sdschat.pipeline.transforms.columns import CHANNEL, DELIVERED, HELD, MEMBER, MESSAGE, at, table, text
from sdschat.pipeline.transforms.signs import beside, is_early, is_outside, unlike


def finding(rows: DataFrame, kind: str, detail: Column | str, other: Column | None = None) -> DataFrame:
    """Rows with run_id, channel, node, position, lamport, message_id -> AuditFinding."""
    said = detail if isinstance(detail, Column) else F.lit(detail)
    named = rows.withColumns({"kind": F.lit(kind), "detail": said, "other": text(None) if other is None else other})
    return table(named, AuditFinding)


def altered(copies: DataFrame, log: DataFrame) -> DataFrame:
    """Copy, Log -> damaged copies."""
    rows = copies.where(F.col("damage").isNotNull()).select(*HELD, "damage")
    return finding(rows.join(log, list(MESSAGE)), "altered", F.col("damage"))


def contents(copies: DataFrame, log: DataFrame) -> DataFrame:
    """Copy (of divergent buckets), Log -> ids with two contents."""
    words = {
        "lamport": F.format_string("Lamport time %d, elsewhere %d", "my_lamport", "lamport"),
        "sender": F.format_string("sender %s, elsewhere %s", "my_sender", "sender"),
        "deps": F.lit("other dependencies than elsewhere"),
        "digest": F.lit("another content than elsewhere"),
    }
    differs = unlike()
    detail = F.concat_ws("; ", *(F.when(differs[name], said) for name, said in words.items()))
    rows = beside(copies.where(F.col("damage").isNull()), log).withColumn("said", detail).where(F.col("said") != "")
    return finding(rows, "content", F.col("said"))


def orders(suspects: DataFrame, copies: DataFrame, log: DataFrame) -> DataFrame:
    """Copy (of divergent buckets), Copy, Log -> the first message of each log in a wrong position."""
    canonical = log.select(*MESSAGE, "position", F.col("lamport").alias("at"))
    odd = suspects.join(canonical, list(MESSAGE)).where(F.col("lamport") != F.col("at"))
    logs = copies.join(F.broadcast(odd.select(*MEMBER).distinct()), list(MEMBER), "left_semi").select(*HELD, "lamport")
    ranked = logs.join(canonical, list(MESSAGE)).select(
        *MEMBER,
        "message_id",
        "position",
        "at",
        F.row_number().over(Window.partitionBy(*MEMBER).orderBy("lamport", "message_id")).alias("mine"),
        F.row_number().over(Window.partitionBy(*MEMBER).orderBy("at", "message_id")).alias("theirs"),
    )
    ours = ranked.select(*MEMBER, F.col("mine").alias("rank"), "message_id")
    theirs = ranked.select(
        *MEMBER,
        F.col("theirs").alias("rank"),
        F.col("message_id").alias("there"),
        "position",
        F.col("at").alias("lamport"),
    )
    differing = ours.join(theirs, [*MEMBER, "rank"]).where(F.col("message_id") != F.col("there"))
    what = F.struct("message_id", "there", "position", "lamport")
    first = differing.groupBy(*MEMBER).agg(F.min_by(what, F.col("rank")).alias("first")).select(*MEMBER, "first.*")
    return finding(first, "order", "another message stands here", F.col("there"))


def counts(nodes: DataFrame) -> DataFrame:
    """Node (latest) -> logs whose recorded count or fingerprint is wrong."""
    same = (F.col("claimed") == F.col("counted")) & (F.col("claimed_fingerprint") == F.col("counted_fingerprint"))
    claimed = F.format_string("%d %s", "claimed", F.when(F.col("claimed") == 1, "message").otherwise("messages"))
    counted = F.format_string("%d %s there", "counted", F.when(F.col("counted") == 1, "is").otherwise("are"))
    detail = F.when(
        F.col("claimed") == F.col("counted"),
        F.concat(claimed, F.lit(", as its own count says, but not the same")),
    ).otherwise(F.concat(F.lit("its own count says "), claimed, F.lit(", "), counted))
    nowhere = {name: F.lit(None).cast("long") for name in ("position", "lamport")} | {"message_id": text(None)}
    return finding(nodes.where(~same).withColumns(nowhere), "count", detail)


def gaps(declared: DataFrame, log: DataFrame) -> DataFrame:
    """Declared, Log -> messages that a node declares lost."""
    known = log.select(*MESSAGE, "position", "lamport")
    rows = declared.where(F.col("kind") == "lost").join(known, list(MESSAGE), "left")
    there = F.when(F.col("position").isNull(), "given up; nobody here has it").otherwise("given up; others have it")
    return finding(rows, "gap", there)


def causes(events: DataFrame, log: DataFrame, presences: DataFrame) -> DataFrame:
    """Event, Log, Presence -> messages shown before one of their dependencies, without a declared gap."""
    delivered = events.where((F.col("event") == DELIVERED) & F.col("message_id").isNotNull())
    first = delivered.groupBy(*HELD).agg(F.min(at()).alias("at"))
    lost = events.where(F.col("event") == "lost")
    given_up = lost.select(*MEMBER, at().alias("at"), F.explode("deps").alias("dependency"))
    excused = given_up.groupBy(*MEMBER, "dependency").agg(F.min("at").alias("excused_at"))
    closed = events.where(F.col("event") == "gap_closed").select(*MEMBER, F.col("message_id").alias("dependency"))
    needs = with_dependencies(log).join(first, list(MESSAGE))
    then = first.withColumnRenamed("message_id", "dependency").withColumnRenamed("at", "then")
    wrong = needs.join(then, [*MEMBER, "dependency"]).where(F.col("then") > F.col("at"))
    owed = wrong.join(F.broadcast(presences.select(*MEMBER, "horizon")), list(MEMBER)).where(
        F.col("dependency_lamport") >= F.col("horizon")
    )
    unsaid = (
        owed.join(excused, [*MEMBER, "dependency"], "left")
        .where(F.col("excused_at").isNull() | (F.col("excused_at") > F.col("at")))
        .join(closed.distinct(), [*MEMBER, "dependency"], "left_anti")
    )
    return finding(unsaid, "causal", "shown before what it depends on", F.col("dependency"))


def with_dependencies(log: DataFrame) -> DataFrame:
    """Log -> one row for each dependency that is in the log too, with dependency and dependency_lamport."""
    named = log.select(*MESSAGE, "position", "lamport", "sender", F.explode("deps").alias("dependency"))
    known = log.select(*CHANNEL, F.col("message_id").alias("dependency"), F.col("lamport").alias("dependency_lamport"))
    return named.join(known, [*CHANNEL, "dependency"])


def outside(log: DataFrame) -> DataFrame:
    """Log -> messages with a Lamport time out of bounds."""
    rows = log.withColumn("node", F.col("sender")).where(is_outside())
    return finding(rows, "clock", "its Lamport time is out of bounds")


def late(log: DataFrame) -> DataFrame:
    """Log -> messages whose Lamport time is not after that of a dependency."""
    rows = with_dependencies(log).withColumn("node", F.col("sender"))
    undated = rows.where(F.col("dependency_lamport") >= F.col("lamport"))
    return finding(undated, "clock", "not dated after what it depends on", F.col("dependency"))


def twice(log: DataFrame) -> DataFrame:
    """Log -> messages of a sender that share their Lamport time with another of its messages."""
    time = Window.partitionBy(*CHANNEL, "sender", "lamport")
    rows = log.withColumn("node", F.col("sender")).withColumn("first", F.min("message_id").over(time))
    others = rows.where(F.col("first") != F.col("message_id"))
    return finding(others, "clock", "its sender gave this time to another message too", F.col("first"))


def early(copies: DataFrame, log: DataFrame, rules: Rules) -> DataFrame:
    """Copy, Log -> copies received before their Lamport time."""
    places = log.select(*MESSAGE, "position", "lamport")
    rows = copies.where(is_early(rules)).select(*HELD).join(places, list(MESSAGE))
    return finding(rows, "clock", "taken before its time")


def extra_findings(extra: DataFrame) -> DataFrame:
    """`missing.extras` -> the findings for these messages."""
    return finding(extra, "extra", FAULTS["extra"])
