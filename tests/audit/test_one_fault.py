"""The audit's verdict on logs with exactly one fault."""

from __future__ import annotations

from sdschat.audit.node_evidence import conform
from sdschat.audit.schemas import Message
from sdschat.audit.sources.databases import Row
from sdschat.audit.verdict import (
    AHEAD,
    DEFAULT,
    JOINED_LATER,
    LAGGING,
    LOST,
    RETENTION,
    TAKEN_ALONG,
    Audit,
    Lacking,
    node_words,
)
from tests.audit.golden import answer
from tests.audit.worlds import declared, event, everybody_has, message, node, seen_until, taken

LONG = 10_000_000  # a time long after everything else
IDS = [("m1", 1_000), ("m2", 2_000), ("m3", 3_000)]


def audited(*rows: Row, names: tuple[str, ...] = ("ann", "bob")) -> Audit:
    return answer(taken(*rows, *(seen_until(name, LONG, 1_000) for name in names)))  # type: ignore[arg-type]


def kinds(found: Audit) -> list[tuple[str, str, str | None]]:
    return [(row.node, row.kind, row.message_id) for row in found.findings]


def lacks(found: Audit) -> list[tuple[str, str, str]]:
    return [(row.node, row.message_id, row.reason) for row in found.missing]


def without(rows: list[Row], name: str, message_id: str) -> list[Row]:
    return [row for row in rows if (row.node, getattr(row, "message_id", "")) != (name, message_id)]


def all_have(*names: str) -> list[Row]:
    return list(everybody_has(names or ("ann", "bob"), IDS))


def test_equal_logs_agree() -> None:
    found = audited(*all_have())
    assert found.agreed
    assert (found.missing, found.findings) == ([], [])
    assert [(row.node, row.messages, row.owed) for row in found.nodes] == [("ann", 3, 3), ("bob", 3, 3)]


def test_a_hole_is_lost_with_node_message_and_place() -> None:
    found = audited(*without(all_have(), "bob", "m2"))
    assert not found.agreed
    (row,) = found.missing
    assert (row.node, row.message_id, row.position, row.lamport, row.reason) == ("bob", "m2", 2, 2_000, LOST)
    assert [(row.node, row.first_position, row.first_id) for row in found.nodes if not row.agrees] == [("bob", 2, "m2")]


def test_the_end_of_a_log_is_lost_where_the_node_was_seen_long_after() -> None:
    assert lacks(audited(*without(all_have(), "bob", "m3"))) == [("bob", "m3", LOST)]


def test_the_end_of_a_log_lags_where_the_node_was_not_seen_for_long_enough() -> None:
    rows = without(all_have(), "bob", "m3")
    found = audited(*rows, seen_until("bob", 3_000 + DEFAULT.settle - 1), names=("ann",))
    assert lacks(found) == [("bob", "m3", LAGGING)]
    assert found.agreed


def test_a_message_that_is_kept_as_an_id_alone_has_no_other_dependencies() -> None:
    rows = without(all_have(), "bob", "m3")
    own, other = (message(name, "m3", 3_000, deps=("m2",)) for name in ("ann", "bob"))
    rows = [*without(rows, "ann", "m3"), own, other._replace(deps=(), digest="", raw=None)]
    assert audited(*rows).agreed


def test_a_hole_lags_where_the_node_was_not_seen_for_long_enough() -> None:
    found = audited(*without(all_have(), "bob", "m2"), names=("ann",))
    assert lacks(found) == [("bob", "m2", LAGGING)]


def test_a_hole_never_lags_that_the_log_goes_on_from() -> None:
    rows = [row for row in all_have() if getattr(row, "message_id", "") != "m3"]
    rows += [message(name, "m3", 3_000, deps=("m2",)) for name in ("ann", "bob")]
    found = audited(*without(rows, "bob", "m2"), names=("ann",))
    assert lacks(found) == [("bob", "m2", LOST)]


