"""An audit in naive Python, straight from the definitions. Every engine must give the same rows.

It reads the bronze rows of all nodes, and shares no code with the views but the tables and the words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sdschat.audit import schemas as t
from sdschat.audit.node_evidence import BronzeRows, Held, Member
from sdschat.audit.verdict import (
    AHEAD,
    DEFAULT,
    JOINED_LATER,
    LAGGING,
    LARGEST_LAMPORT,
    LOST,
    RETENTION,
    TAKEN_ALONG,
    Audit,
    Rules,
)

NEVER = float("inf")
RUN = 1 << 40  # events of two runs of a program are further apart than this

# Details, in the order in which they are checked.
OWN = "it is its own message, and not in its log"
WAS_SHOWN = "it was delivered, and is not in the log any more"
GIVEN_UP = "the node gave it up"
LOOKED_FOR = "the node looks for it"
WAITING = "it waits for what it depends on"
UNHEARD = "the node does not know of it"
ENDED = "the node was not seen for long enough after it"
AUTHOR_ENDED = "its author was not seen for long enough after it"
DATED_AHEAD = "it is dated ahead of the clock of the node, and waits there"
BEFORE = "dated before the node joined"
CUT = "older than what its journal still has"


def oracle(taken: BronzeRows, rules: Rules = DEFAULT) -> Audit:
    events = in_order(taken.journal)
    nodes: dict[Any, t.Node] = {}
    for row in sorted(taken.nodes, key=lambda row: (row.as_of, row.read_ms)):
        nodes[row.run_id, row.channel, row.node] = row
    channels = {key[:2] for key in nodes} | {(row.run_id, row.channel) for row in events if row.channel}
    found = [_Channel(key, taken, events, nodes, rules) for key in sorted(channels)]
    return Audit(
        [each.channel() for each in found],
        [row for each in found for row in each.nodes()],
        [row for each in found for row in each.missing],
        [row for each in found for row in each.findings],
        journals(events),
    )


def in_order(rows: list[t.Journal]) -> list[t.Journal]:
    """Return each event once: boots in the order of their beginning, events in the order of their number."""
    once = {(row.run_id, row.node, row.boot, row.seq): row for row in reversed(rows)}.values()
    began = {boot: min(row.ts_ms for row in once if _boot(row) == boot) for boot in map(_boot, once)}
    return sorted(once, key=lambda row: (row.run_id, row.node, began[_boot(row)], row.boot, row.seq))


def _boot(row: t.Journal) -> tuple[str, str, str]:
    return row.run_id, row.node, row.boot


def journals(events: list[t.Journal]) -> list[t.AuditJournal]:
    found = []
    for boot in sorted({_boot(row) for row in events}):
        seqs = [row.seq for row in events if _boot(row) == boot]
        times = [row.ts_ms for row in events if _boot(row) == boot]
        lost = max(seqs) - min(seqs) + 1 - len(seqs)
        found.append(t.AuditJournal(*boot, min(seqs), max(seqs), len(seqs), lost, min(times), max(times)))
    return found


def agreed(held: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return id -> (lamport, sender, deps, digest) of the version that counts, in the order of the log."""
    found = {}
    for each in {each for copies in held.values() for each in copies}:
        versions = [(x[6] is not None, x[:4]) for x in (held[name].get(each) for name in held) if x]
        found[each] = min(versions, key=lambda x: (x[0], _unknown(x[1]), -versions.count(x), x[1]))[1]
    return dict(sorted(found.items(), key=lambda item: (item[1][0], item[0])))


def _unknown(version: Any) -> int:
    """Return how little of a version is known: its content, else its dependencies, else its id alone."""
    return 0 if version[3] else 1 if version[2] else 2


def running(log: dict[str, Any]) -> str:
    """Return the exclusive or of the hashes of Lamport time and id."""
    value = 0
    for message, row in log.items():
        value ^= int(hashlib.sha256(f"{row[0]}:{message}".encode()).hexdigest()[:32], 16)
    return f"{value:032x}"


def consolidate(every: dict[Member, Held]) -> list[t.Log]:
    """Return the canonical logs of what nodes have."""
    found: list[t.Log] = []
    for key in sorted({(run_id, channel) for run_id, channel, _ in every}):
        held: dict[str, dict[str, Any]] = {}
        for (*of, node), one in every.items():
            if tuple(of) == key:
                held[node] = {
                    name: (*version, name in one.own, one.received[name], one.damage.get(name))
                    for name, version in one.versions.items()
                }
        so_far: dict[str, Any] = {}
        for at, (message, version) in enumerate(agreed(held).items(), 1):
            so_far[message] = version
            times = [copies[message][5] for copies in held.values() if message in copies]
            lamport, sender, deps, digest = version
            line = t.Log(*key, at, lamport, message, sender, deps, digest, running(so_far), 0, min(times), max(times))
            found.append(line._replace(copies=len(times)))
    return found


