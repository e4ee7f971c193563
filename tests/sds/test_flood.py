"""A flood of messages that name invented ids does not hold up what honest participants say."""

from __future__ import annotations

from random import Random

import pytest

from sdschat.sds.config import Config
from sdschat.sds.events import Delivered
from sdschat.sds.values import Message, Now
from tests.sds.group import CODEC, START, Node, forge

_KEYS = 3
_EVERY = 100  # ms between two messages of the flood
_IN_FULL = 0.5  # of these a participant keeps with the text; of the others the id
_SAY_EVERY = 2_000  # ms
_ON_ITS_WAY = 50  # ms
_WITHIN = 1_000  # ms
_CONFIG = Config(sync_interval=24 * 3_600_000, t_min=5_000, t_max=20_000, lost_after=60_000)


class _Participant:
    def __init__(self, name: str, chance: Random) -> None:
        self.node = Node(name, _CONFIG, Now(START, 0))
        self._chance = chance

    def hear(self, at: int, message: Message, *, honest: bool) -> list[str]:
        """Take a packet, the flood's in full or as an id; return the ids of what is delivered."""
        now, raw = Now(START + at, at), CODEC.encode(message)
        self.node.channel.advance(now)
        if honest or self._chance.random() < _IN_FULL:
            self.node.channel.receive_message(now, message, raw)
        else:
            self.node.channel.receive_id(now, message)
        return [event.message.message_id for event in self.node.take().events if isinstance(event, Delivered)]

    def say(self, at: int) -> Message:
        sent = self.node.channel.send(Now(START + at, at), f"at {at}".encode())
        self.node.take()
        return sent


def _waits(minutes: int, chance: Random, joins_at: int = 0) -> list[int]:
    """Have two participants hear the same flood, the second from `joins_at` on; return how long each honest message of
    the first took to be delivered by the second, in ms."""
    ann, eve = _Participant("ann", chance), _Participant("eve", chance)
    end = minutes * 60_000
    said: dict[str, int] = {}
    waits: list[int] = []
    for number, at in enumerate(range(_EVERY, end, _EVERY)):
        sent = forge(f"evil{number % _KEYS}", f"f{number}", START + at, f"no-{number}-1", f"no-{number}-2")
        ann.hear(at, sent, honest=False)
        delivered = eve.hear(at, sent, honest=False) if at >= joins_at else []
        if at % _SAY_EVERY == 0 and at > joins_at:
            mine = ann.say(at + 1)
            said[mine.message_id] = at + 1
            delivered += eve.hear(at + _ON_ITS_WAY, mine, honest=True)
        waits += [at + _ON_ITS_WAY - said.pop(message_id) for message_id in delivered if message_id in said]
    return waits + [end - at for at in said.values()]


@pytest.mark.parametrize("seed", range(3))
def test_an_honest_message_does_not_wait_for_what_a_flood_invents(seed: int) -> None:
    waits = sorted(_waits(10, Random(seed)))
    assert len(waits) > 250
    assert waits[len(waits) * 95 // 100] <= _WITHIN
    assert waits[-1] < _CONFIG.lost_after // 2  # once, while the first of the ids are given up


def test_whoever_joins_in_a_flood_waits_until_its_senders_have_named_their_share() -> None:
    waits = sorted(_waits(6, Random(7), joins_at=4 * 60_000))
    assert waits[len(waits) * 3 // 4] <= _WITHIN
    assert waits[-1] < _CONFIG.lost_after // 2
