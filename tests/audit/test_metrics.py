"""Figures from journals with exactly one event of interest."""

from __future__ import annotations

import pytest

from sdschat.audit.answers import Figures
from sdschat.audit.figures import figures as figures_of
from sdschat.audit.node_evidence import conform
from sdschat.audit.report.tables import clocks
from sdschat.audit.sources.databases import Row
from tests.audit.worlds import event, message, node, taken, with_filter


def figures(*rows: Row) -> Figures:
    return figures_of(conform(taken(*rows)))  # type: ignore[arg-type]


def told(sender: str, receiver: str, name: str, sent: int, delivered: int, seq: int) -> list[Row]:
    """Return the rows of one delivery, by the clocks of both nodes."""
    return [
        event(sender, seq, "sent", sent, name, cause="message", bytes=100, payload_bytes=40),
        event(receiver, seq + 1, "delivered", delivered, name, sender=sender, lamport=sent, cause="live"),
    ]


def test_the_offset_of_two_clocks_is_half_the_difference_of_the_fastest_ways() -> None:
    """bob's clock is 500 ms ahead; messages take 20 ms there and 30 ms back."""
    rows = [*told("ann", "bob", "m1", 1_000, 1_520, 1), *told("bob", "ann", "m2", 2_500, 2_030, 11)]
    found = {(row.node, row.peer): (row.offset_ms, row.uncertainty_ms) for row in figures(*rows).clock}
    assert found == {("ann", "bob"): (495.0, 25.0), ("bob", "ann"): (-495.0, 25.0)}


def test_deliveries_are_corrected_by_it_and_negatives_shown() -> None:
    rows = [*told("ann", "bob", "m1", 1_000, 1_520, 1), *told("bob", "ann", "m2", 2_500, 2_030, 11)]
    (row,) = figures(*rows).delivery
    assert (row.delivered, row.negative, row.corrected, row.corrected_negative) == (2, 1, 2, 0)
    assert (row.p50, row.raw_p50, row.longest) == (25.0, 25.0, 25.0)


def test_where_messages_went_one_way_only_nothing_is_corrected() -> None:
    found = figures(*told("ann", "bob", "m1", 1_000, 900, 1))
    assert [(row.offset_ms, row.uncertainty_ms) for row in found.clock] == [(None, None)] * 2
    assert [(row.negative, row.corrected, row.p50) for row in found.delivery] == [(1, 0, None)]


def test_equal_clocks_are_not_corrected_where_one_way_was_slow_alone() -> None:
    """ci got the live message of nina after four minutes, and nina the one of ci at once."""
    rows = [*told("nina", "ci", "m1", 1_000, 248_420, 1), *told("ci", "nina", "m2", 300_000, 300_006, 11)]
    found = figures(*rows)
    told_of = {(row.offset_ms, row.uncertainty_ms) for row in found.clock}
    assert told_of == {(123_707.0, 123_713.0), (-123_707.0, 123_713.0)}
    assert [(row.delivered, row.corrected, row.p50) for row in found.delivery] == [(2, 0, None)]
    assert sorted(row.took_ms for row in found.reached) == [6, 247_420]
    assert clocks(found.clock, str).count("no difference shown") == 1


@pytest.mark.parametrize("via", ["sync", "store", "repair"])
def test_what_was_loaded_later_tells_nothing_of_clocks(via: str) -> None:
    """The clock of ci is two seconds ahead; without the history, nobody could tell."""
    late = told("nina", "ci", "m1", 1_000, 250_000, 1)
    late[1] = late[1]._replace(cause=via)  # type: ignore[call-arg]
    rows = [*late, *told("ci", "nina", "m2", 302_000, 300_006, 11)]
    found = figures(*rows)
    assert [(row.offset_ms, row.uncertainty_ms) for row in found.clock] == [(None, None)] * 2
    assert sorted((row.out, row.back) for row in found.clock) == [(1, 1), (1, 1)]
    assert [row.corrected for row in found.delivery] == [0, 0]
    live = [*rows, *told("nina", "ci", "m3", 303_000, 305_010, 21)]
    assert {row.offset_ms for row in figures(*live).clock} == {2_002.0, -2_002.0}
    assert sum(row.corrected for row in figures(*live).delivery) == 3


