"""Outcome of an operation that comes to a replica: it waits, or changes follow from it."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.timber.tree import TreeNode
from sdschat.timber.values import CheckpointMark, Value


class Wait(NamedTuple):
    """An operation cannot be placed before another one is held. `seq` 0: before the slot exists."""

    slot: int
    seq: int


class Settled(NamedTuple):
    """The checkpoint passed an operation."""

    node: TreeNode
    counts: bool  # its event had its effect
    mark: CheckpointMark  # with it


class Admitted(NamedTuple):
    slot: int


class Closed(NamedTuple):
    slot: int
    last: int
    why: str  # "left" or "removed"
    lost: tuple[TreeNode, ...]  # operations held here that do not count


class TurnEnded(NamedTuple):
    number: int
    value: Value | None
    agreed: dict[int, int]  # who accepted it, with the accepts that each needs


Change = Settled | Admitted | Closed | TurnEnded