class _Channel:
    """One channel of one campaign."""

    def __init__(
        self, key: tuple[str, str], taken: BronzeRows, events: list[t.Journal], logs: dict[Any, t.Node], rules: Rules
    ) -> None:
        self.key, self.rules = key, rules
        self.logs = {row.node: row for row in logs.values() if (row.run_id, row.channel) == key}
        all_events = [row for row in events if row.run_id == key[0]]
        self.events = [row for row in all_events if row.channel == key[1]]
        self.boots = list(dict.fromkeys(map(_boot, events)))
        self.told = [(self.boots.index(_boot(row)) * RUN + at, row) for at, row in enumerate(self.events)]
        self.names = sorted({*self.logs, *(row.node for row in self.events)})
        self.starts = {name: next((row for row in all_events if row.node == name), None) for name in self.names}
        self.declared = {
            row
            for row in taken.declared
            if (row.run_id, row.channel) == key
            and row.node in self.logs
            and (row.as_of, row.read_ms) == (self.logs[row.node].as_of, self.logs[row.node].read_ms)
        }
        self.copies = {name: self._copies(name, taken) for name in self.names}
        self.shown = {name: self._shown(name) for name in self.names}
        self.excused = {name: self._excused(name) for name in self.names}
        self.seen = {name: self._seen(name) for name in self.names}
        self.log = agreed(self.copies)
        self.place = {name: at for at, name in enumerate(self.log, 1)}
        self.extra = set(self._extra())
        self.lacking = list(self._lacking())
        self.missing = list(self._missing())
        self.findings = sorted(self._findings(), key=_order)

    def _copies(self, name: str, taken: BronzeRows) -> dict[str, Any]:
        """Return id -> (lamport, sender, deps, digest, own, received, damage), from the log or else the journal."""
        found: dict[str, Any] = {}
        if name in self.logs:
            of = [row for row in taken.messages if (row.run_id, row.channel, row.node) == (*self.key, name)]
            for row in sorted(of, key=lambda row: (row.as_of, row.read_ms)):
                value = (row.lamport, row.sender, row.deps, row.digest, row.own, row.received_ms, row.damage)
                found[row.message_id] = None if row.gone else value
            return {key: value for key, value in found.items() if value}
        for event in self.events:
            if event.node == name and event.event == "delivered" and event.message_id is not None:
                told = (event.lamport or 0, event.sender or "", event.deps or (), "", event.sender == name)
                found.setdefault(event.message_id, (*told, event.ts_ms, None))
        return found

    def _shown(self, name: str) -> dict[str, float]:
        of = [(at, row) for at, row in self.told if row.node == name and row.event == "delivered"]
        return {row.message_id: at for at, row in reversed(of) if row.message_id}

    def _excused(self, name: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for at, row in self.told:
            if row.node == name and row.event == "lost":
                for each in row.deps or ():
                    found.setdefault(each, at)
            if row.node == name and row.event == "gap_closed" and row.message_id:
                found[row.message_id] = -1
        return found

    def _seen(self, name: str) -> tuple[int, int, int, int]:
        """Return the first and last time, the join horizon, and the beginning of a journal that was cut."""
        times = [row.ts_ms for row in self.events if row.node == name] + [x[5] for x in self.copies[name].values()]
        first, last, start = min(times, default=0), max(times, default=0), self.starts[name]
        if name in self.logs:
            return first, last, self.logs[name].horizon, 0
        return first, last, first - self.rules.max_skew, start.ts_ms if start and start.seq > 1 else 0

    def holders(self, message: str) -> list[str]:
        return [name for name in self.names if message in self.copies[name]]

    def _first(self, message: str) -> int:
        return min(int(self.copies[name][message][5]) for name in self.holders(message))

    def _ended(self, name: str, message: str) -> bool:
        if self._built_on(name, message):
            return False
        ahead = min(self._ahead(name), self.rules.max_skew)
        ended = self.seen[name][1] - ahead < self._first(message) + self.rules.settle
        return ended or self._may_have_ended_before(name, message)

    def _built_on(self, name: str, message: str) -> bool:
        return any(message in self.log[each][2] for each in self.copies[name])

    def _ahead(self, name: str) -> int:
        """Return how long after anybody it had a message of others, at the soonest, or else one of its own, at most."""
        copies = [(x[5] - self._first(key), x[4]) for key, x in self.copies[name].items() if len(self.holders(key)) > 1]
        soonest = min((late for late, own in copies if not own), default=0)
        return int(max([soonest, *(late for late, own in copies if own)]))

    def _taken_along(self, message: str) -> bool:
        holders = self.holders(message)
        copy = self.copies[holders[0]][message]
        return len(holders) == 1 and bool(copy[4]) and self.seen[holders[0]][1] < int(copy[5]) + self.rules.settle

    def _ended_before(self, name: str, message: str) -> bool:
        return self.seen[name][1] < self.log[message][0] and self._ended(name, message)

    def _may_have_ended_before(self, name: str, message: str) -> bool:
        latest = self._first(message) + self.rules.settle + self.rules.max_skew
        return self.seen[name][1] < min(int(self.log[message][0]), latest)

    def _extra(self) -> Iterator[tuple[str, str]]:
        for message, (lamport, sender, *_) in self.log.items():
            holders = self.holders(message)
            if len(holders) != 1 or sender not in self.names or sender == holders[0] or message in self.shown[sender]:
                continue
            if not self._may_have_ended_before(sender, message) and lamport >= max(self.seen[sender][2:]):
                yield message, holders[0]

    def _missing(self) -> Iterator[t.AuditMissing]:
        """Yield each message that is lost, and the first of each stretch that is excused."""
        at = {(row.node, row.position, row.reason) for row in self.lacking}
        for row in self.lacking:
            until = row.position
            if row.reason != LOST:
                if (row.node, row.position - 1, row.reason) in at:
                    continue
                while (row.node, until + 1, row.reason) in at:
                    until += 1
            yield row._replace(until=until, messages=until - row.position + 1)

    def _lacking(self) -> Iterator[t.AuditMissing]:
        for message, (lamport, sender, *_) in self.log.items():
            if any(message == extra for extra, _ in self.extra):
                continue
            for name in sorted({*self.names} - {*self.holders(message)}):
                why = self._why(name, message, lamport, sender)
                yield t.AuditMissing(*self.key, self.place[message], lamport, message, sender, name, *why, 0, 1)

    def _why(self, name: str, message: str, lamport: int, sender: str) -> tuple[str, str]:
        said = {row.kind for row in self.declared if (row.node, row.message_id) == (name, message)}
        if name in self.logs and message in self.shown[name]:
            return LOST, WAS_SHOWN
        if lamport < self.seen[name][2]:
            return JOINED_LATER, BEFORE
        if lamport < self.seen[name][3]:
            return RETENTION, CUT
        if "ahead" in said:
            return AHEAD, DATED_AHEAD
        if sender == name and not self._ended_before(name, message):
            return LOST, OWN
        if said & {"lost", "unproven"}:
            return LOST, GIVEN_UP
        if self._ended(name, message):
            return LAGGING, ENDED
        if self._taken_along(message):
            return TAKEN_ALONG, AUTHOR_ENDED
        return LOST, LOOKED_FOR if "missing" in said else WAITING if "held" in said else UNHEARD

    def _finding(self, name: str, kind: str, message: str | None, other: str | None, detail: str) -> t.AuditFinding:
        at: tuple[Any, Any] = (self.place[message], self.log[message][0]) if message in self.log else (None, None)
        return t.AuditFinding(*self.key, name, kind, *at, message, other, detail)

    def _findings(self) -> Iterator[t.AuditFinding]:
        yield from self._counts()
        yield from self._clocks()
        for row in self.declared:
            if row.kind == "lost":
                detail = "given up; others have it" if row.message_id in self.log else "given up; nobody here has it"
                yield self._finding(row.node, "gap", row.message_id, None, detail)
        for message, name in self.extra:
            yield self._finding(
                name, "extra", message, None, "is in nobody else's log, and its sender does not know it"
            )
        for name in self.names:
            yield from self._contents(name)
            yield from self._causes(name)

    def _counts(self) -> Iterator[t.AuditFinding]:
        for row in self.logs.values():
            if (row.claimed, row.claimed_fingerprint) != (row.counted, row.counted_fingerprint):
                claimed = f"{row.claimed} message{'s' * (row.claimed != 1)}"
                there = f"{row.counted} {'is' if row.counted == 1 else 'are'} there"
                detail = f"its own count says {claimed}, {there}"
                if row.claimed == row.counted:
                    detail = f"{claimed}, as its own count says, but not the same"
                yield self._finding(row.node, "count", None, None, detail)

    def _contents(self, name: str) -> Iterator[t.AuditFinding]:
        had = self.copies[name]
        words = ("Lamport time {}, elsewhere {}", "sender {}, elsewhere {}", "other dependencies than elsewhere")
        for message, ours in had.items():
            theirs = self.log[message]
            told = 3 if ours[2] or ours[3] else 2  # an id alone tells no dependencies
            pairs = zip(words[:told], ours, theirs, strict=False)
            said = [word.format(a, b) for word, a, b in pairs if a != b]
            if ours[3] and theirs[3] and ours[3] != theirs[3]:
                said.append("another content than elsewhere")
            if ours[6] is not None:
                yield self._finding(name, "altered", message, None, ours[6])
            elif said:
                yield self._finding(name, "content", message, None, "; ".join(said))
            if not ours[4] and ours[6] is None and ours[0] > ours[5] + self.rules.max_skew:
                yield self._finding(name, "clock", message, None, "taken before its time")
        mine = sorted(had, key=lambda message: (had[message][0], message))
        right = sorted(had, key=lambda message: self.place[message])
        for a, b in zip(mine, right, strict=True):
            if a != b:
                row = self._finding(name, "order", b, b, "another message stands here")
                yield row._replace(message_id=a)
                break

    def _causes(self, name: str) -> Iterator[t.AuditFinding]:
        shown, excused = self.shown[name], self.excused[name]
        for message, (_, _, deps, _) in self.log.items():
            at = shown.get(message, NEVER)
            for need in deps:
                until = (at // RUN + 1) * RUN
                excuse = excused.get(need, NEVER)
                late = (
                    need in self.log and at < shown.get(need, -1) < until and (at < excuse < until or excuse == NEVER)
                )
                if late and self.log[need][0] >= self.seen[name][2]:
                    yield self._finding(name, "causal", message, need, "shown before what it depends on")

    def _clocks(self) -> Iterator[t.AuditFinding]:
        for message, (lamport, sender, deps, _) in self.log.items():
            if not self._wrote(sender, message):
                continue
            if not 0 < lamport <= LARGEST_LAMPORT:
                yield self._finding(sender, "clock", message, None, "its Lamport time is out of bounds")
            for need in deps:
                if need in self.log and self.log[need][0] >= lamport:
                    yield self._finding(sender, "clock", message, need, "not dated after what it depends on")
            first = next(
                each for each, row in self.log.items() if row[:2] == (lamport, sender) and self._wrote(sender, each)
            )
            if first != message:
                detail = "its sender gave this time to another message too"
                yield self._finding(sender, "clock", message, first, detail)

    def _wrote(self, sender: str, message: str) -> bool:
        """True unless the sender is here and did not write it."""
        copy = self.copies.get(sender, {}).get(message)
        return sender not in self.names or (copy is not None and bool(copy[4]))

    def nodes(self) -> Iterator[t.AuditNode]:
        for name in self.names:
            of = [row for row in self.lacking if row.node == name]
            bad = [row for row in self.findings if row.node == name and row.kind in t.FAULTS]
            lost = [row for row in of if row.reason == LOST]
            lagging = sum(row.reason == LAGGING for row in of)
            both: list[Any] = [*lost, *bad]
            odd = [(row.position, row.lamport, row.message_id) for row in both if row.position is not None]
            place: tuple[Any, Any, Any] = min(odd, default=(None, None, None))
            own = self.logs[name].nick if name in self.logs else None
            owed = len(self.copies[name]) - sum(row.kind == "extra" for row in bad) + len(lost)
            counts = (len(self.copies[name]), owed, len(lost), lagging, len(of) - len(lost) - lagging, len(bad))
            yield t.AuditNode(*self.key, name, own, *counts, *self.seen[name][:2], *place, not lost and not bad)

    def channel(self) -> t.AuditChannel:
        lost = sum(row.reason == LOST for row in self.lacking)
        bad = sum(row.kind in t.FAULTS for row in self.findings)
        newest = max((row[0] for row in self.log.values()), default=0)
        agrees, excused = not lost and not bad, len(self.lacking) - lost
        return t.AuditChannel(
            *self.key, len(self.names), len(self.log), agrees, lost, excused, bad, newest, running(self.log)
        )


def _order(row: t.AuditFinding) -> tuple[Any, ...]:
    return (row.run_id, row.channel, row.position or 0, row.node, row.kind, row.message_id or "", row.other or "")
