"""Events of catching up and of direct messages."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.identity.content import OpenedContent


class CatchingUp(NamedTuple):
    """`state`: waiting (for somebody to ask), comparing, loading, paused or done. `done` of `total` messages are
    here, by way of `source`. Everything dated from `since` on (a Lamport time) is being caught up on."""

    state: str
    done: int
    total: int
    source: str
    nick: str
    since: int


class BodiesFetched(NamedTuple):
    """Messages that were kept as ids were wanted in full: so many came, and nobody who is here has the others."""

    fetched: int
    left: int


class DirectSaid(NamedTuple):
    """A message between two participants: one of ours was taken to be sent, or one for us came. It is saved."""

    message_id: str
    sender_id: str
    to: str
    nick: str  # of the sender
    opened: OpenedContent
    own: bool
    gap: tuple[str, ...] = ()  # messages that were waited for before it, and given up


class DirectRefused(NamedTuple):
    """Something that came as a direct message, and is not taken: it cannot be read, or is not by whom it says, or
    exceeds what is taken of people to whom the user never wrote."""

    sender_id: str
    why: str
