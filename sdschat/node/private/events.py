"""Events of private channels: typed, in the past tense."""

from __future__ import annotations

from typing import NamedTuple


class EpochChanged(NamedTuple):
    """The channel uses another key from now on: number 1 is the one it began with."""

    number: int


class MembersChanged(NamedTuple):
    """Sender ids of all members."""

    members: tuple[str, ...]


class MessageWithheld(NamedTuple):
    """A message of the log is not shown: its author was no member at its place."""

    message_id: str
    sender_id: str
    nick: str


class NotAMember(NamedTuple):
    """We are no member: `why` says for what reason, for a person."""

    why: str
