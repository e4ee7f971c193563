"""Participants of a simulation with Stores: keys that follow from the seed, and ids that follow from the keys."""

from __future__ import annotations

from hashlib import sha256
from random import Random

from sdschat.identity.signing import Identity
from sdschat.sim.scenario import Scenario


class Strangers:
    """`identity.content.Keys` of somebody who has met nobody: the messages of a simulation are not signed."""

    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return False


class Person:
    """A participant. `address`: under which others write to it. `on_join`: the setting `history.on_join`."""

    def __init__(self, name: str, store: bool, lies: str, on_join: str = "all") -> None:
        self.identity = Identity(sha256(f"seed of {name}".encode()).digest())
        self.store = store
        self.lies = lies
        self.on_join = on_join
        self.address = self.identity.sender_id


# What a Store does that it should not. A lie is noticed, or does no harm; to be slow is no lie.
SLOW = ("silent", "busy")
LIES = (
    "altered",
    "another message",
    "omits every tenth",
    "omits every other",
    "disordered",
    "denies by id",
    "empty pages",
    "absurd floor",
    "impossible floor",
)
MISBEHAVIOUR = (*SLOW, *LIES)
ON_JOIN = ("all", "all", "24h", "none")


def people_of(scenario: Scenario) -> list[Person]:
    """None, one or two of a group are Stores; of those, some lie."""
    draw = Random(f"people {scenario.seed}")
    count = len(scenario.plans) - 1  # who comes at the very end is no Store
    stores = set(draw.sample(range(count), min(count - 1, draw.choice((0, 1, 1, 2)))))
    lies = {at: draw.choice(MISBEHAVIOUR) for at in sorted(stores) if draw.random() < 0.5}
    return [
        Person(plan.name, at in stores, lies.get(at, ""), draw.choice(ON_JOIN))
        for at, plan in enumerate(scenario.plans)
    ]