def test_a_node_that_ended_on_a_clock_that_is_ahead_lags() -> None:
    ahead = DEFAULT.max_skew // 2
    rows = [
        row._replace(received_ms=row.received_ms + ahead) if isinstance(row, Message) and row.node == "bob" else row
        for row in without(all_have(), "bob", "m3")
    ]
    found = audited(*rows, seen_until("bob", 2_000 + ahead), names=("ann",))
    assert lacks(found) == [("bob", "m3", LAGGING)]


def test_what_an_author_took_along_is_no_fault_of_others() -> None:
    rows = without(without(all_have("ann", "bob", "cleo"), "bob", "m3"), "cleo", "m3")
    ended = seen_until("ann", 3_000 + DEFAULT.settle - 1)
    found = audited(*rows, ended, names=("bob", "cleo"))
    assert lacks(found) == [("bob", "m3", TAKEN_ALONG), ("cleo", "m3", TAKEN_ALONG)]
    assert found.agreed
    found = audited(*rows, ended._replace(ts_ms=3_000 + DEFAULT.settle), names=("bob", "cleo"))
    assert lacks(found) == [("bob", "m3", LOST), ("cleo", "m3", LOST)]


def test_what_was_delivered_and_is_gone_does_not_lag() -> None:
    rows = without(all_have(), "bob", "m3")
    found = audited(*rows, event("bob", 1, "delivered", 3_000, "m3", lamport=3_000, sender="ann"), names=("ann",))
    assert lacks(found) == [("bob", "m3", LOST)]


def test_a_log_of_which_no_reading_came_to_its_end_counts_for_nothing_beside_the_journal() -> None:
    rows = [row for row in all_have() if not (row.node == "bob" and type(row).__name__ == "Node")]
    told = [event("bob", seq, "delivered", at, name, lamport=at, sender="ann") for seq, (name, at) in enumerate(IDS, 1)]
    found = {node: one.versions for (_, _, node), one in conform(taken(*rows, *told)).held.items()}  # type: ignore[arg-type]
    assert {name: version.digest for name, version in found["bob"].items()} == {name: "" for name, _ in IDS}


def test_what_is_dated_before_the_joining_is_not_owed() -> None:
    rows = [row for row in without(all_have(), "bob", "m1") if not (row.node == "bob" and type(row).__name__ == "Node")]
    found = audited(*rows, node("bob", 2, horizon=1_500))
    assert lacks(found) == [("bob", "m1", "joined_later")]
    assert found.agreed


def test_a_journal_that_was_cut_owes_nothing_from_before() -> None:
    rows = [
        *everybody_has(["ann"], [("m1", 1_000), ("m2", 900_000)]),
        event("bob", 7, "delivered", 900_000, "m2", lamport=900_000, sender="ann"),
    ]
    found = audited(*rows, names=("ann",))
    assert [(row.message_id, row.reason) for row in found.missing] == [("m1", "joined_later")]
    near = [row._replace(lamport=899_000) if getattr(row, "message_id", "") == "m1" else row for row in rows]  # type: ignore[call-arg]
    assert [(row.message_id, row.reason) for row in audited(*near, names=("ann",)).missing] == [("m1", RETENTION)]


def test_what_waits_since_it_is_dated_ahead_is_no_fault_and_told() -> None:
    found = audited(*without(all_have(), "bob", "m3"), declared("bob", "m3", "ahead"))
    assert lacks(found) == [("bob", "m3", AHEAD)]
    assert found.agreed
    (bob,) = [row for row in found.nodes if row.node == "bob"]
    assert node_words(bob, found.findings, found.missing) == "holds back 1 message dated ahead of its clock"


def test_what_the_node_gave_up_is_missing_and_told() -> None:
    found = audited(*without(all_have(), "bob", "m2"), declared("bob", "m2", "lost"))
    assert [(row.node, row.detail) for row in found.missing] == [("bob", "the node gave it up")]
    assert kinds(found) == [("bob", "gap", "m2")]


