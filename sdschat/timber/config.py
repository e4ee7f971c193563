"""Settings of a replica, checked once, when they are made. Durations are in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1000
MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Config:
    """Each field is the setting named in its comment."""

    rounds: int = 8  # timber.rounds: whole rounds of operations that a member may miss until it counts as silent
    heartbeat: int = 30 * SECOND  # timber.heartbeat: time after which a member answers the operations of others
    redundancy: int = 2  # timber.redundancy: members that an event is sent to
    stagger: int = 2 * SECOND  # timber.stagger: time by which each further member lets the nearer ones write first
    retry: int = 10 * SECOND  # timber.retry: time until an event that nobody wrote goes to the next members
    sync_interval: int = 20 * SECOND  # timber.sync_interval: a synchronization with one member, in turn
    compact_after: int = 64  # timber.compact_after: operations behind the checkpoint that are kept at most

    def __post_init__(self) -> None:
        for problem in self.problems():
            raise ValueError(problem)

    def problems(self) -> list[str]:
        """Return one text for each wrong value: the setting, its value and the values allowed."""
        found: list[str] = []

        def within(name: str, value: int, low: int, high: int) -> None:
            if not low <= value <= high:
                found.append(f"{name} is {value}, and must be from {low} to {high}")

        hour = 60 * MINUTE
        within("timber.rounds", self.rounds, 2, 1000)
        within("timber.heartbeat", self.heartbeat, 10, 24 * hour)
        within("timber.redundancy", self.redundancy, 1, 64)
        within("timber.stagger", self.stagger, 0, hour)
        within("timber.retry", self.retry, 10, hour)
        within("timber.sync_interval", self.sync_interval, 10, 24 * hour)
        within("timber.compact_after", self.compact_after, 1, 1_000_000)
        return found
