"""States in pages: ours for those who ask for it, and one of a peer whom we asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from sdschat.timber import limits
from sdschat.timber.config import MINUTE
from sdschat.timber.core import EngineState
from sdschat.timber.replica import Replica
from sdschat.timber.states import state_for
from sdschat.timber.values import CheckpointMark, Packet, Reason, StatePage, StateWanted, chained

STATES_AN_HOUR: Final = 3  # for one peer, who may lose some pages or start again; there are others to ask
_FEW: Final = 16  # pages: of a small state there may be as many
_HOUR: Final = 60 * MINUTE


class GivenState(NamedTuple):
    """A state in pages. `only_to`: the peer that it is for, where it is ahead of the compaction."""

    mark: CheckpointMark
    bodies: list[bytes]
    only_to: bytes | None
    takers: set[bytes]  # whom its first page was sent to


class _Paged(NamedTuple):
    """Pages that a peer was given."""

    until: int  # when the last one is on its way no more
    page: int  # the number of the last one
    number: int  # how many since `since`
    since: int


class StateGiver:
    """Gives one state at a time. Nothing in it must survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.given: GivenState | None = None
        self.given_at = 0
        self.paged: dict[bytes, _Paged] = {}

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
        if wanted.page < len(given.bodies) and self._may_page(peer, wanted.page, len(given.bodies)):
            page = StatePage(given.mark, wanted.page, len(given.bodies), given.bodies[wanted.page])
            core.packets.append(Packet(peer, page))

    def _may_page(self, peer: bytes, page: int, total: int) -> bool:
        """True if a peer may have a page now: a request is small, and a state may be large."""
        mono = self.core.mono
        paged = self.paged.get(peer)
        if paged is None or mono >= paged.since + _HOUR:
            paged = _Paged(mono, -1, 0, mono)
        if paged.number >= STATES_AN_HOUR * max(total, _FEW) or (mono < paged.until and page <= paged.page):
            return False
        self.paged[peer] = _Paged(mono + self.core.config.retry // 8, page, paged.number + 1, paged.since)
        return True

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


def goes_on_from(replica: Replica, mark: CheckpointMark) -> bool:
    """True if a checkpoint of somebody is ours, lies behind ours, or is in front of it in our own history."""
    passed = replica.mark
    node = replica.settled.after if replica.settled is not None else None
    while node is not None and passed.number < mark.number:
        if not node.dead:
            passed = CheckpointMark(passed.number + 1, chained(passed.hash, node.id))
        node = node.after
    return mark.number < replica.mark.number or passed == mark


@dataclass(slots=True)
class TakenState:
    """A state of a peer, as far as it has come."""

    peer: bytes
    mark: CheckpointMark
    total: int
    bodies: list[bytes]
    size: int = 0


class StateTaker:
    """Takes one state at a time: only pages that were asked for, of whom they were asked, each once. Nothing in it must
    survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.taken: TakenState | None = None
        self.taken_at = 0
        self.asked: set[bytes] = set()  # peers that may send a first page, each one: it answers a clock too
        self.asked_until = core.mono  # before that, nobody else is asked

    def ask(self, peer: bytes) -> None:
        """Ask a peer for its state, if no other one is asked now: a state may be large."""
        core = self.core
        if self.taken is None and self.asked_until <= core.mono:
            self.asked_until = core.mono + core.config.retry // 4
            self.asked.add(peer)
            core.packets.append(Packet(peer, StateWanted(0, 0)))

    def ask_again(self) -> bool:
        """Ask for the page that we wait for. False if we wait for none."""
        if self.taken is not None:
            self._ask_next(self.taken)
        return self.taken is not None

    def expire(self) -> None:
        """Forget the pages of a peer that sends no more of them."""
        if self.core.mono - self.taken_at > 2 * self.core.config.sync_interval:
            self.taken = None

    def take(self, peer: bytes, page: StatePage) -> bytes | None:
        """Take in a page, and ask for the next one. Return all bytes of the state with the last one."""
        core, taken = self.core, self.taken
        if page.mark.number <= core.replica.mark.number:
            return None
        if page.page == 0 and peer in self.asked:
            self.asked.discard(peer)
            if taken is None or (taken.peer == peer and taken.mark != page.mark):
                taken = TakenState(peer, page.mark, page.pages, [])
        if taken is None or (taken.mark, taken.total, taken.peer) != (page.mark, page.pages, peer):
            core.refuse(peer, Reason.OTHER_STATE, "page")
            return None
        if page.page != len(taken.bodies):
            return None
        self.taken, self.taken_at = taken, core.mono
        taken.bodies.append(page.body)
        taken.size += len(page.body)
        if taken.size > limits.STATE_BYTES:
            self.taken = None
            core.refuse(peer, Reason.TOO_LARGE, "state")
            return None
        if len(taken.bodies) < taken.total:
            self._ask_next(taken)
            return None
        self.taken = None
        return b"".join(taken.bodies)

    def _ask_next(self, taken: TakenState) -> None:
        self.core.packets.append(Packet(taken.peer, StateWanted(taken.mark.number, len(taken.bodies))))