def test_a_gap_that_nobody_can_fill_is_told_and_no_fault() -> None:
    found = audited(*all_have(), declared("bob", "m9", "lost"))
    assert kinds(found) == [("bob", "gap", "m9")]
    assert found.agreed


def test_a_message_that_its_sender_does_not_know_is_extra_and_owed_by_nobody() -> None:
    found = audited(*all_have(), message("bob", "forged", 2_500, sender="ann"))
    assert kinds(found) == [("bob", "extra", "forged")]
    assert found.missing == []
    assert not found.agreed


def test_what_was_written_after_the_record_of_its_sender_ends_is_no_fault_of_anybody() -> None:
    """The sources: a journal exported early, or an old copy of a database, beside a newer database of another node."""
    found = audited(*all_have(), message("bob", "m4", 500_000, sender="ann"), names=("bob",))
    assert (kinds(found), lacks(found)) == ([], [("ann", "m4", LAGGING)])
    assert found.agreed


def test_a_message_that_others_had_long_before_the_record_of_its_sender_ends_is_told_whatever_its_date() -> None:
    ahead = message("bob", "m4", 5 * LONG, sender="ann")._replace(received_ms=4_000)
    found = audited(*all_have(), ahead)
    assert ("bob", "extra", "m4") in kinds(found)


def test_a_message_of_somebody_who_is_not_here_is_not_extra() -> None:
    found = audited(*all_have(), message("bob", "m4", 2_500, sender="zoe"))
    assert (kinds(found), lacks(found)) == ([], [("ann", "m4", LOST)])


def test_an_id_with_two_contents_is_told_of_the_node_that_stands_alone() -> None:
    rows = without(all_have("ann", "bob", "cleo"), "cleo", "m2")
    found = audited(*rows, message("cleo", "m2", 2_000, digest="other"), names=("ann", "bob", "cleo"))
    assert kinds(found) == [("cleo", "content", "m2")]
    assert "another content" in found.findings[0].detail


def test_an_altered_row_is_told_and_stands_in_another_place() -> None:
    rows = without(all_have(), "ann", "m1")
    found = audited(*rows, message("ann", "m1", 2_500, damage="its row in the log was altered"))
    assert kinds(found) == [("ann", "altered", "m1"), ("ann", "order", "m2")]
    assert [row.other for row in found.findings] == [None, "m1"]


def test_a_log_that_is_not_what_its_count_says_is_told() -> None:
    rows = [row for row in all_have() if not (row.node == "bob" and type(row).__name__ == "Node")]
    found = audited(*rows, node("bob", 4, counted=3))
    assert kinds(found) == [("bob", "count", None)]
    assert not found.agreed


def shown(*ids: str, deps: dict[str, tuple[str, ...]]) -> list[Row]:
    lamports = dict(IDS)
    rows: list[Row] = []
    for seq, name in enumerate(ids, 1):
        rows += [
            event("bob", seq, "delivered", 5_000 + seq, name, lamport=lamports[name], sender="ann"),
            message("bob", name, lamports[name], deps=deps.get(name, ())),
            message("ann", name, lamports[name], deps=deps.get(name, ())),
        ]
    return [*rows, node("ann", len(ids)), node("bob", len(ids))]


def test_what_was_shown_before_its_cause_is_told() -> None:
    found = audited(*shown("m1", "m3", "m2", deps={"m3": ("m2",)}))
    assert kinds(found) == [("bob", "causal", "m3")]
    assert found.findings[0].other == "m2"


def test_what_was_shown_after_its_cause_is_well() -> None:
    assert audited(*shown("m1", "m2", "m3", deps={"m3": ("m2",)})).agreed


def test_a_cause_that_was_given_up_before_may_come_later() -> None:
    rows = shown("m1", "m3", "m2", deps={"m3": ("m2",)})
    assert audited(*rows, event("bob", 0, "lost", 4_000, None, deps=("m2",))).agreed


