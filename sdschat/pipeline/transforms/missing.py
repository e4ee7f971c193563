"""Missing messages; the same as `sdschat.pipeline.reference.missing`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.audit import rules as words
from sdschat.audit.rules import Rules
from sdschat.audit.schemas import AuditMissing
from sdschat.pipeline.transforms.columns import CHANNEL, DELIVERED, HELD, MEMBER, MESSAGE, bucket, table


def shown(events: DataFrame) -> DataFrame:
    """Event -> run_id, channel, node, message_id: the messages delivered at each node."""
    told = events.where((F.col("event") == DELIVERED) & F.col("message_id").isNotNull())
    return told.select(*HELD).distinct()


def extras(log: DataFrame, copies: DataFrame, presences: DataFrame, told: DataFrame, rules: Rules) -> DataFrame:
    """Log, Copy (both of divergent buckets), Presence, `shown` -> the columns of Log, and node.

    These are the messages that only one node has and their own sender does not know, if the sender is in the audit and
    was seen for long enough.
    """
    alone = log.where(F.col("copies") == 1).join(copies.select(*HELD), list(MESSAGE))
    senders = presences.select(
        *CHANNEL,
        F.col("node").alias("sender"),
        F.greatest("horizon", "retained_from").alias("owes_from"),
        F.col("last_ms").alias("seen_until"),
    )
    here = alone.join(F.broadcast(senders), [*CHANNEL, "sender"]).where(
        (F.col("sender") != F.col("node")) & (F.col("lamport") >= F.col("owes_from")) & ~_ended_before(rules)
    )
    said = told.withColumnRenamed("node", "sender")
    return here.join(said, [*MESSAGE, "sender"], "left_anti").drop("owes_from", "seen_until")


def last_held(copies: DataFrame, prints: DataFrame, members: DataFrame, k: int) -> DataFrame:
    """Copy, Fingerprint -> run_id, channel, node, newest: the key of the last message in the logs of these members.

    The fingerprints give the bucket of that message, so that only this bucket is read and sorted by id.
    """
    of_these = prints.join(F.broadcast(members), list(MEMBER), "left_semi")
    last = of_these.groupBy(*MEMBER).agg(F.max("bucket").alias("last"))
    (earliest,) = last.agg(F.min("last")).collect()[0]
    late = copies.where(F.col("lamport") >= F.lit((earliest or 0) << k))
    rows = late.select(*HELD, "lamport").join(F.broadcast(last), list(MEMBER))
    ends = rows.where(bucket(F.col("lamport"), k) == F.col("last"))
    return ends.groupBy(*MEMBER).agg(F.max(F.struct("lamport", "message_id")).alias("newest"))


def lacking(log: DataFrame, copies: DataFrame, presences: DataFrame, extra: DataFrame | None) -> DataFrame:
    """Log, Copy (both of divergent buckets), Presence, `extras` if there may be any -> the columns of Log and the node.

    One row for each message that a node lacks.
    """
    owed = log if extra is None else log.join(extra.select(*MESSAGE), list(MESSAGE), "left_anti")
    members = presences.select(*MEMBER, "origin", "horizon", "retained_from", F.col("last_ms").alias("seen_until"))
    pairs = owed.drop("deps", "digest", "running").join(F.broadcast(members), list(CHANNEL))
    return pairs.join(copies.select(*HELD), list(HELD), "left_anti")


def _ended_before(rules: Rules) -> Column:
    """Return the condition that our copy of the node's log ends before the message was written.

    That is judged by the sender's clock, because a Lamport time is never behind it, and by when others received the
    message.
    """
    return (F.col("seen_until") < F.col("lamport")) & ended(rules)


def ended(rules: Rules) -> Column:
    """Return the condition for `lacking` that the node was not seen for long enough after the message."""
    return F.col("seen_until") < F.col("first_ms") + rules.settle


def missing(lack: DataFrame, newest: DataFrame | None, declared: DataFrame, told: DataFrame, rules: Rules) -> DataFrame:
    """`lacking`, `last_held` of members that ended early (if any did), Declared, `shown` -> AuditMissing."""
    says = declared.groupBy(*HELD).agg(F.collect_set("kind").alias("says"))
    ends = lack.withColumn("behind", F.lit(False))
    if newest is not None:
        later = F.struct("lamport", "message_id") > F.col("newest")
        ends = lack.join(F.broadcast(newest), list(MEMBER), "left").withColumn(
            "behind", F.col("newest").isNull() | later
        )
    known = (
        ends.join(says, list(HELD), "left")
        .join(told.withColumn("was_shown", F.lit(True)), list(HELD), "left")
        .withColumn("why", _why(rules))
        .withColumn("reason", F.col("why.reason"))
        .withColumn("detail", F.col("why.detail"))
    )
    return table(known, AuditMissing)


def _why(rules: Rules) -> Column:
    says = F.coalesce("says", F.array().cast("array<string>"))
    return (
        F.when((F.col("origin") == "log") & F.col("was_shown"), _is(words.LOST, words.WAS_SHOWN))
        .when(
            F.array_contains(says, "before_join") | (F.col("lamport") < F.col("horizon")),
            _is(words.JOINED_LATER, words.BEFORE),
        )
        .when(F.col("lamport") < F.col("retained_from"), _is(words.RETENTION, words.CUT))
        .when(
            (F.col("sender") == F.col("node")) & ~(F.col("behind") & _ended_before(rules)), _is(words.LOST, words.OWN)
        )
        .when(F.array_contains(says, "lost"), _is(words.LOST, words.GIVEN_UP))
        .when(F.col("behind") & ended(rules), _is(words.LAGGING, words.ENDED))
        .when(F.array_contains(says, "missing"), _is(words.LOST, words.LOOKED_FOR))
        .when(F.array_contains(says, "held"), _is(words.LOST, words.WAITING))
        .otherwise(_is(words.LOST, words.UNHEARD))
    )


def _is(reason: str, detail: str) -> Column:
    return F.struct(F.lit(reason).alias("reason"), F.lit(detail).alias("detail"))
