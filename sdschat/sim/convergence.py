"""Distance of the nodes from all having the same messages, kept up to date message by message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping


class Convergence:
    """After `begin`, counts what each node still lacks of what some node has."""

    __slots__ = (
        "_horizons",
        "_lacking",
        "_lamports",
        "_logs",
        "_refuses",
        "_silent",
        "beyond_reach",
        "ignored",
        "outstanding",
        "since",
    )

    def __init__(self, logs: list[dict[str, int]]) -> None:
        self._logs = logs
        self.ignored: set[str] = set()  # what strangers wrote and what is gone, which nobody is owed
        self.beyond_reach: set[str] = set()  # what is gone
        self._lacking: dict[int, dict[str, None]] = {}
        self._lamports: dict[str, int] = {}
        self._horizons: dict[int, int] = {}
        self._refuses: Callable[[int, str], bool] = lambda node, message_id: False
        self._silent: Collection[int] = ()
        self.outstanding = 0
        self.since = -1

    def begin(
        self,
        time: int,
        horizons: Mapping[int, int],
        *,
        silent: Collection[int] = (),
        refuses: Callable[[int, str], bool] | None = None,
    ) -> None:
        """Begin with these nodes: each must get everything from its join horizon on that another one has, but for what
        it refuses. What only `silent` nodes have, which push nothing, nobody is owed."""
        self.since = time
        self._silent = silent
        self._refuses = refuses or self._refuses
        self._horizons = dict(horizons)
        self._lamports = {}
        self._lacking = {node: {} for node in horizons}
        self.outstanding = 0
        for node in horizons:
            if node in silent:
                continue
            for message_id, lamport in self._logs[node].items():
                self.appeared(message_id, lamport)

    def appeared(self, message_id: str, lamport: int) -> None:
        if message_id in self._lamports or message_id in self.ignored:
            return
        self._lamports[message_id] = lamport
        for node, horizon in self._horizons.items():
            if lamport >= horizon and message_id not in self._logs[node] and not self._refuses(node, message_id):
                self._lacking[node][message_id] = None
                self.outstanding += 1

    def appended(self, node: int, message_id: str, lamport: int) -> None:
        """Note that the message is in the log of `node`."""
        if self.since < 0 or node not in self._horizons:
            return
        if message_id in self._lacking[node]:
            del self._lacking[node][message_id]
            self.outstanding -= 1
        if node not in self._silent:
            self.appeared(message_id, lamport)

    def gone(self, message_id: str) -> None:
        """Owe nobody a message whose packet nobody present has."""
        self.ignored.add(message_id)
        self.beyond_reach.add(message_id)
        self._lamports.pop(message_id, None)
        for ids in self._lacking.values():
            if message_id in ids:
                del ids[message_id]
                self.outstanding -= 1

    def lacking(self) -> dict[int, list[str]]:
        return {node: list(ids) for node, ids in self._lacking.items() if ids}

    def required(self, node: int) -> list[str]:
        if node not in self._horizons:
            return []
        horizon = self._horizons[node]
        return [
            message_id
            for message_id, lamport in self._lamports.items()
            if lamport >= horizon and not self._refuses(node, message_id)
        ]
