"""Statements on ballots that lie, as a member may sign them."""

from __future__ import annotations

import random

from sdschat.timber.replica import Replica
from sdschat.timber.values import Accept, Ballot, Proposal, Statements, Value


def random_lie(rng: random.Random, replica: Replica) -> Statements:
    """Return statements of a member, drawn without regard to what was said before."""
    turn, slots, me = replica.turn, replica.committee.slots, replica.me
    assert me is not None
    numbers = range(len(slots))
    mine = Ballot(rng.choice([1, 2, 9, 2**31]), me)
    ballots = sorted({*turn.prepared, *turn.proposed, mine})
    removed = tuple((one, slots[one].seq) for one in numbers if rng.random() < 0.3)
    value = Value(removed, tuple(one for one in numbers if rng.random() < 0.6))
    own = rng.choice([ballot for ballot in ballots if ballot.slot == me])
    prepares = rng.random() < 0.5
    return Statements(
        own if prepares else None,
        rng.choice(ballots) if rng.random() < 0.5 else None,
        None if prepares else Proposal(own, value, rng.random() < 0.5),
        Accept(rng.choice(ballots), value, rng.randint(1, 3)) if rng.random() < 0.5 else None,
    )
