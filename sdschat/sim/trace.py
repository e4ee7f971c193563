"""Trace of a run as a number: two runs of one seed must give the same one, in every process."""

from __future__ import annotations

from hashlib import sha256
from zlib import crc32

from sdschat.sds.state import Ready
from sdschat.sds.values import Append


class Trace:
    """A running sum over everything published, and on demand over everything written and told, step by step."""

    __slots__ = ("_full", "steps", "sum")

    def __init__(self, full: bool = False) -> None:
        self._full = full
        self.sum = 0
        self.steps: list[tuple[int, int, str]] = []

    def sent(self, time: int, node: int, raw: bytes) -> None:
        self.sum = crc32(raw, self.sum ^ time ^ (node << 24))

    def step(self, time: int, node: int, ready: Ready) -> None:
        if self._full and (ready.writes or ready.packets or ready.events):
            # Rows of one transaction have keys of their own, so their order means nothing; that of the log does.
            log = [write for write in ready.writes if isinstance(write, Append)]
            rows = sorted(repr(write) for write in ready.writes if not isinstance(write, Append))
            what = repr((log, rows, ready.packets, ready.events))
            self.steps.append((time, node, sha256(what.encode("utf-8", "surrogatepass")).hexdigest()))

    def digest(self) -> str:
        return sha256(repr((self.sum, self.steps)).encode()).hexdigest()
