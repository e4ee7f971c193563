"""One copy of a message serves all who lack it: our own calls off what else we meant to send, as another's does."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.events import PushCancelled, RepairCancelled
from sdschat.sds.repair import determine_t_resp
from tests.sds.group import QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

CONFIG = replace(QUIET, push_enabled=True, push_delay_min=1000, push_delay_max=6000)


def asks(group: Group, message_id: str) -> None:
    sync = forge("c", f"ask-{group.now.wall}", group.now.wall, content=None, requests=(message_id,))
    group.give("a", sync)


def lacks(group: Group, message_id: str) -> None:
    sync = forge("d", f"lack-{group.now.wall}", group.now.wall, content=None, bloom_filter=filter_of("another"))
    group.give("a", sync)
    assert message_id in group["a"].channel.state.pushes.timers


def sent(group: Group, message_id: str) -> list[str]:
    return [packet.kind for packet in group["a"].sent if packet.message_id == message_id]


def held(answered_after: tuple[int, int]) -> tuple[Group, str]:
    """A node that holds a message whose answer is due so long after a request for it."""
    group = Group("a", config=CONFIG, settle=2000)
    low, high = answered_after
    message_id = next(
        found
        for found in (f"m{place}" for place in range(10_000))
        if low <= determine_t_resp(0, "a", "b", found, CONFIG.t_max) < high
    )
    group.give("a", forge("b", message_id, START + 1))
    group.tick(CONFIG.push_grace + 1000)
    return group, message_id


def test_a_push_calls_off_the_answer() -> None:
    group, message_id = held((20_000, 100_000))
    asks(group, message_id)
    lacks(group, message_id)
    group.tick(CONFIG.t_max)
    assert sent(group, message_id) == ["push"]
    assert group["a"].of(RepairCancelled) == [RepairCancelled(message_id, "pushed")]


def test_an_answer_calls_off_the_push() -> None:
    group, message_id = held((0, 500))
    asks(group, message_id)
    lacks(group, message_id)
    group.tick(CONFIG.t_max)
    assert sent(group, message_id) == ["answer"]
    assert group["a"].of(PushCancelled) == [PushCancelled(message_id, "answered")]


def test_a_resend_calls_off_both() -> None:
    group = Group("a", config=CONFIG, settle=2000)
    message_id = group.send("a", "mine").message_id
    group.tick(CONFIG.push_grace + 1000)
    asks(group, message_id)
    lacks(group, message_id)
    group["a"].channel.resend(group.now, message_id)
    group.tick(CONFIG.resend_unacked - 1000)
    assert sent(group, message_id) == ["message", "resend"]
    assert group["a"].of(RepairCancelled) == [RepairCancelled(message_id, "resent")]
    assert group["a"].of(PushCancelled) == [PushCancelled(message_id, "resent")]


def test_a_push_of_another_message_calls_nothing_off() -> None:
    group, message_id = held((20_000, 100_000))
    asks(group, message_id)
    group.give("a", forge("b", "other", START + 2))
    group.tick(CONFIG.push_grace + 1000)
    sync = forge("d", "lack", group.now.wall, content=None, bloom_filter=filter_of(message_id))
    group.give("a", sync)
    group.tick(CONFIG.t_max)
    assert sent(group, message_id) == ["answer"]
    assert sent(group, "other") == ["push"]
