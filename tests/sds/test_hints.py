"""Retrieval hints: learnt from what was accepted, saved one by one."""

from __future__ import annotations

from sdschat.sds.limits import RECENT_WINDOW
from sdschat.sds.values import HistoryEntry, Message, Put, Table
from sdschat.sim.generate import limits
from tests.sds.group import START, Group, forge


def naming(message_id: str, lamport: int, *entries: HistoryEntry) -> Message:
    return Message("c", message_id, "lobby", lamport, entries, None, (), b"text")


def test_a_hint_is_learnt_from_an_accepted_message_and_passed_on() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 10))
    group.give("a", naming("m2", START + 20, HistoryEntry("m1", b"in store 7", "b")))
    assert b"in store 7" in {entry.retrieval_hint for entry in group.send("a", "hi").causal_history}


def test_a_refused_message_leaves_no_hint() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 10))
    group.give("a", forge("b", "m2", START + 5000))
    poison = HistoryEntry("m1", b"poison", "b")
    refused = group.give("a", naming("x", START + 100, poison, HistoryEntry("m2", None, "b")))
    assert not any(isinstance(write, Put) and write.table is Table.HINT for write in refused.writes)
    assert {entry.retrieval_hint for entry in group.send("a", "hi").causal_history} == {None}


def test_one_more_hint_is_one_more_row() -> None:
    group = Group("a", settle=2000)
    for number in range(20):
        group.give("a", forge("b", f"m{number}", START + number))
        group.give("a", naming(f"n{number}", START + 100 + number, HistoryEntry(f"m{number}", b"there", "b")))
    group.give("a", forge("b", "last", START + 50))
    ready = group.give("a", naming("newest", START + 300, HistoryEntry("last", b"there", "b")))
    assert [write.key for write in ready.writes if isinstance(write, Put) and write.table is Table.HINT] == ["last"]


WHERE = HistoryEntry("m1", b"in store 7", "b")


def passed_on(group: Group) -> dict[str, bytes | None]:
    return {entry.message_id: entry.retrieval_hint for entry in group.send("a", "hi").causal_history}


def test_a_hint_of_what_was_missing_is_passed_on_once_it_has_come() -> None:
    group = Group("a", settle=2000)
    group.give("a", naming("m2", START + 20, WHERE))
    group.give("a", forge("b", "m1", START + 10))
    assert passed_on(group) == {"m1": b"in store 7", "m2": None}


def test_a_hint_outlives_the_waiting_of_its_message_and_a_restart() -> None:
    group = Group("a", settle=2000)
    group.give("a", Message("c", "s1", "lobby", START + 20, (WHERE,)))
    group.give("a", forge("b", "m1", START + 10, "m0"))
    group.crash("a")
    group.give("a", forge("b", "m0", START + 5))
    assert passed_on(group)["m1"] == b"in store 7"


def test_a_hint_is_learnt_from_whoever_first_knows_one() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m2", START + 20, "m1"))
    group.give("a", naming("m3", START + 30, WHERE))
    group.give("a", naming("m4", START + 40, HistoryEntry("m1", b"elsewhere", "b")))
    assert group["a"].channel.state.requests.missing["m1"].hint == b"in store 7"


def test_a_hint_of_what_is_dropped_goes_back_to_what_is_missing() -> None:
    group = Group("a", settle=2000)
    group.give("a", naming("m2", START + 20, WHERE))
    with limits((("BUFFERED_PER_SENDER", 1),)):
        group.give("a", forge("b", "m1", START + 10, "m0"))
        group.give("a", forge("b", "m0", START + 5, "nowhere"))  # takes the place of its child, which is dropped
    assert group["a"].channel.state.requests.missing["m1"].hint == b"in store 7"
    assert group["a"].channel.state.hints == {}


def test_no_hint_is_kept_of_what_is_too_old_to_be_named() -> None:
    group = Group("a", settle=2000)
    group.give("a", naming("child", START + 2 * RECENT_WINDOW, WHERE))
    for place in range(RECENT_WINDOW):
        group.give("a", forge("c", f"n{place}", START + RECENT_WINDOW + place))
    group.give("a", forge("b", "m1", START + 10))
    assert group["a"].channel.state.hints == {}
