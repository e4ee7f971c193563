"""Planted defects: each changes the real engine at one place, for as long as the context lasts.

Most of them are what other implementations of the protocol do, or what this one nearly did. A simulator that does not
find every one of them is not worth running.
"""

from __future__ import annotations

from tests.sim import defects_acks, defects_disk, defects_liveness, defects_log
from tests.sim.plant import DEFECTS

__all__ = ["DEFECTS", "defects_acks", "defects_disk", "defects_liveness", "defects_log"]
