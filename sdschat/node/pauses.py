"""Pauses of the network: nothing more is read from it while somebody cannot take what comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession

DISK: Final = "the disk"  # nothing can be saved
OUTPUT: Final = "the output"  # the reader of our output is behind


class Pauses:
    """The reasons for which no channel reads from the network: it goes on when the last of them is over."""

    def __init__(self, sessions: Mapping[str, ChannelSession]) -> None:
        self._sessions = sessions
        self._reasons: set[str] = set()

    def begin(self, reason: str) -> None:
        self._reasons.add(reason)
        for session in self._sessions.values():
            session.transport.pause()

    def end(self, reason: str) -> None:
        self._reasons.discard(reason)
        if not self._reasons:
            for session in self._sessions.values():
                session.transport.resume()
