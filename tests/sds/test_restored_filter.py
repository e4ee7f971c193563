"""The filter of an engine that stopped is that of one that went on, whatever came before."""

from __future__ import annotations

import random
from dataclasses import replace
from hashlib import sha256

import pytest

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.steps.filters import filter_bytes
from sdschat.sds.values import HistoryEntry, Message
from tests.sds.group import CODEC, QUIET, Group, Node

STEPS = 60
AGES = (-5, 0, 1, 100, 3_000, 100_000, 4_000_000)


def do_something(group: Group, node: Node, chance: random.Random, known: list[Message]) -> None:
    """Let the engine take in one message in one of the ways that there are, send one, or wait."""
    message_id = sha256(chance.randbytes(8)).hexdigest()
    named = chance.sample(known, min(len(known), chance.randrange(3)))
    history = tuple(HistoryEntry(one.message_id) for one in named)
    dated = group.now.wall - chance.choice(AGES)
    message = Message(chance.choice("bcd"), message_id, "lobby", dated, history, content=message_id.encode())
    known.append(message)
    now = node.shifted(group.now)
    match chance.randrange(7):
        case 0 | 1:
            group.give("a", message)
        case 2:
            node.channel.receive_id(now, message)
        case 3:
            node.channel.receive_told(now, dated, message_id, "b")
        case 4:
            node.channel.receive_history(now, message, CODEC.encode(message), "store")
        case 5:
            group.send("a", f"text {len(known)}")
        case _:
            group.tick(chance.choice((1, 1_000, 60_000)))
    node.take()


@pytest.mark.parametrize("seed", range(8))
def test_a_restored_filter_is_that_of_an_engine_that_went_on(seed: int) -> None:
    chance = random.Random(seed)
    config = replace(QUIET, bloom_capacity=chance.choice((8, 16, 32)))
    group, known = Group("a", config=config, settle=2_000), list[Message]()
    node = group["a"]
    for _ in range(STEPS):
        do_something(group, node, chance, known)
        state = node.channel.state
        restored = replace(node, now=group.now).channel.state
        if not state.filter_stale and not restored.filter_stale:
            assert restored.filter.to_bytes() == state.filter.to_bytes()
        sent = read_filter(filter_bytes(state))
        entries = [entry for entry in state.newest(len(known)) if entry.lamport >= state.filter.floor]
        assert not isinstance(sent, str)
        assert all(sent.holds(entry.message_id) for entry in entries)
