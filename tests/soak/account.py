"""The fate of every line written and of every message given up, judged at the end.

A killed node may not have read its last lines, or not have shown them as its own: those need not be in the logs. Every
message shown as saved must be there, and so must every line of a process that was not ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """A message of a log."""

    message_id: str
    text: str


Log = list[Entry]


@dataclass(slots=True)
class Run:
    """One process of a node, from its start to its end."""

    written: list[str] = field(default_factory=list)  # lines written to its input; no two are equal
    shown: dict[str, str] = field(default_factory=dict)  # texts of own messages that it printed, by id
    ended: bool = False  # ended by a signal while others talked

    @property
    def caught_up(self) -> bool:
        return len(self.shown) >= len(self.written)


@dataclass(slots=True)
class Account:
    """The processes of one node, and the messages that it gave up."""

    name: str
    runs: list[Run] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)  # ids of dependencies that it reported as lost

    @property
    def written(self) -> int:
        return sum(len(run.written) for run in self.runs)

    def unread(self, log: Log) -> int:
        """Return the number of lines missing in the log; `judge` reports those that had to be there."""
        texts = {entry.text for entry in log}
        return sum(line not in texts for run in self.runs for line in run.written)


def judge(accounts: Sequence[Account], logs: Sequence[Log]) -> list[str]:
    """Return the problems of the logs, each judged by the account of its node."""
    wrong = _differences(accounts, logs)
    for account, log in zip(accounts, logs, strict=True):
        wrong += _own(account, log)
        if lost := account.given_up - {entry.message_id for entry in log}:
            wrong.append(f"{account.name} gave up {len(lost)} messages and never got them")
    written = {line for account in accounts for run in account.runs for line in run.written}
    if foreign := sum(entry.text not in written for entry in logs[0]):
        wrong.append(f"{foreign} messages are in the log that nobody wrote")
    if twice := len(logs[0]) - len({entry.text for entry in logs[0]}):
        wrong.append(f"{twice} messages are in the log twice")
    return wrong


def _differences(accounts: Sequence[Account], logs: Sequence[Log]) -> list[str]:
    if all(log == logs[0] for log in logs):
        return []
    every = {entry for log in logs for entry in log}
    lacks = ", ".join(f"{each.name} {len(every) - len(set(log))}" for each, log in zip(accounts, logs, strict=True))
    return [f"logs differ; of {len(every)} messages they lack: {lacks}"]


def _own(account: Account, log: Log) -> list[str]:
    wrong = []
    ids, texts = {entry.message_id for entry in log}, {entry.text for entry in log}
    for number, run in enumerate(account.runs):
        which = f"{account.name}, process {number + 1}"
        if gone := sum(message_id not in ids for message_id in run.shown):
            wrong.append(f"{which}: {gone} messages that it showed as its own are not in its log")
        kept = [line in texts for line in run.written]
        # A process reads its lines in order, so only the last lines can be unread.
        must = len(kept) if not run.ended else max((at + 1 for at, is_kept in enumerate(kept) if is_kept), default=0)
        if missing := kept[:must].count(False):
            wrong.append(f"{which}: {missing} lines that it must have read are not in its log")
    return wrong
