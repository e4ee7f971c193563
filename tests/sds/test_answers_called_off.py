"""Answers that are called off because all who asked have the message by now, as their filters say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sdschat.sds.bloom import compact
from sdschat.sds.events import RepairCancelled
from sdschat.sds.repair import determine_t_resp
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

# Pushes come late, as they do where their budget is used up.
CONFIG = replace(QUIET, push_enabled=True, push_delay_min=9 * QUIET.t_max, push_delay_max=9 * QUIET.t_max)
CALLED_OFF = "peer_has_it"


def holding() -> tuple[Group, str]:
    """A node that holds a message whose answer is due long after a request for it."""
    group = Group("a", config=CONFIG, settle=2000)
    wanted = (f"m{place}" for place in range(1000))
    message_id = next(one for one in wanted if determine_t_resp(0, "a", "b", one, CONFIG.t_max) > CONFIG.t_max // 2)
    group.give("a", forge("b", message_id, START + 1))
    group.tick(CONFIG.push_grace + 1000)
    return group, message_id


def says(group: Group, name: str, *holds: str, asks: Sequence[str] = (), filter_: bytes | None = None) -> None:
    """A sync message, later than the last by as much as filters are reviewed apart."""
    group.tick(CONFIG.push_grace)
    packed = filter_of(*holds) if filter_ is None else filter_
    message_id = f"{name}-{group.now.wall}"
    group.give("a", forge(name, message_id, group.now.wall, content=None, requests=tuple(asks), bloom_filter=packed))


def ended(group: Group) -> list[str]:
    return [event.reason for event in group["a"].of(RepairCancelled)]


def answers(group: Group, message_id: str) -> int:
    return sum(packet.kind == "answer" and packet.message_id == message_id for packet in group["a"].sent)


def test_an_answer_is_called_off_once_the_asker_has_the_message() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    assert group["a"].of(RepairCancelled) == [RepairCancelled(message_id, CALLED_OFF)]
    group.tick(CONFIG.t_max)
    assert answers(group, message_id) == 0


def test_it_is_owed_as_long_as_one_who_asked_lacks_it() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    says(group, "d", asks=[message_id])
    says(group, "c", message_id)
    assert ended(group) == []
    says(group, "d", message_id)
    assert ended(group) == [CALLED_OFF]


def test_what_was_called_off_is_answered_when_it_is_asked_for_again_whatever_filters_say() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    assert ended(group) == [CALLED_OFF]
    group.tick(CONFIG.t_max)
    assert answers(group, message_id) == 1


def test_it_is_answered_still_if_the_next_request_comes_as_late_as_one_can() -> None:
    """T_req of the request that follows may lie T_max behind the wait of T_max."""
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    for _ in range(8):
        group.tick(CONFIG.t_max // 4)
        group.wake("a")
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    assert ended(group) == [CALLED_OFF]


def test_a_filter_that_held_it_when_it_was_asked_for_proves_nothing() -> None:
    """It held it by chance, and still does."""
    group, message_id = holding()
    says(group, "c", message_id, asks=[message_id])
    says(group, "c", message_id)
    group.tick(CONFIG.t_max)
    assert (ended(group), answers(group, message_id)) == ([], 1)


@pytest.mark.parametrize("first", ["c", "d"])
def test_one_who_asks_without_a_filter_is_answered(first: str) -> None:
    group, message_id = holding()
    for name in sorted("cd", reverse=first == "d"):
        if name == "c":
            says(group, "c", asks=[message_id])
        else:
            group.give("a", forge("d", "asks", group.now.wall, content=None, requests=(message_id,)))
    says(group, "c", message_id)
    group.tick(CONFIG.t_max)
    assert (ended(group), answers(group, message_id)) == ([], 1)


def test_a_filter_that_is_too_full_proves_nothing() -> None:
    group, message_id = holding()
    shape = compact.shape_for(256, 0.0001)
    full = compact.encode_window((1 << shape.bits) - 1, shape, shape.bits, 0)
    says(group, "c", asks=[message_id])
    says(group, "c", filter_=full)
    group.tick(CONFIG.t_max)
    assert (ended(group), answers(group, message_id)) == ([], 1)


def test_a_packet_that_anybody_may_have_written_calls_nothing_off() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    group.tick(CONFIG.push_grace)
    forged = forge("c", "forged", group.now.wall, content=None, bloom_filter=filter_of(message_id))
    group["a"].channel.receive_message(group.now, forged, CODEC.encode(forged), unproven=True)
    group.collect("a")
    assert ended(group) == []


def test_an_older_packet_than_the_last_tells_nothing_of_what_its_sender_has() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    group.tick(CONFIG.push_grace)
    group.give("a", forge("c", "old", START + 2, content=None, bloom_filter=filter_of(message_id)))
    group.tick(CONFIG.t_max)
    assert (ended(group), answers(group, message_id)) == ([], 1)


def test_a_restart_changes_nothing() -> None:
    group, message_id = holding()
    says(group, "c", asks=[message_id])
    group.crash("a")
    says(group, "c", message_id)
    assert ended(group) == [CALLED_OFF]
    group.crash("a")
    says(group, "c", asks=[message_id])
    says(group, "c", message_id)
    group.tick(CONFIG.t_max)
    assert (ended(group), answers(group, message_id)) == ([CALLED_OFF], 1)
