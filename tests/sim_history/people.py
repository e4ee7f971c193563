"""Who is who in a simulation with Stores: keys that follow from the seed, and ids that follow from the keys."""

from __future__ import annotations

from hashlib import sha256
from random import Random

from sdschat.identity.keys import Identity
from sdschat.sim.scenario import Scenario


class Strangers:
    """`identity.content.Keys` of somebody who has met nobody: the messages of a simulation are not signed."""

    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return False


class Person:
    """A participant. `address`: under which others write to it."""

    def __init__(self, name: str, store: bool, lies: str) -> None:
        self.identity = Identity(sha256(f"seed of {name}".encode()).digest())
        self.store = store
        self.lies = lies
        self.address = self.identity.sender_id


# How a Store lies. Each is noticed, or does no harm.
LIES = ("other bytes", "another message", "leaves out", "turns around", "nothing there", "silent")


def people_of(scenario: Scenario) -> list[Person]:
    """None, one or two of a group are Stores; of those, some lie."""
    draw = Random(f"people {scenario.seed}")
    count = len(scenario.plans) - 1  # who comes at the very end is no Store
    stores = set(draw.sample(range(count), min(count - 1, draw.choice((0, 1, 1, 2)))))
    lies = {at: draw.choice(LIES) for at in stores if draw.random() < 0.4}
    return [Person(plan.name, at in stores, lies.get(at, "")) for at, plan in enumerate(scenario.plans)]
