"""The memory of a trace: its content, and its bounds."""

from __future__ import annotations

from sdschat.identity.signing import Identity
from sdschat.identity.sync_proof import sign_sync
from sdschat.node.events import NodeEvent
from sdschat.sds import events as ev
from sdschat.sds.bloom import compact
from sdschat.sds.values import AckState, Evidence, HistoryEntry, Message, Reason, Refusal
from sdschat.tui.lens import trace as limits
from sdschat.tui.lens.trace import LensTrace, LogLine

ME = "a" * 32
BOB = "b" * 32


SIGNED = sign_sync(Identity(bytes(32)), "lobby", 1, b"x")


def sync(lamport: int, sender: str = BOB, names: tuple[str, ...] = (), packed: bytes = b"") -> Message:
    entries = tuple(HistoryEntry(name) for name in names)
    return Message(sender, f"sync-{lamport}", "lobby", lamport, entries, packed or None)


def test_a_clock_that_is_ahead_is_told_from_the_freshest_packet() -> None:
    trace = LensTrace(ME)
    for at, lamport in ((1000, 6000), (2000, 6500), (3000, 8000)):
        trace.see(at, "live", b"x", sync(lamport))
    assert trace.peer(BOB).offset == 5000


def test_a_rebroadcast_tells_nothing_of_now() -> None:
    trace = LensTrace(ME)
    message = Message(BOB, "m1", "lobby", 5, (HistoryEntry("m0"),), b"f", (), b"text")
    trace.see(10, "live", b"x", message)
    before = (trace.peer(BOB).offset, trace.peer(BOB).filter_at)
    trace.add(LogLine(5, "m1", BOB, ("m0",), False))
    trace.see(90_000, "live", b"x", message)
    assert (trace.peer(BOB).offset, trace.peer(BOB).filter_at) == before


def test_who_names_a_message_is_proven_to_hold_it() -> None:
    trace = LensTrace(ME)
    trace.see(1, "live", SIGNED, sync(1, names=("m1",)))
    trace.add(LogLine(2, "m2", BOB, (), False))
    found = Evidence(BOB, "range", "", 3, 0.0)
    trace.hear(NodeEvent("lobby", 3, ev.StateChanged("m3", AckState.ACKED, (BOB,), 0, found)))
    assert dict(trace.peer(BOB).proven) == {"m1": "mention", "m2": "author", "m3": "range"}


def test_what_nobody_signed_is_unproven_until_somebody_does() -> None:
    trace = LensTrace(ME)
    trace.see(1, "live", b"x", sync(1, names=("m1", "m2", "m3")))
    trace.add(LogLine(2, "m4", BOB, (), False, False))
    assert set(trace.peer(BOB).proven.values()) == {"unproven"}
    trace.see(3, "live", SIGNED, sync(3, names=("m1",)))
    found = Evidence(BOB, "range", "", 3, 0.0)
    trace.hear(NodeEvent("lobby", 4, ev.StateChanged("m2", AckState.ACKED, (BOB,), 0, found)))
    trace.hear(NodeEvent("lobby", 4, ev.StateChanged("m3", AckState.UNACKED, (), 0, found._replace(signed=False))))
    assert dict(trace.peer(BOB).proven) == {"m1": "mention", "m2": "range", "m3": "unproven", "m4": "unproven"}


def test_who_wrote_a_message_wrote_it_whatever_came_first() -> None:
    trace = LensTrace(ME)
    trace.see(1, "live", b"x", sync(1, names=("m1",)))
    trace.add(LogLine(2, "m1", BOB, (), False))
    trace.see(3, "live", b"x", sync(3, names=("m1",)))
    assert dict(trace.peer(BOB).proven) == {"m1": "author"}


def test_a_filter_proves_nothing() -> None:
    trace = LensTrace(ME)
    found = Evidence(BOB, "filter", "p", 3, 0.0001)
    trace.hear(NodeEvent("lobby", 3, ev.StateChanged("m3", AckState.POSSIBLY_ACKED, (BOB,), 0, found)))
    assert "m3" not in trace.peer(BOB).proven


def test_our_own_packets_that_come_back_make_us_no_peer() -> None:
    trace = LensTrace(ME)
    trace.see(1, "live", b"x", sync(1, sender=ME))
    assert ME not in trace.peers


def test_broken_rules_and_refusals_are_counted_by_who() -> None:
    trace = LensTrace(ME)
    trace.see(1, "live", b"x", sync(5))
    trace.see(2, "live", b"x", Refusal(Reason.CLOCK_ZERO, "zero", BOB, "m"))
    rules = {rule for rule, _ in trace.peer(BOB).broken}
    assert rules == {"S-010", "S-051"}
    assert trace.peer(BOB).refused == {"clock_zero": 1}


def test_the_make_is_told_from_the_filter() -> None:
    trace = LensTrace(ME)
    shape = compact.shape_for(256, 0.0001)
    trace.see(1, "live", b"x", sync(10**12, packed=compact.encode_window(1, shape, shape.bits, 0)))
    trace.see(1, "live", b"x", sync(10**12, sender="js", packed=bytes(18_752)))
    trace.see(1, "live", b"x", sync(10**12, sender="other", packed=b"short"))
    assert [trace.peer(name).make for name in (BOB, "js", "other")] == ["sdschat", "@waku/sds, or like it", "unknown"]


def test_nothing_grows_without_end() -> None:
    trace = LensTrace(ME)
    for number in range(3 * limits.EVENTS):
        sender = f"peer{number % (2 * limits.PEERS)}"
        trace.hear(NodeEvent("lobby", number, ev.DependenciesMissing(f"m{number}", (f"d{number}",))))
        trace.hear(NodeEvent("lobby", number, ev.DuplicateReceived("same", sender)))
        trace.see(number, "live", b"x", sync(number + 1, sender, (f"n{number}",)))
        trace.add(LogLine(number, f"m{number}", sender, (), False))
    assert len(trace.events) == limits.EVENTS
    assert len(trace.steps) <= limits.MESSAGES
    assert len(trace.steps["same"]) == limits.STEPS
    assert len(trace.log) == limits.MESSAGES
    assert len(trace.packets) == limits.PACKETS
    assert len(trace.peers) == limits.PEERS
    for number in range(2 * limits.PROVEN):
        trace.peer(BOB).prove(f"m{number}", "mention")
    assert len(trace.peer(BOB).proven) == limits.PROVEN