def test_a_message_that_is_not_dated_after_its_cause_breaks_the_clock() -> None:
    rows = [
        *everybody_has(["ann", "bob"], []),
        *(message(name, "m1", 1_000, deps=("m2",)) for name in ("ann", "bob")),
        *(message(name, "m2", 1_000, sender="bob") for name in ("ann", "bob")),
    ]
    found = audited(*rows)
    assert kinds(found) == [("ann", "clock", "m1")]


def test_nobody_is_blamed_for_the_time_of_what_others_sent_in_their_name() -> None:
    """Ann has their ids in her log, and did not write them; of what cleo did, nobody here knows better."""
    rows = [
        *everybody_has(["ann", "bob"], [("m2", 1_000)]),
        *(message(name, each, 1_000)._replace(own=False) for name in ("ann", "bob") for each in ("m1", "m3")),
        *(message(name, each, 1_000, sender="cleo") for name in ("ann", "bob") for each in ("m4", "m5")),
    ]
    assert kinds(audited(*rows)) == [("cleo", "clock", "m5")]


def test_two_messages_of_one_sender_at_one_time_break_the_clock() -> None:
    found = audited(*everybody_has(["ann", "bob"], [("m1", 1_000), ("m2", 1_000)]))
    assert kinds(found) == [("ann", "clock", "m2")]


def test_a_message_taken_long_before_its_date_breaks_the_clock() -> None:
    rows = everybody_has(["ann"], [("m1", 5_000_000)])
    found = audited(*rows, node("bob", 1), message("bob", "m1", 5_000_000, received_ms=1_000))
    assert kinds(found) == [("bob", "clock", "m1")]


def test_a_gap_in_a_journal_is_a_lost_journal_and_no_fault() -> None:
    found = audited(*all_have(), seen_until("ann", 5_000, seq=998))
    assert [(row.node, row.rows, row.lost) for row in found.journals] == [("ann", 2, 1), ("bob", 1, 0)]
    assert found.agreed


def test_the_latest_reading_counts() -> None:
    stale = [message("bob", "m4", 4_000, as_of=0), message("bob", "m2", 9_999, as_of=0)]
    gone = message("bob", "m4", 4_000, as_of=1, gone=True)
    assert audited(*stale, *all_have(), gone).agreed
    assert audited(*all_have(), gone, *stale).agreed


def test_a_node_of_which_there_is_only_a_journal_is_audited_by_its_deliveries() -> None:
    rows = [
        event("bob", seq, "delivered", 5_000 + seq, name, lamport=at, sender="ann")
        for seq, (name, at) in enumerate(IDS[:1] + IDS[2:], 1)
    ]
    found = audited(*everybody_has(["ann"], IDS), *rows)
    assert lacks(found) == [("bob", "m2", LOST)]


def test_what_a_late_joiner_is_not_owed_is_told_as_one_stretch() -> None:
    rows = [row for row in all_have() if row.node != "bob"]
    found = audited(*rows, node("bob", 1, horizon=2_500), message("bob", "m3", 3_000))
    (row,) = found.missing
    assert (row.node, row.message_id, row.reason, row.position, row.until, row.messages) == (
        *("bob", "m1", JOINED_LATER, 1),
        *(2, 2),
    )
    assert [(each.excused, each.converged) for each in found.channels] == [(2, True)]


def test_a_stretch_ends_where_the_node_has_a_message_all_the_same() -> None:
    rows = [row for row in all_have() if row.node != "bob"]
    found = audited(*rows, node("bob", 1, horizon=9_000), message("bob", "m2", 2_000))
    assert [(row.position, row.until, row.messages) for row in found.missing] == [(1, 1, 1), (3, 3, 1)]
    lacking = Lacking(found.missing)
    assert [lacking.has("bob", place) for place in (0, 1, 2, 3, 4)] == [False, True, False, True, False]
    assert not lacking.has("ann", 1)
