"""The cost of an operation in committees of ten to a thousand members."""

from __future__ import annotations

import time
from hashlib import sha256

from sdschat.timber.intake import OperationIntake
from sdschat.timber.replica import Replica
from sdschat.timber.values import CheckpointMark, SlotRow, State, Statements, operation_id
from sdschat.timber.voting import statements
from tests.timber.world import key_of, signed_operation, verify

ROUNDS = 8


def committee_of(count: int) -> Replica:
    """Return a replica of a data set with `count` members that have written nothing but the first operation."""
    slots = tuple(SlotRow(n, key_of(n), int(n == 0), bytes(32), ((0, 1),), 0, 0, None, "") for n in range(count))
    state = State(CheckpointMark(1, bytes(32)), bytes(32), 0, tuple(range(count)), slots, (), (), (), ())
    replica = Replica()
    replica.load(state, [], lambda node, key: True)
    return replica


def cost(count: int, writing: int, operations: int) -> tuple[float, float]:
    """Return the microseconds of the processor, and the bytes, of an operation that is made, taken in and answered.

    `writing` members write in turn, each after it has heard all others.
    """
    replica = committee_of(count)
    data_set = sha256(b"bench").digest()
    intake = OperationIntake(replica, data_set, verify, lambda node: None)
    took, size = 0.0, 0
    for number in range(operations + writing):
        replica.me = number % writing
        replica.fresh = {one for one in range(writing) if one != replica.me}
        began = time.process_time()
        one = signed_operation(data_set, key_of(replica.me), replica.draft(None, Statements()))
        intake.receive(one)
        statements(replica, ROUNDS)
        replica.compact()
        if number >= writing:  # the first round names many at once
            took += time.process_time() - began
            size += len(one.raw)
        assert operation_id(data_set, one.raw) in replica.tree.nodes, intake.refused
    return took / operations * 1e6, size / operations


def lines(operations: int = 300) -> list[str]:
    found = []
    for count in (10, 100, 1000):
        few, few_bytes = cost(count, 5, operations)
        every, every_bytes = cost(count, count, operations)
        found.append(
            f"| {count:,} | {few:,.0f} µs, {few_bytes:,.0f} bytes | {every:,.0f} µs, {every_bytes:,.0f} bytes |"
        )
    return found
