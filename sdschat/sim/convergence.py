"""How far the nodes are from all having the same messages, kept up to date message by message."""

from __future__ import annotations

from collections.abc import Mapping


class Convergence:
    """After `begin`, counts what each node still lacks of what some node has."""

    __slots__ = ("_horizons", "_lacking", "_lamports", "_logs", "ignored", "outstanding", "since")

    def __init__(self, logs: list[dict[str, int]]) -> None:
        self._logs = logs
        self.ignored: set[str] = set()  # what strangers wrote, which nobody is owed
        self._lacking: dict[int, dict[str, None]] = {}
        self._lamports: dict[str, int] = {}
        self._horizons: dict[int, int] = {}
        self.outstanding = 0
        self.since = -1

    def begin(self, time: int, horizons: Mapping[int, int]) -> None:
        """From now on, for these nodes: each must get everything from its join horizon on that another one has."""
        self.since = time
        self._horizons = dict(horizons)
        self._lamports = {}
        self._lacking = {node: {} for node in horizons}
        self.outstanding = 0
        for node in horizons:
            for message_id, lamport in self._logs[node].items():
                self.appeared(message_id, lamport)

    def appeared(self, message_id: str, lamport: int) -> None:
        if message_id in self._lamports or message_id in self.ignored:
            return
        self._lamports[message_id] = lamport
        for node, horizon in self._horizons.items():
            if lamport >= horizon and message_id not in self._logs[node]:
                self._lacking[node][message_id] = None
                self.outstanding += 1

    def appended(self, node: int, message_id: str, lamport: int) -> None:
        """The message is in the log of `node`."""
        if self.since < 0 or node not in self._horizons:
            return
        if message_id in self._lacking[node]:
            del self._lacking[node][message_id]
            self.outstanding -= 1
        self.appeared(message_id, lamport)

    def lacking(self) -> dict[int, list[str]]:
        return {node: list(ids) for node, ids in self._lacking.items() if ids}

    def required(self, node: int) -> list[str]:
        horizon = self._horizons[node]
        return [message_id for message_id, lamport in self._lamports.items() if lamport >= horizon]
