"""Retrieval hints: learnt from what was accepted, saved one by one."""

from __future__ import annotations

from sdschat.sds.rows import Put, Table
from sdschat.sds.values import HistoryEntry, Message
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
    assert not refused.writes
    assert {entry.retrieval_hint for entry in group.send("a", "hi").causal_history} == {None}


def test_one_more_hint_is_one_more_row() -> None:
    group = Group("a", settle=2000)
    for number in range(20):
        group.give("a", forge("b", f"m{number}", START + number))
        group.give("a", naming(f"n{number}", START + 100 + number, HistoryEntry(f"m{number}", b"there", "b")))
    group.give("a", forge("b", "last", START + 50))
    ready = group.give("a", naming("newest", START + 300, HistoryEntry("last", b"there", "b")))
    assert [write.key for write in ready.writes if isinstance(write, Put) and write.table is Table.HINT] == ["last"]
