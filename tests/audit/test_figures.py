"""The figures of `figures.sql`, from journals with exactly one event of interest."""

from __future__ import annotations

from sdschat.audit.answers import AckCount, Figures
from sdschat.audit.figures import QUIET, STRETCHES, figures, grain_of
from sdschat.audit.node_evidence import conform
from sdschat.audit.report.tables import truth_note, unproven_note
from sdschat.audit.sources.databases import Row
from tests.audit.worlds import LOBBY, event, message, node, taken


def answers(*rows: Row) -> Figures:
    return figures(conform(taken(*rows)))  # type: ignore[arg-type]


def said(name: str, seq: int, at: int, message_id: str = "m1") -> Row:
    return event(name, seq, "sent", at, message_id, cause="message", bytes=100, payload_bytes=40)


def got(name: str, seq: int, at: int, message_id: str = "m1", via: str = "live", **values: str) -> Row:
    return event(name, seq, "delivered", at, message_id, sender="ann", lamport=1, cause=via, **values)


def test_everybody_had_a_message_when_the_last_one_had_it() -> None:
    found = answers(said("ann", 1, 1_000), got("bob", 1, 1_010), got("cleo", 1, 4_000, via="repair"))
    (row,) = found.reached
    assert (row.last_node, row.took_ms, row.receivers) == ("cleo", 3_000, 2)
    assert row.why == "it was lost on the way, and repaired"
    assert [(each.last_node, each.messages, each.longest) for each in found.last] == [("cleo", 1, 3_000)]


def test_a_message_that_one_node_never_got_is_not_with_everybody() -> None:
    found = answers(said("ann", 1, 1_000), got("bob", 1, 1_010), event("cleo", 1, "sync_received", 9_000))
    assert [row.receivers for row in found.reached] == [1]
    assert found.last == []


def test_the_reason_of_the_last_one_is_that_it_was_not_running() -> None:
    found = answers(
        event("bob", 1, "sync_received", 500),
        said("ann", 1, 1_000),
        event("bob", 1, "sync_received", 26_000, boot="boot-2"),
        got("bob", 2, 26_100, via="sync", boot="boot-2"),
    )
    assert [(row.node, row.kind, row.from_ms, row.to_ms) for row in found.away] == [("bob", "not running", 500, 26_000)]
    assert [row.why for row in found.reached] == ["it was not running, or was silent"]


def test_a_message_from_before_the_receiver_ran_for_the_first_time_was_not_on_its_way() -> None:
    found = answers(
        said("ann", 1, 1_000),
        event("bob", 1, "sync_received", 26_000),
        got("bob", 2, 26_100, via="sync"),
        said("ann", 2, 26_200, "m2"),
        got("bob", 3, 26_210, "m2"),
    )
    assert found.away == []
    assert [row.why for row in found.reached] == ["it had not started yet", "it was on its way"]


def test_a_node_that_ends_or_falls_silent_is_away() -> None:
    late = 3 * QUIET
    found = answers(
        event("ann", 1, "sync_received", 1),
        event("ann", 2, "sync_received", late),
        event("bob", 1, "sync_received", 1),
    )
    assert [(row.node, row.kind, row.from_ms, row.to_ms) for row in found.away] == [
        ("ann", "silent", 1, late),
        ("bob", "ended before others", 1, late),
    ]


def test_the_last_one_waited_for_what_the_message_depends_on() -> None:
    found = answers(
        event("bob", 1, "sync_received", 900),
        said("ann", 1, 1_000),
        event("bob", 2, "missing", 1_010, "m1"),
        got("bob", 3, 1_500),
    )
    assert [row.why for row in found.reached] == ["it waited there for what it depends on"]


def test_each_byte_of_text_has_its_cost_by_cause() -> None:
    found = answers(
        said("ann", 1, 1),
        event("ann", 2, "sent", 2, "m1", cause="resend", bytes=100, payload_bytes=40),
        event("bob", 1, "sent", 3, "s1", cause="sync", bytes=60, payload_bytes=0),
    )
    assert {row.cause: (row.bytes, row.text_bytes, row.per_byte) for row in found.wire} == {
        "message": (100, 40, 2.5),
        "resend": (100, 40, 2.5),
        "sync": (60, 40, 1.5),
    }


def test_without_text_there_is_no_cost_of_a_byte() -> None:
    found = answers(event("bob", 1, "sent", 3, "s1", cause="sync", bytes=60, payload_bytes=0))
    assert [(row.bytes, row.per_byte) for row in found.wire] == [(60, None)]


def test_an_acknowledgement_is_wrong_where_the_peer_did_not_have_the_message_then() -> None:
    rows: list[Row] = [
        node("bob", 1),
        message("bob", "m1", 900, sender="ann", received_ms=950),
        event("ann", 1, "acked", 1_000, "m1", peer="bob", cause="mention"),
        event("ann", 2, "acked", 1_000, "m2", peer="bob", cause="mention"),
        event("ann", 3, "acked", 1_000, "m3", peer="nobody here", cause="mention"),
        event("bob", 1, "sync_received", 1_000),
    ]
    found = answers(*rows)
    assert [(row.state, row.how, row.n, row.wrong) for row in found.acknowledged] == [("acked", "mention", 2, 1)]
    assert [(row.message_id, row.peer, row.had_ms) for row in found.untrue] == [("m2", "bob", None)]


