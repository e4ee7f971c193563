"""Tables of delivery: for a set of held messages, the messages delivered and the messages named in a new one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Masks = npt.NDArray[np.uint16]


class Logs:
    """Tables over all sets of messages, as bit masks. Each new message gives its dependencies and renews the tables."""

    def __init__(self, messages: int, causal: int) -> None:
        self.causal = causal
        self.dependencies: list[int] = []
        self._all = np.arange(1 << messages, dtype=np.uint16)
        self.delivered: Masks = np.zeros_like(self._all)
        self.named: Masks = np.zeros_like(self._all)

    def add(self, dependencies: int) -> None:
        self.dependencies.append(dependencies)
        self._deliver()
        self._name()

    def _deliver(self) -> None:
        self.delivered = self._closure(self._all, np.zeros_like(self._all))

    def _closure(self, held: Masks, waived: Masks) -> Masks:
        """Return the delivered messages, in log order: held, and all dependencies delivered or waived."""
        done = np.zeros_like(held)
        for at, needs in enumerate(self.dependencies):
            met = ((held >> at) & 1 == 1) & ((done | waived) & needs == needs)
            done[met] |= np.uint16(1 << at)
        return done

    def delivered_of(self, held: Masks, waived: Masks) -> Masks:
        """Return the messages that participants with these messages deliver, without waiting for the waived ones."""
        found = self.delivered[held]
        some = waived != 0
        if some.any():
            found[some] = self._closure(held[some], waived[some])
        return found

    def _name(self) -> None:
        """Set the causal history of each set of delivered messages: its newest heads, then the newest of the rest."""
        covered = np.zeros_like(self._all)
        for at, needs in enumerate(self.dependencies):
            covered[(self._all >> at) & 1 == 1] |= np.uint16(needs)
        chosen = np.zeros_like(self._all)
        room = np.full(len(self._all), self.causal)
        for pool in (self._all & ~covered, self._all & covered):
            for at in reversed(range(len(self.dependencies))):
                take = ((pool >> at) & 1 == 1) & (room > 0)
                chosen[take] |= np.uint16(1 << at)
                room[take] -= 1
        self.named = chosen
