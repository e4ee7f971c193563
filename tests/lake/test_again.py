"""A second audit judges what new rows touched, and says what an audit of everything says."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import FIELD, AuditNode, Declared, Event, Journal, KnownRun, Message, Node, columns
from sdschat.audit.verdict import DEFAULT, Rules
from tests.audit.worlds import declared, drawn, event, everybody_has, message, taken
from tests.lake.bronze import bronze, stored
from tests.needs import needs_module

for module in ("pyarrow", "duckdb", "deltalake"):
    needs_module(module)

from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from sdschat.lake.tables import BUCKETS, KEPT_BY_AUDIT, Tables

Row = Journal | Message | Node | Declared | KnownRun
GROUPS = 8
ADDITIONS = 4


def judged(lake: Path, rules: Rules = DEFAULT) -> Collection[str]:
    """Audit the lake, and return the buckets of channels that were judged."""
    with open_duck(lake) as there:
        judge.refine(there, rules)
        judge.consolidate(there)
        judge.audit(there)
        assert there.has_verdict()
        return there.buckets


def verdict(lake: Path) -> dict[str, list[Any]]:
    """Return the rows of all tables that an audit writes."""
    found = {}
    with open_duck(lake) as there:
        for name, table in KEPT_BY_AUDIT.items():
            there.name(table, "kept")
            found[name] = sorted(there.rows(f"SELECT {', '.join(columns(table))} FROM kept"), key=repr)
    return found


def add(lake: Path, rows: Iterable[Row]) -> None:
    every = list(rows)
    bronze(lake, taken(*(row for row in every if not isinstance(row, KnownRun))))
    if runs := [row for row in every if isinstance(row, KnownRun)]:
        Tables(str(lake)).append(KnownRun, stored(KnownRun, runs))


def group(seed: int) -> Iterator[Row]:
    """Yield the rows of a group in three channels. Nodes were started twice, and some give a number to two events."""
    chance, found = random.Random(seed), drawn(seed)
    of: dict[str, str] = {}
    every: list[Journal | Message | Declared] = [*found.journal, *found.messages, *found.declared]
    for row in every:
        channel = of.setdefault(row.message_id or "", chance.choice(("lobby", "yard", "attic")))
        if isinstance(row, Journal):
            if row.message_id is None:
                channel = chance.choice(("", "lobby", "yard", "attic"))
            begun = row._replace(channel=channel, boot=f"boot-{row.ts_ms // 6_000}")
            if chance.random() < 0.02:
                yield begun._replace(channel="attic", ts_ms=row.ts_ms + chance.choice((-7_000, 1, 9)))
            yield begun
        else:
            yield row._replace(channel=channel)
    for each in found.nodes:
        yield from (each._replace(channel=channel) for channel in ("lobby", "yard"))
    for name in {each.node for each in found.nodes if chance.random() < 0.2}:
        for digest, runs in (("one", "ab"), ("two", "bc")):
            yield from (KnownRun(f"seed-{seed}", name, digest, run, f"{digest}.db") for run in runs)


def additions() -> list[list[Row]]:
    """Return the rows of all groups in random parts, of which each touches some of the channels."""
    chance = random.Random(1)
    found: list[list[Row]] = [[] for _ in range(ADDITIONS)]
    for seed in range(GROUPS):
        order = {channel: chance.randrange(ADDITIONS) for channel in ("", "lobby", "yard", "attic")}
        for row in group(seed):
            at = order.get(getattr(row, "channel", ""), 0)
            found[chance.randrange(ADDITIONS) if chance.random() < 0.03 else at].append(row)
    return found


def test_after_each_addition_the_verdict_is_that_of_an_audit_of_everything(tmp_path: Path) -> None:
    so_far: list[Row] = []
    judged_buckets = []
    for number, rows in enumerate(additions()):
        so_far += rows
        add(tmp_path / "lake", rows)
        judged_buckets.append(len(judged(tmp_path / "lake")))
        add(tmp_path / f"whole {number}", so_far)
        assert len(judged(tmp_path / f"whole {number}")) == len(BUCKETS)
        found, wanted = verdict(tmp_path / "lake"), verdict(tmp_path / f"whole {number}")
        for name in wanted:
            assert found[name] == wanted[name], f"{name} after addition {number}"
    assert all(0 < each < len(BUCKETS) for each in judged_buckets[1:]), judged_buckets


def two_channels() -> list[Row]:
    rows = everybody_has(("ann", "bob"), (("a", 5), ("b", 6)))
    return [row._replace(channel=channel) for channel in ("lobby", "yard") for row in rows]


def test_only_the_channel_with_new_rows_is_judged_again(tmp_path: Path) -> None:
    add(tmp_path, two_channels())
    assert len(judged(tmp_path)) == len(BUCKETS)
    assert judged(tmp_path) == set()
    add(tmp_path, [message("ann", "c", 7, channel="yard"), event("ann", 9, "sync_received", 10**6, channel="yard")])
    assert len(judged(tmp_path)) == 1
    assert [(row[1], row[2], row[4]) for row in verdict(tmp_path)["audit_node"]] == [
        ("lobby", "ann", 2),
        ("lobby", "bob", 2),
        ("yard", "ann", 3),
        ("yard", "bob", 2),
    ]


@pytest.mark.parametrize("rules", [DEFAULT._replace(settle=1), DEFAULT._replace(max_skew=1)])
def test_by_other_rules_everything_is_judged_again(tmp_path: Path, rules: Rules) -> None:
    add(tmp_path, two_channels())
    judged(tmp_path)
    assert len(judged(tmp_path, rules)) == len(BUCKETS)


def test_after_another_one_wrote_into_a_verdict_everything_is_judged_again(tmp_path: Path) -> None:
    add(tmp_path, two_channels())
    judged(tmp_path)
    with open_duck(tmp_path) as there:
        there.name(AuditNode, "nodes")
        there.keep_answer(AuditNode, "audit_node", "SELECT * FROM nodes")
        assert not there.has_verdict()
    assert len(judged(tmp_path)) == len(BUCKETS)


def test_a_damaged_file_of_silver_is_named_and_made_anew_by_the_next_audit(tmp_path: Path) -> None:
    add(tmp_path, [*two_channels(), event("ann", 1, "sync_received", 10**6)])
    judged(tmp_path)
    for file in Tables(str(tmp_path)).files(Event):
        Path(file).write_bytes(b"PAR1 is not all there")
    add(tmp_path, [event("ann", 2, "sync_received", 10**6, channel="yard")])
    with pytest.raises(PipelineProblem, match="cannot read or write the lake"):
        judged(tmp_path)
    assert len(judged(tmp_path)) == len(BUCKETS)


def test_a_database_that_went_another_way_is_a_fault_in_all_channels_of_its_node(tmp_path: Path) -> None:
    add(tmp_path, two_channels())
    judged(tmp_path)
    runs = [KnownRun(FIELD, "ann", "one", "x", "one.db"), KnownRun(FIELD, "ann", "two", "y", "two.db")]
    add(tmp_path, runs)
    judged(tmp_path)
    assert {(row[1], row[2]) for row in verdict(tmp_path)["audit_finding"] if row[3] == "apart"} == {
        ("lobby", "ann"),
        ("yard", "ann"),
    }


def told(seq: int, at: int, channel: str, what: str = "sync_received", boot: str = "boot-1") -> Journal:
    return event("cleo", seq, what, at, "a", channel=channel, sender="ann", lamport=at, boot=boot)


@pytest.mark.parametrize(
    "earlier", [told(1, 4, "yard"), told(1, 4, "yard", boot="boot-0")], ids=["same run", "another"]
)
def test_a_node_whose_journal_begins_earlier_than_it_did_is_judged_in_all_channels(
    tmp_path: Path, earlier: Journal
) -> None:
    """A node without a database is owed what its journal still has from its first number on."""
    rows = [*two_channels(), told(5, 9_000_000, "lobby", "delivered"), told(6, 9_000_001, "yard")]
    add(tmp_path / "lake", rows)
    judged(tmp_path / "lake")
    add(tmp_path / "lake", [earlier])
    judged(tmp_path / "lake")
    add(tmp_path / "whole", [*rows, earlier])
    judged(tmp_path / "whole")
    assert verdict(tmp_path / "lake") == verdict(tmp_path / "whole")


def test_what_a_node_says_to_lack_is_looked_at_again_by_itself(tmp_path: Path) -> None:
    add(tmp_path, two_channels())
    judged(tmp_path)
    add(tmp_path, [declared("ann", "c", "lost", channel="yard")])
    assert len(judged(tmp_path)) == 1
    assert [row[1:4] for row in verdict(tmp_path)["audit_finding"]] == [("yard", "ann", "gap")]
