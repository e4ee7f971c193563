"""The pages of our state for those who ask for it."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.timber import limits
from sdschat.timber.core import EngineState
from sdschat.timber.states import state_for
from sdschat.timber.values import CheckpointMark, Packet, StatePage, StateWanted


class GivenState(NamedTuple):
    """A state in pages. `only_to`: the peer that it is for, where it is ahead of the compaction."""

    mark: CheckpointMark
    bodies: list[bytes]
    only_to: bytes | None
    takers: set[bytes]  # whom its first page was sent to


class StateGiver:
    """Gives one state at a time. Nothing in it must survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.given: GivenState | None = None
        self.given_at = 0
        self.paged: dict[bytes, tuple[int, int]] = {}  # peers given a page: until when it is on its way, and its number

    def answer(self, peer: bytes, wanted: StateWanted) -> None:
        """Send the page that a peer asks for, if there is a state for it."""
        core = self.core
        if not wanted.page:
            core.compact()
            if not self._may_give_again(peer):
                made = self._make(peer)
                if made is None:
                    return
                self.given = made
        given = self.given
        if given is None:
            return
        if not wanted.page:
            given.takers.add(peer)
        elif peer not in given.takers or wanted.number != given.mark.number:
            return  # it has pages of a state that was made before
        self.given_at = core.mono
        if wanted.page < len(given.bodies):
            until, last = self.paged.get(peer, (core.mono, -1))
            if core.mono >= until or wanted.page > last:
                self.paged[peer] = (core.mono + core.config.retry // 8, wanted.page)
                page = StatePage(given.mark, wanted.page, len(given.bodies), given.bodies[wanted.page])
                core.packets.append(Packet(peer, page))

    def _may_give_again(self, peer: bytes) -> bool:
        """True if the state that was made last is not old, and is for this peer too."""
        core, given = self.core, self.given
        if given is None or core.mono - self.given_at > 2 * core.config.sync_interval:
            return False
        return given.only_to in (None, peer) and given.mark in (core.replica.base, core.replica.mark)

    def _make(self, peer: bytes) -> GivenState | None:
        state = state_for(self.core.replica, peer)
        if state is None:
            return None
        raw = self.core.codec.encode_state(state)
        size = limits.PAGE_BYTES
        bodies = [raw[start : start + size] for start in range(0, len(raw), size)]
        return GivenState(state.mark, bodies, None if state.mark == self.core.replica.base else peer, set())
