"""The model of the rules, in slices of a few seconds; the full search is `python -m tests.mvds.model`.

Rules: V-17, V-18.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.mvds.model import BACK, BOTH, REFUSING, REPAIRED, THERE, Rules, Search, Talk
from tests.mvds.published import FIXED, PUBLISHED, size, violation


def test_published_model_has_44_states_for_two_nodes() -> None:
    assert size(2, PUBLISHED) == size(2, FIXED) == 44


def test_published_model_lets_a_node_deliver_what_it_never_offered() -> None:
    broken = violation(2, PUBLISHED)
    assert broken is not None
    assert broken.steps == (
        "Offer(1, 2)",
        "ReceiveOffer(2, 1)",
        "ReceiveRequest(1, 2)",
        "ReceiveMessage(2, 1)",
        "ReceiveAck(1, 2)",
    )
    assert broken.state == (("-", "offered"), ("delivered", "-"))


def test_corrected_index_has_no_such_state() -> None:
    assert violation(2, FIXED) is None


@pytest.mark.parametrize("messages", [(THERE,), (THERE, BACK), (THERE, THERE)])
def test_two_nodes_whole(messages: tuple[Talk, ...]) -> None:
    result = Search(2, REPAIRED, messages=messages).run()
    assert (result.complete, result.unsafe, result.stuck) == (True, None, 0)
    assert result.states == 81 ** len(messages)


@pytest.mark.parametrize("gives", [((0, 1), (0, 2)), ((0, 1), (1, 2))])
def test_three_nodes_whole(gives: tuple[tuple[int, int], ...]) -> None:
    result = Search(3, REPAIRED, messages=(Talk((0,), gives),)).run()
    assert (result.complete, result.unsafe, result.stuck) == (True, None, 0)


def test_three_nodes_that_pass_it_on_in_part() -> None:
    result = Search(3, REPAIRED, messages=(Talk((0,), tuple(permutations(range(3), 2))),), limit=60_000).run()
    assert result.unsafe is None
    assert not result.complete


@pytest.mark.parametrize(("nodes", "talk"), [(2, THERE), (3, BOTH)])
def test_nodes_that_refuse_for_a_while_whole(nodes: int, talk: Talk) -> None:
    result = Search(nodes, REFUSING, messages=(talk,)).run()
    assert (result.complete, result.unsafe, result.stuck) == (True, None, 0)


def test_search_finds_an_acknowledgement_of_what_was_refused() -> None:
    assert "does not hold" in (Search(2, REFUSING._replace(ack_refused=True)).run().unsafe or "")


def test_search_finds_a_request_of_what_was_refused() -> None:
    assert "which it refuses" in (Search(2, REFUSING._replace(ask_for_refused=True)).run().unsafe or "")


def test_search_finds_an_acknowledgement_before_the_write() -> None:
    assert Search(2, Rules(ack_before_save=True)).run().unsafe is not None


def test_search_finds_offers_that_nobody_answers() -> None:
    """Both nodes have the message and offer it to each other (V-07)."""
    both = (Talk((0, 1), ((0, 1), (1, 0))),)
    assert Search(2, REPAIRED, messages=both).run().stuck == 0
    assert Search(2, Rules(ack_held_offers=False), messages=both).run().stuck > 0


def test_search_finds_what_is_lost_once_and_never_sent_again() -> None:
    assert Search(2, Rules(retransmit=False)).run().stuck > 0
