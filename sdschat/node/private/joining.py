"""Joinings by invite: our own, and the reason why one is of no use."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sdschat.identity.private.roster import UNKNOWN_EPOCH, UNKNOWN_INVITER, Position, Roster, SignedOperation
from sdschat.wire.private_codec import Join


class Joining(NamedTuple):
    """An operation by which somebody joined, or tried to."""

    position: Position
    operation: Join


def joinings_of(key: bytes, operations: Iterable[SignedOperation]) -> list[Joining]:
    return [
        Joining(each.position, each.operation)
        for each in operations
        if each.author_key == key and isinstance(each.operation, Join)
    ]


def last_joining(key: bytes, operations: Iterable[SignedOperation]) -> Position:
    """Return the place of the last joining by this key; the end of the log if there is none."""
    return max((each.position for each in joinings_of(key, operations)), default=(1 << 64, ""))


def refusal_words(channel: str, roster: Roster, key: bytes, operations: Collection[SignedOperation]) -> str:
    """Say why we are no member though we had an invite, for a person. Empty if nothing is known to be wrong.

    The inviter may have joined, and the key may have changed, by operations that are not here: while there are none of
    others, nobody has answered.
    """
    newest = max(joinings_of(key, operations), key=lambda each: each.position, default=None)
    why = "" if newest is None else roster.outcomes.get(newest.position[1], "")
    if not why:
        return ""
    if why in (UNKNOWN_INVITER, UNKNOWN_EPOCH) and all(each.author_key == key for each in operations):
        return f"no member of {channel} answered yet: you are in once one does, if your invite is of use"
    return f"your invite is of no use: {why}. Ask for a new one"