def test_acknowledgement_takes_from_the_first_sending_to_the_first_evidence() -> None:
    rows = [
        event("ann", 1, "sent", 1_000, "m1", cause="message"),
        event("ann", 2, "sent", 3_000, "m1", cause="resend"),
        event("ann", 3, "possibly_acked", 3_500, "m1", peer="bob", cause="filter"),
        event("ann", 4, "acked", 4_000, "m1", peer="bob", cause="mention"),
        event("ann", 5, "acked", 9_000, "m1", peer="cleo", cause="range"),
    ]
    (row,) = figures(*rows).ack
    assert (row.sent, row.resends, row.possibly_p50, row.acked_p50) == (1, 1, 2_500.0, 3_000.0)
    assert (row.by_mention, row.by_filter, row.by_range) == (1, 1, 1)


def test_healing_takes_from_wanting_to_delivery_and_buffering_from_missing_to_delivery() -> None:
    rows = [
        event("bob", 1, "missing", 1_000, "m2", deps=("m1",)),
        event("bob", 2, "repair_wanted", 1_000, "m1"),
        event("bob", 3, "repair_requested", 1_400, "sync-1", deps=("m1", "m9")),
        event("bob", 4, "delivered", 3_000, "m1", sender="ann", cause="repair"),
        event("bob", 5, "delivered", 3_100, "m2", sender="ann", cause="live"),
        event("bob", 6, "duplicate", 3_200, "m1"),
    ]
    (row,) = figures(*rows).repair
    assert (row.wanted, row.requested, row.useful, row.duplicates) == (1, 2, 1, 1)
    assert (row.healed, row.heal_p50, row.buffered, row.buffer_p50) == (1, 2_000.0, 1, 2_100.0)


def test_traffic_is_counted_by_cause_and_refusals_by_reason() -> None:
    rows = [
        event("ann", 1, "sent", 1, "m1", cause="message", bytes=100, payload_bytes=40),
        event("ann", 2, "sent", 2, "s1", cause="sync", bytes=60, payload_bytes=0),
        event("ann", 3, "sent", 3, "s2", cause="sync", bytes=70, payload_bytes=0),
        event("ann", 4, "rejected", 4, cause="unreadable"),
    ]
    found = figures(*rows)
    assert [(row.cause, row.packets, row.bytes) for row in found.traffic] == [("message", 1, 100), ("sync", 2, 130)]
    assert [(row.reason, row.packets) for row in found.rejected] == [("unreadable", 1)]


def test_the_parts_of_a_message_count_once_however_many_have_it() -> None:
    found = figures(node("ann", 1), node("bob", 1), message("ann", "m1", 5), message("bob", "m1", 5))
    assert [(row.source, row.packets, row.bytes, row.filter_bytes) for row in found.parts] == [("log", 1, 100, 30)]


def test_a_full_filter_claims_everything_that_its_sender_received_later() -> None:
    raw = with_filter("m1", "ann", 1_000, 2**64 - 1)
    rows: list[Row] = [node("ann", 2), message("ann", "m1", 1_000, raw=raw), message("ann", "m2", 2_000, sender="bob")]
    (row,) = figures(*rows).filter
    assert (row.filters, row.checks, row.hits, row.expected) == (1, 1, 1, 1.0)


def test_an_acknowledgement_from_a_filter_is_wrong_where_the_peer_has_nothing() -> None:
    rows: list[Row] = [
        node("bob", 1),
        message("bob", "m1", 900, sender="ann", received_ms=950),
        event("ann", 1, "possibly_acked", 1_000, "m1", peer="bob", cause="filter"),
        event("ann", 2, "possibly_acked", 1_000, "m2", peer="bob", cause="filter"),
        event("bob", 1, "sync_received", 1_000),  # its evidence does not end before that
    ]
    (row,) = figures(*rows).filter
    assert (row.node, row.claims, row.wrong, row.undecided) == ("bob", 2, 1, 0)


def test_a_message_that_is_wanted_twice_is_wanted_once() -> None:
    rows = [event("bob", 1, "repair_wanted", 1_000, "m1"), event("bob", 2, "repair_wanted", 2_000, "m1")]
    (row,) = figures(*rows, event("bob", 3, "delivered", 3_000, "m1", sender="ann", lamport=1, cause="repair")).repair
    assert (row.wanted, row.healed) == (1, 1)
