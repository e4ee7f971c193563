"""An audit skips searches that cannot find anything, and misses nothing because of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sdschat.audit.rules import DEFAULT, MAX_LAMPORT
from sdschat.audit.schemas import AuditFinding, AuditMissing, Copy, Event, Log, Presence
from tests.audit.oracle import consolidate, oracle
from tests.audit.worlds import drawn
from tests.needs import needs_module
from tests.pipeline.frames import frame, lake_of, plan_of, rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

needs_module("pyspark")
needs_module("pyarrow")

NOW = 10_000_000
BOTH = ("ann", "bob")


def copy(node: str, message_id: str = "a", lamport: int = NOW, **other: Any) -> Copy:
    plain = Copy("field", "lobby", node, message_id, lamport, "ann", (), "d", False, "live", lamport + 5, "log", None)
    return plain._replace(**other)


def both(message_id: str = "a", lamport: int = NOW, **other: Any) -> list[Copy]:
    return [copy(node, message_id, lamport, **other) for node in BOTH]


@pytest.mark.parametrize(
    ("sign", "copies"),
    [
        (None, both()),
        ("damaged", both(damage="altered")),
        ("early", both(received_ms=NOW - DEFAULT.max_skew - 1)),
        ("outside", both(lamport=MAX_LAMPORT + 1, received_ms=MAX_LAMPORT)),
        ("twice", both() + both("b")),
        ("dependencies", both(deps=("b",))),
        ("alone", [copy("ann")]),
        ("unlike", [copy("ann"), copy("bob", lamport=NOW + 1)]),
        ("unlike", [copy("ann"), copy("bob", sender="cleo")]),
        ("unlike", [copy("ann"), copy("bob", digest="other")]),
        (None, [copy("ann"), copy("bob", digest="")]),
    ],
)
def test_a_sign_is_seen_where_it_is_and_nowhere_else(spark: SparkSession, sign: str | None, copies: list[Copy]) -> None:
    from sdschat.pipeline.transforms.signs import signs

    held, log = frame(spark, Copy, copies), frame(spark, Log, consolidate(copies))
    found = signs(held, log, held, log, DEFAULT)._asdict()
    assert [name for name, there in found.items() if there] == [sign] * (sign is not None)


@pytest.mark.parametrize("seed", [49])
def test_a_group_of_which_little_is_wrong_is_judged_as_by_plain_python(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    from sdschat.pipeline import stages

    taken = drawn(seed)
    wanted = oracle(taken)
    lake = lake_of(spark, tmp_path, taken)
    stages.refine(lake, k=11)
    stages.consolidate(lake, 11)
    stages.audit(lake, k=11)
    assert rows(lake.read(AuditMissing), AuditMissing) == sorted(wanted.missing, key=repr)
    assert rows(lake.read(AuditFinding), AuditFinding) == sorted(wanted.findings, key=repr)


def test_where_all_is_well_no_copy_is_looked_at_for_findings(spark: SparkSession) -> None:
    from sdschat.audit.schemas import Declared, Node
    from sdschat.pipeline.lake import no_rows
    from sdschat.pipeline.transforms.audit import evidence
    from sdschat.pipeline.transforms.fingerprint import fingerprints
    from sdschat.pipeline.transforms.kept import keeping
    from sdschat.pipeline.transforms.silver import SilverTables

    copies = [*both(), *both("b", NOW + 1)]
    there = [Presence("field", "lobby", node, node, "log", 0, 0, 1, 10**9) for node in BOTH]
    held = frame(spark, Copy, copies)
    silver = SilverTables(
        no_rows(spark, Event),
        held,
        frame(spark, Presence, there),
        fingerprints(held),
        no_rows(spark, Node),
        no_rows(spark, Declared),
    )
    with keeping() as keep:
        found = evidence(silver, frame(spark, Log, consolidate(copies)), DEFAULT, keep)
        plan = plan_of(found.findings)
        assert found.findings.isEmpty()
    assert "Join" not in plan
    assert "Window" not in plan


def test_the_canonical_log_takes_one_look_at_the_copies(spark: SparkSession, tmp_path: Path) -> None:
    from sdschat.pipeline.transforms.consolidate import consolidate as canonical
    from sdschat.pipeline.transforms.kept import keeping

    frame(spark, Copy, both()).write.parquet(str(tmp_path / "copies"))
    copies = spark.read.parquet(str(tmp_path / "copies"))
    with keeping() as keep:
        kept = plan_of(canonical(copies, keep=keep))
    assert kept.count("InMemoryTableScan") == plan_of(canonical(copies)).count("FileScan") == 2


def test_silver_is_in_the_order_of_the_log(spark: SparkSession, tmp_path: Path) -> None:
    from sdschat.pipeline import stages

    lake = lake_of(spark, tmp_path, drawn(50))
    stages.refine(lake)
    files: dict[str, list[tuple[Any, ...]]] = {}
    for row in lake.read(Copy).select("*", "_metadata.file_path").collect():
        files.setdefault(row.file_path, []).append((row.run_id, row.channel, row.lamport, row.message_id, row.node))
    assert max(map(len, files.values())) > 10
    assert all(held == sorted(held) for held in files.values())
