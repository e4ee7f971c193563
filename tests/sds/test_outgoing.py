"""The arithmetic of acknowledgement."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.limits import SETTLED_KEPT
from sdschat.sds.outgoing import Outgoing, OutgoingBuffer
from sdschat.sds.rows import AckState, Evidence
from sdschat.sds.steps.acks import acknowledged

senders = st.sampled_from("abcdefgh")
pieces = st.lists(st.tuples(senders, st.sampled_from(["mention", "filter"]), st.floats(0, 1)), max_size=20)


def known(*rates: float, how: str = "filter") -> Outgoing:
    message = Outgoing("m1", 5)
    for place, rate in enumerate(rates):
        message.evidence[f"p{place}"] = Evidence(f"p{place}", how, f"s{place}", 0, rate)
    return message


def test_a_mention_is_enough() -> None:
    assert acknowledged(known(0.0, how="mention"))


def test_one_filter_is_not_however_certain() -> None:
    assert not acknowledged(known(1e-30))


def test_two_filters_are_at_one_in_a_million() -> None:
    assert acknowledged(known(1e-3, 1e-3))


def test_two_filters_are_not_above_one_in_a_million() -> None:
    assert not acknowledged(known(1e-3, 1.1e-3))


def test_more_witnesses_make_up_for_fuller_filters() -> None:
    assert acknowledged(known(*[0.24] * 10))
    assert not acknowledged(known(*[0.24] * 9))


def test_nothing_is_not_enough() -> None:
    assert not acknowledged(Outgoing("m1", 5))


@given(pieces)
@settings(max_examples=200, deadline=None)
def test_more_evidence_never_takes_an_acknowledgement_back(found: list[tuple[str, str, float]]) -> None:
    message = Outgoing("m1", 5)
    before = False
    for sender, how, rate in found:
        if sender in message.evidence:
            continue
        message.evidence[sender] = Evidence(sender, how, "s", 0, 0.0 if how == "mention" else rate)
        now = acknowledged(message)
        assert now or not before
        before = now


def test_since_takes_open_messages_from_a_date_on() -> None:
    buffer = OutgoingBuffer()
    for place in range(5):
        buffer.add(Outgoing(f"m{place}", place))
    buffer.settle(buffer.open["m3"])
    assert buffer.since(2, 10) == ["m2", "m4"]


def test_since_looks_at_a_bounded_number() -> None:
    buffer = OutgoingBuffer()
    for place in range(50):
        buffer.add(Outgoing(f"m{place:02}", place))
    assert buffer.since(0, 3) == ["m00", "m01", "m02"]


def test_only_the_newest_acknowledged_are_remembered() -> None:
    buffer = OutgoingBuffer()
    for place in range(SETTLED_KEPT + 2):
        message = Outgoing(f"m{place:03}", place)
        buffer.add(message)
        buffer.settle(message)
    assert len(buffer.settled) == SETTLED_KEPT
    assert "m001" not in buffer.settled


def test_a_settled_message_is_acknowledged_and_not_to_be_resent() -> None:
    buffer = OutgoingBuffer()
    message = Outgoing("m1", 5)
    buffer.add(message)
    buffer.arm(message, 99)
    buffer.settle(message)
    assert (message.state, buffer.timers.next()) == (AckState.ACKED, None)