def test_the_sentence_tells_possible_acknowledgements_from_others() -> None:
    rows = [
        AckCount("", LOBBY, "acked", "range", 5_795, 2, 0),
        AckCount("", LOBBY, "possibly_acked", "filter", 570, 29, 0),
    ]
    assert "31 of them were wrong (the node did not have the message yet), 29 of these only possible" in truth_note(
        rows
    )
    assert "29 of them were wrong (the node did not have the message yet), all of these only" in truth_note(rows[1:])
    assert "Not one was wrong" in truth_note([rows[0]._replace(wrong=0)])


def test_an_acknowledgement_is_not_judged_by_a_database_that_ends_before_it() -> None:
    found = answers(
        message("bob", "m1", 900, sender="ann", received_ms=950),
        event("ann", 1, "acked", 1_000, "m1", peer="bob", cause="mention"),
        event("ann", 2, "acked", 1_000, "m2", peer="bob", cause="mention"),
        node("bob", 1),
    )
    assert [(row.n, row.wrong) for row in found.acknowledged] == [(1, 0)]


def test_an_acknowledgement_is_undecided_within_what_the_clocks_leave_open() -> None:
    """Messages take 20 ms each way, so the offset is 0, give or take 20 ms."""
    ways: list[Row] = [
        said("ann", 1, 1_000),
        got("bob", 1, 1_020),
        said("bob", 2, 2_000, "m2"),
        event("ann", 2, "delivered", 2_020, "m2", sender="bob", lamport=1, cause="live"),
    ]
    for ahead, verdict in ((30, (1, 0)), (10, (0, 1)), (-30, (0, 0))):
        found = answers(*ways, event("ann", 3, "acked", 1_020 - ahead, "m1", peer="bob", cause="filter"))
        assert [(row.wrong, row.undecided) for row in found.acknowledged] == [verdict]


def test_a_filter_is_no_acknowledgement_because_others_acknowledged_the_message() -> None:
    found = answers(
        got("bob", 1, 1_010),
        event("cleo", 1, "sync_received", 1_200),
        event("ann", 1, "acked", 1_100, "m1", peer="bob", cause="mention"),
        event("ann", 2, "acked", 1_200, "m1", peer="cleo", cause="filter"),
    )
    assert [(row.state, row.how, row.wrong) for row in found.acknowledged] == [
        ("acked", "mention", 0),
        ("possibly_acked", "filter", 1),
    ]


def test_percentiles_lie_between_two_values_in_proportion() -> None:
    rows = [said("ann", seq, 1_000, f"m{seq}") for seq in range(1, 4)]
    rows += [got("bob", seq, 1_000 + 10 * seq, f"m{seq}") for seq in range(1, 4)]
    (row,) = (each for each in answers(*rows).spread if each.figure == "pace")
    assert (row.n, row.p50, row.p95, row.longest) == (3, 20.0, 29.0, 30)


def test_a_picture_has_few_stretches_of_time_however_long_it_lasts() -> None:
    for whole in (0, 1, 90_000, 10**7, 10**9, 10**12):
        assert whole / grain_of([5, 5 + whole]) <= STRETCHES


def test_two_runs_at_one_time_leave_no_gap() -> None:
    """That is so where a profile was copied and used twice, or a clock was set back."""
    found = answers(
        event("bob", 1, "sync_received", 1_000),
        event("bob", 2, "sync_received", 9_000),
        event("bob", 1, "sync_received", 5_000, boot="boot-2"),
    )
    assert found.away == []


def test_a_row_that_stands_for_several_duplicates_counts_all_of_them() -> None:
    one = event("bob", 1, "duplicate", 1_000, "m1", sender="ann")
    found = answers(one, event("bob", 2, "duplicate", 61_000, sender="ann", attempt=40))
    assert [row.duplicates for row in found.repair] == [41]


def test_who_says_without_a_signature_to_have_a_message_is_unproven_and_no_acknowledgement() -> None:
    found = answers(
        said("ann", 1, 1_000),
        event("ann", 2, "unproven", 1_500, "m1", peer="other make", cause="mention"),
        event("ann", 3, "unproven", 1_600, "m1", peer="other make", cause="filter"),
        got("bob", 1, 2_000),
        event("ann", 4, "acked", 2_500, "m1", peer="bob", cause="mention"),
    )
    assert [(row.node, row.peer, row.messages) for row in found.unproven] == [("ann", "other make", 1)]
    assert [(row.state, row.n) for row in found.acknowledged] == [("acked", 1)]
    assert unproven_note(found.unproven) == (
        "1 participant said 1 time without a signature to have a message: unproven, as anybody may have said it in "
        "that name, and no acknowledgement."
    )
    assert unproven_note([]) == ""
