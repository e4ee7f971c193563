"""One line for everything."""

from __future__ import annotations

from typing import get_args

import pytest

from sdschat.sds import events as ev
from sdschat.sds.bloom import compact, waku
from sdschat.sds.describe import describe, describe_filter
from sdschat.sds.state import Packet
from sdschat.sds.values import AckState, Evidence, HistoryEntry, Message, Reason, Refusal
from tests.sds.group import START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

MESSAGE = Message(
    "alice-the-first",
    "0123456789abcdef",
    "lobby",
    7,
    (HistoryEntry("fedcba9876543210", b"h", "bob"),),
    None,
    (HistoryEntry("aaaaaaaaaaaaaaaa"),),
    b"hello",
)
LINES: list[tuple[ev.Event, str]] = [
    (
        ev.Delivered(MESSAGE, False, True, ("m0",), "sync"),
        'delivered 01234567 of alice-th, clock 7, "hello", late, without m0, via sync',
    ),
    (ev.KeptAsId(MESSAGE), "kept 01234567 of alice-th as an id"),
    (ev.EphemeralReceived(MESSAGE), 'ephemeral 01234567 of alice-th, "hello"'),
    (ev.StateChanged("m1", AckState.UNACKED, (), 0, None), "m1 is unacknowledged"),
    (
        ev.StateChanged("m1", AckState.ACKED, ("b",), 2, Evidence("b", "filter", "s1", 5, 0.0004)),
        "m1 is acknowledged: filter by b in s1, wrong with 4e-04",
    ),
    (ev.MessageRetired("m1"), "m1 is no longer resent, so many newer ones are possibly acknowledged"),
    (ev.DependenciesMissing("m3", ("m1", "m2")), "missing m1 m2, named by m3"),
    (ev.DependenciesLost(("m1",)), "lost m1"),
    (ev.GapClosed("m1"), "gap m1 closed"),
    (ev.MessageDeferred("m1", "b", 99), "deferred m1 of b until 99"),
    (ev.DuplicateReceived("m1", "b"), "duplicate m1 of b"),
    (ev.SyncSent("s1"), "sync sent, s1"),
    (ev.SyncReceived("b"), "sync received from b"),
    (ev.MessageResent("m1", AckState.POSSIBLY_ACKED, 3), "resent m1, possibly acknowledged, sent 3 times"),
    (ev.RepairWanted("m1", 99), "repair of m1 to be requested at 99"),
    (ev.RepairRequested(("m1", "m2"), "s1"), "repair of m1 m2 requested in s1"),
    (ev.RepairScheduled("m1", 99, "b"), "answer m1 to be sent at 99, requested by b"),
    (ev.RepairResponded("m1"), "answer m1 sent"),
    (ev.RepairCancelled("m1", "received"), "repair of m1 cancelled, received"),
    (ev.PushScheduled("m1", 99, "b"), "push of m1 to be sent at 99, lacked by b"),
    (ev.Pushed("m1"), "push of m1 sent"),
    (ev.PushCancelled("m1", "heard_again"), "push of m1 cancelled, heard_again"),
    (ev.RangeDiffered("b", 1, 9), "range 1..9 differs from that of b"),
    (ev.FilterIgnored("b", "70% full"), "filter of b ignored, 70% full"),
    (ev.FilterRolled(3, 9), "filter rolled to generation 3, complete since 9"),
    (ev.FilterFormatChanged("waku"), "filter layout is now waku"),
    (ev.ClockAhead(99, 7), "own clock 99 is 7 ms ahead of the wall clock"),
    (ev.Rejected(Reason.CLOCK_ZERO, "b", "m1", "0"), "rejected m1 of b, clock_zero"),
    (ev.Rejected(Reason.UNREADABLE, "", "", ""), "rejected a packet, unreadable"),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[type(event).__name__ for event, _ in LINES])
def test_an_event_in_one_line(event: ev.Event, line: str) -> None:
    assert describe(event) == line


def test_every_event_has_a_line() -> None:
    assert {type(event) for event, _ in LINES} == set(get_args(ev.Event))


def test_a_packet_in_one_line() -> None:
    expected = 'content 01234567 of alice-th, clock 7, "hello", after fedcba98(bob+hint), requests aaaaaaaa(?)'
    assert describe(MESSAGE) == expected


def test_what_is_sent_in_one_line() -> None:
    assert describe(Packet(b"12345", "resend", "0123456789abcdef")) == "resend 01234567, 5 bytes"


def test_a_refusal_in_one_line() -> None:
    assert describe(Refusal(Reason.UNREADABLE)) == "refused a packet, unreadable"
    refusal = Refusal(Reason.TOO_LARGE, "has 9 bytes", "b", "m1")
    assert describe(refusal) == "refused m1 of b, too_large (has 9 bytes)"


def test_the_caller_names_ids_and_moments() -> None:
    event = ev.MessageDeferred("0123456789abcdef", "b", START)
    assert describe(event, {"0123456789abcdef": "m1", "b": "Bob"}.__getitem__, lambda wall: "noon") == (
        "deferred m1 of Bob until noon"
    )


def test_text_is_cut_short_and_made_harmless() -> None:
    line = describe(forge("b", "m1", None, content=b"\x1b[31m\n\xff" + b"x" * 100))
    assert line == 'ephemeral m1 of b, "\\x1b[31m\\x0a\\xffxxxxxxxx..."'


def test_a_filter_is_summarised() -> None:
    assert describe_filter(filter_of("m1")) == "compact 4928 bits 13 hashes 0.3% full since 0"


def test_a_fingerprint_of_a_range_is_summarised_in_words() -> None:
    packed = filter_of("m1") + compact.encode_print(compact.RangePrint(5, 2**41, 31, 7))
    assert describe_filter(packed, lambda wall: f"t{wall}").endswith(
        f"full since t0, fingerprint of 31 ids from t5 to t{2**41}"
    )


def test_the_fixed_format_is_summarised() -> None:
    body = bytearray(waku.BYTES)
    waku.add(body, "m1")
    assert describe_filter(bytes(body)) == "waku 0.0% full"


def test_an_unreadable_filter_says_why() -> None:
    assert describe_filter(b"?") == "ignored (unknown layout of 1 bytes)"


def test_no_filter_is_none() -> None:
    assert describe_filter(None) == "none"


def test_a_state_in_one_line() -> None:
    group = Group("a")
    group.give("a", forge("b", "m3", START + 3, "m2"))
    group.give("a", forge("b", "m1", START + 1))
    group.send("a", "mine")
    group.give("a", forge("c", "s1", START + 9, content=None, requests=("m1",)))
    line = describe(group["a"].channel.state, lambda full: full[:2], lambda wall: str(wall - START))
    own = group["a"].log[-1][:2]
    assert line == (
        f"clock 2, recent log 2, heads {own}, filter compact 3/256 since -600000, waiting m3 (for m2), missing m2, "
        f"outgoing {own} (unacknowledged, sent 1), answers m1"
    )


def test_describing_changes_nothing() -> None:
    group = Group("a")
    group.send("a", "mine")
    describe(group["a"].channel.state)
    assert group["a"].channel.take() == ([], [], [])


def test_something_else_is_a_wrong_call() -> None:
    with pytest.raises(TypeError, match="describing a int"):
        describe(5)  # type: ignore[arg-type]


def test_an_id_of_another_make_cannot_break_the_line() -> None:
    line = describe(Packet(b"12345", "resend", "one\u2028two"), name=str)
    assert line == "resend one\\x2028two, 5 bytes"
