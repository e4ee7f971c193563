"""Packets of nobody, and of strangers, to a members' channel: `python -m tests.attacks.strangers [--size 5000]`."""

from __future__ import annotations

import random
import time
from contextlib import closing

from sdschat.identity.members import seal_packet
from sdschat.timber.values import (
    CheckpointMark,
    Message,
    Operation,
    OperationBody,
    StatePage,
    StateWanted,
    Submit,
    Sync,
)
from sdschat.transport.base import Topics
from tests.attacks.attacker import new_key
from tests.attacks.flood import memory_of
from tests.attacks.members_channel import CHANNEL, CODEC, LATEST, MembersTarget
from tests.attacks.replayed import Listener
from tests.attacks.stage import Stage, main

_GROWTH = 50  # MB of memory
_A_MINUTE = 20  # lines of refusals for each member
_MINUTE = 60.0


def strangers(stage: Stage, size: int) -> bool:
    """Operations, events, states and questions of a key that is no member, also under the names of members, and in
    envelopes that nobody signed. Each was a line.

    Defended if twenty a minute are told, the members' posts come through, and nothing else is shown or kept.
    """
    rng = random.Random(size)
    with closing(Listener(stage.port, 0, 100_000)) as listener:
        target = MembersTarget(stage, listener)
        target.say("ann", "before")
        members = [target.sender_id(name) for name in target.pipes]
        before = {name: memory_of(pipe.process.pid) for name, pipe in target.pipes.items()}
        key, began, sent = new_key(), time.monotonic(), len(listener.heard)
        for number in range(size):
            raw = _packet(rng, number)
            whole = seal_packet(key, CHANNEL, target.announced.data_set, "somebody", raw)
            torn = whole[:-1] + bytes([whole[-1] ^ 1])
            to = rng.choice(members)
            frm, payload = rng.choice([(key.sender_id, whole), (key.sender_id, torn), (rng.choice(members), whole)])
            if frm != to:
                listener.publish(Topics(CHANNEL).timber(to, frm), payload)
            if number % 100 == 99:
                listener.flush()
        delay = target.say("bob", "after")
        minutes = 1 + int((time.monotonic() - began) / _MINUTE)
        answers = sum(f"/{key.sender_id}/" in topic for topic, _ in listener.heard[sent:])
        shown = [target.texts(name) for name in target.pipes]
    grown = max(memory_of(pipe.process.pid) - before[name] for name, pipe in target.pipes.items())
    told = target.told("rejected")
    stage.saw("refusals that the three members tell", told)
    stage.saw("packets in answer to the stranger", answers)
    stage.saw("seconds until an honest post is shown by all", f"{delay:.1f}")
    stage.saw("memory that was added, MB", f"{grown:.0f}")
    right = all(texts == ["before", "after"] for texts in shown)
    return right and told <= 2 * len(shown) * _A_MINUTE * minutes and delay < LATEST and grown < _GROWTH and not answers


def _packet(rng: random.Random, number: int) -> bytes:
    body = OperationBody(rng.randrange(3), number + 2, bytes(32), (), bytes(32), 0, 0)
    operation = Operation(body, CODEC.encode_operation(body), rng.randbytes(64))
    mark = CheckpointMark(number + 1000, bytes(32))
    kinds: list[Message] = [
        Sync(mark, ((0, number + 1),), bytes(32), (operation,) * 8),
        Sync(mark, (), bytes(32)),
        Submit(()),
        StatePage(mark, 0, 2, rng.randbytes(1000)),
        StateWanted(0, 0),
    ]
    return CODEC.encode(rng.choice(kinds))


if __name__ == "__main__":
    main(strangers, 5000, "packets")
