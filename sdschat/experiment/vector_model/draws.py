"""Random numbers, drawn once per participant and step, and only for the participants that are asked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.wheel import Indices

Draws = npt.NDArray[np.float32]


class OncePerStep:
    __slots__ = ("_drawn_in", "_step", "_values")

    def __init__(self, count: int) -> None:
        self._values: Draws = np.zeros(count, dtype=np.float32)
        self._drawn_in = np.zeros(count, dtype=np.int32)
        self._step = 0

    def anew(self) -> OncePerStep:
        """Begin a new step: forget all earlier draws."""
        self._step += 1
        return self

    def of(self, who: Indices, random: np.random.Generator) -> Draws:
        new = who[self._drawn_in[who] != self._step]
        if len(new):
            self._values[new] = random.random(len(new), dtype=np.float32)
            self._drawn_in[new] = self._step
        return self._values[who]

    def everyone(self, random: np.random.Generator) -> Draws:
        fresh = random.random(len(self._values), dtype=np.float32)
        before = np.flatnonzero(self._drawn_in == self._step)
        fresh[before] = self._values[before]
        return fresh
