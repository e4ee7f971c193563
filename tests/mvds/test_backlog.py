"""A long conversation that a peer with another implementation offers all at once (4/MVDS-META, parents).

Rules: M-013, MM-03.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

import pytest

from sdschat.mvds import Config, Message, Mode, Payload, limits
from sdschat.mvds.events import Delivered, Rejected
from sdschat.wire.mvds_codec import Dialect
from tests.mvds.foreign import Foreign, Link, chain, least_bytes
from tests.mvds.world import GROUP, Node, at, id_of, message

BACKLOG: Final = 5_000


def _meet(made: list[Message], order: list[Message], mode: Mode = Mode.INTERACTIVE, *, epochs: int = 200) -> Link:
    node = Node("alice", ["bob"], Config(lost_after=128_000))
    link = Link(node, Foreign(mode, order, largest=2**19))
    link.run(epochs, until=len(made))
    link.run(6)
    return link


def _ordered(made: list[Message], how: str) -> list[Message]:
    if how == "backwards":
        return made[::-1]
    return Random(how).sample(made, len(made)) if how != "forwards" else made


def _assert_whole(link: Link, made: list[Message]) -> None:
    assert link.node.delivered() == list(id_of(*made)), "all of them, parents first"
    assert not any(event.gap for event in link.node.reported(Delivered))
    assert link.node.engine.snapshot().waiting == ()


@pytest.mark.parametrize("how", ["forwards", "backwards", "shuffled"])
@pytest.mark.parametrize("stamp", [None, 1_760_000_000])
def test_a_chain_offered_all_at_once_comes_in_causal_order(how: str, stamp: int | None) -> None:
    """The result is the same if all timestamps are equal, as those of one second are in the Go implementation."""
    made = chain(BACKLOG, stamp=stamp)
    link = _meet(made, _ordered(made, how))
    _assert_whole(link, made)
    assert link.node.reported(Rejected) == []
    assert max(Counter(link.foreign.bodies).values()) == 1
    assert link.bytes <= 1.2 * least_bytes(made)


@pytest.mark.parametrize("how", ["forwards", "shuffled"])
def test_a_chain_that_does_not_fit_into_the_buffer_comes_in_causal_order(how: str) -> None:
    """The chain has four times as many bytes as may wait."""
    made = chain(4_000, body=8_000)
    link = _meet(made, _ordered(made, how), epochs=600)
    _assert_whole(link, made)
    assert link.bytes <= 1.2 * least_bytes(made)


def test_a_chain_that_is_sent_unasked_comes_in_causal_order() -> None:
    made = chain(BACKLOG)
    link = _meet(made, _ordered(made, "shuffled"), Mode.BATCH)
    _assert_whole(link, made)
    assert link.node.reported(Rejected) == []
    assert max(Counter(link.foreign.bodies).values()) == 1


@pytest.mark.parametrize("seed", range(6))
def test_what_waits_for_a_message_that_waits_is_given_up_no_sooner_than_that(seed: int) -> None:
    """All messages have the same date, so that they are requested in the order of their ids, which is arbitrary."""
    node = Node("alice", ["bob"], Config(lost_after=60_000))
    first = message(b"%d first" % seed, b"lost".rjust(32))
    second = message(b"%d second" % seed, *id_of(first))
    third = message(b"%d third" % seed, *id_of(second))
    node.receive("bob", Payload(messages=(second, third)), 0)
    node.receive("bob", Payload(messages=(first,)), 30_000)
    for late in range(31, 90):
        node.step(late * 1000)
    assert node.delivered() == []
    node.step(90_000)
    assert [(event.message_id, bool(event.gap)) for event in node.reported(Delivered)] == [
        (*id_of(first), True),
        (*id_of(second), False),
        (*id_of(third), False),
    ]


@pytest.mark.parametrize("mode", [*Mode])
@pytest.mark.parametrize("own", [*Mode])
@pytest.mark.parametrize("dialect", [*Dialect])
def test_all_pairs_of_modes_with_losses_and_copies(mode: Mode, own: Mode, dialect: Dialect) -> None:
    """The network loses 30 % of the packets and doubles as many."""
    made = chain(60)
    node = Node("alice", ["bob"], Config(mode=own))
    sent = [node.engine.send(GROUP, b"own %d" % number, at(0)) for number in range(60)]
    link = Link(node, Foreign(mode, _ordered(made, "shuffled")), loss=0.3, dialect=dialect)
    link.run(200)
    assert [mid for mid in node.delivered() if mid not in sent] == list(id_of(*made))
    assert not any(event.gap for event in node.reported(Delivered))
    assert set(sent) <= set(link.foreign.held)
    assert node.engine.snapshot().records == ()


def test_a_chain_of_one_date_beyond_the_buffer_comes_whole_and_its_gaps_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The chain has three times as many bytes as may wait. Offers name no parents, and with equal dates nothing tells
    which message is the next: waiting messages take up the room, and are given up one after the other."""
    monkeypatch.setattr(limits, "WAITING_BYTES_PER_PEER", 128 * 1024)
    made = chain(480, stamp=1_760_000_000)
    link = _meet(made, _ordered(made, "shuffled"), epochs=4_000)
    found = {event.message_id: event.gap for event in link.node.reported(Delivered)}
    came = list(found)
    assert sorted(came) == sorted(id_of(*made)), "each of them, once"
    before = {one: set(came[:place]) for place, one in enumerate(came)}
    for one in made:
        (mid,) = id_of(one)
        assert set(found[mid]) == set(one.parents) - before[mid], "a gap names what is not here yet"
    assert 0 < sum(map(bool, found.values())) < len(made) / 4
    assert link.node.engine.snapshot().waiting == ()
