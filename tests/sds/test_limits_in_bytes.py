"""Bounds that count bytes and not messages: what is deferred in a channel, what is pushed and answered in a minute."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds import limits
from sdschat.sds.config import Config
from sdschat.sds.state import ChannelState
from sdschat.sds.values import Message
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

SIZE = 32 * limits.KIB
SHARE = limits.FUTURE_DATED_BYTES_PER_SENDER // SIZE
ALL = limits.FUTURE_DATED_BYTES_PER_CHANNEL // SIZE


def dated_ahead(sender: str, place: int, size: int) -> Message:
    """A message to be deferred, whose packet has exactly this many bytes."""

    def of(content: int) -> Message:
        return forge(sender, f"m{place}", START + 10 * QUIET.max_skew + place, content=b"x" * content)

    message = of(size - (len(CODEC.encode(of(size))) - size))
    assert len(CODEC.encode(message)) == size
    return message


@pytest.mark.parametrize(("extra", "stay"), [(-1, ALL), (0, ALL), (1, ALL - 1)])
def test_bytes_deferred_in_one_channel(extra: int, stay: int) -> None:
    group = Group("a")
    for place in range(ALL - 1):
        group.give("a", dated_ahead(f"p{place // SHARE}", place, SIZE))
    group.give("a", dated_ahead("newcomer", ALL, SIZE + extra))
    held = group["a"].channel.state.incoming.buffered
    assert (f"m{ALL}" in held, len(held)) == (True, stay)


def test_bytes_pushed_in_a_minute() -> None:
    at_once = replace(Config(), id_rule="text", push_delay_min=1000, push_delay_max=1000)
    group = Group("a", config=at_once, settle=2000)
    each, count = 60_000, 12
    for place in range(count):
        group.give("a", forge("b", f"m{place}", group.now.wall + place, content=b"x" * each))
    group.tick(at_once.push_grace)
    group.give("a", forge("c", "s", group.now.wall, content=None, bloom_filter=filter_of("nothing of these")))
    group.tick(1000)
    assert len(group["a"].messages("push")) == limits.PUSH_BYTES_PER_MINUTE // each + 1  # the last one overfills it
    group.tick(60_000)
    assert len(group["a"].messages("push")) == count


def test_what_waits_for_the_budget_goes_out_oldest_first() -> None:
    """The others depend on it: a peer with no room for what waits refuses them until it is there."""
    spread = replace(Config(), id_rule="text", push_delay_min=1, push_delay_max=1000)
    group = Group("a", config=spread, settle=2000)
    each, at_once = 60_000, limits.PUSH_BYTES_PER_MINUTE // 60_000 + 1
    ids = [f"m{7 * place % 16}" for place in range(16)]
    for place, message_id in enumerate(ids):
        group.give("a", forge("b", message_id, group.now.wall + place, content=b"x" * each))
    group.tick(spread.push_grace)
    group.give("a", forge("c", "s", group.now.wall, content=None, bloom_filter=filter_of("nothing of these")))
    for _ in range(16):
        group.tick(10_000)
    pushed = [packet.message_id for packet in group["a"].sent if packet.kind == "push"]
    waited = pushed[at_once:]
    assert len(pushed) == len(ids)
    assert waited == [message_id for message_id in ids if message_id in waited]


def test_many_small_requests_do_not_keep_a_large_answer_waiting() -> None:
    """An answer that exceeds the rest of the budget goes before those that were asked for later."""
    group = Group("a", settle=2000)
    large = group.send("a", "x" * 60_000).message_id
    small = [group.send("a", f"{place}".ljust(1000, ".")).message_id for place in range(200)]
    group.tick(QUIET.t_max)
    for second in range(200):
        wanted = [small[(2 * second + place) % len(small)] for place in range(2)]  # 120 KiB a minute
        group.give("a", forge(f"p{second % 9}", f"r{second}", group.now.wall, content=None, requests=tuple(wanted)))
        if second == 60:
            group.give("a", forge("patient", "r", group.now.wall, content=None, requests=(large,)))
        group.tick(1000)
    answers = [packet for packet in group["a"].sent if packet.kind == "answer"]
    assert large in [packet.message_id for packet in answers]
    minutes = 200 / 60
    assert sum(len(packet.raw) for packet in answers) < (minutes + 2) * limits.ANSWER_BYTES_PER_MINUTE


def test_what_the_budget_does_not_suffice_for_is_not_read_again_in_every_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    group = Group("a", settle=2000)
    ids = [group.send("a", chr(65 + place) * 30_000).message_id for place in range(20)]
    for place, wanted in enumerate(ids):
        group.give("a", forge(f"c{place}", f"s{place}", group.now.wall, content=None, requests=(wanted,)))
    group.tick(100)
    answered = len(group["a"].messages("answer"))
    read: list[str] = []
    packet_of = ChannelState.packet_of

    def counted(state: ChannelState, message_id: str) -> tuple[bytes, str] | None:
        read.append(message_id)
        return packet_of(state, message_id)

    monkeypatch.setattr(ChannelState, "packet_of", counted)
    for _ in range(10):
        group.tick(1000)
    assert answered < len(ids)
    assert len(group["a"].messages("answer")) == answered
    assert read == []
