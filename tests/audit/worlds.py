"""Small worlds for tests: logs of a few nodes, written by hand or drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sdschat.audit.node_evidence import BronzeRows, member_of
from sdschat.audit.schemas import FIELD, Declared, Journal, Message, Node
from sdschat.sds import values as sds
from sdschat.sds.bloom.compact import Shape, encode_window
from sdschat.wire.sds_codec import SdsCodec

R = TypeVar("R", Message, Node)
BOOT = "boot-1"
LOBBY = "lobby"


def message(node: str, message_id: str, lamport: int, sender: str = "ann", **values: Any) -> Message:
    own = sender == node
    plain: dict[str, Any] = {
        "run_id": FIELD,
        "node": node,
        "channel": LOBBY,
        "message_id": message_id,
        "lamport": lamport,
        "sender": sender,
        "deps": (),
        "own": own,
        "via": "live",
        "received_ms": lamport,
        "nick": sender,
        "text": message_id,
        "sent_ms": lamport,
        "state": "acked" if own else None,
        "digest": f"d-{message_id}",
        "bytes": 100,
        "content_bytes": 40,
        "filter_bytes": 30,
        "history_bytes": 20,
        "request_bytes": 0,
        "raw": message_id.encode(),
        "damage": None,
        "gone": False,
        "as_of": 1,
        "read_ms": 1,
    }
    return Message(**plain | values)


def with_filter(message_id: str, sender: str, lamport: int, value: int) -> bytes:
    """Return a packet with a filter so small that it often claims messages that it does not hold."""
    body = encode_window(value, Shape(3, 64), 64, 0)
    return SdsCodec().encode(sds.Message(sender, message_id, LOBBY, lamport, (), body, (), b"content"))


def node(name: str, count: int = 0, **values: Any) -> Node:
    plain: dict[str, Any] = {
        "run_id": FIELD,
        "node": name,
        "channel": LOBBY,
        "as_of": 1,
        "read_ms": 1,
        "nick": name,
        "horizon": 0,
        "claimed": count,
        "claimed_fingerprint": "f",
        "counted": count,
        "counted_fingerprint": "f",
        "source": f"{name}.db",
    }
    return Node(**plain | values)


def event(name: str, seq: int, what: str, ts_ms: int, message_id: str | None = None, **values: Any) -> Journal:
    plain: dict[str, Any] = {
        "run_id": FIELD,
        "v": 1,
        "node": name,
        "boot": BOOT,
        "seq": seq,
        "ts_ms": ts_ms,
        "mono_us": ts_ms * 1000,
        "channel": LOBBY,
        "event": what,
        "message_id": message_id,
    }
    return Journal(**plain | values)


def declared(name: str, message_id: str, kind: str, **values: Any) -> Declared:
    plain: dict[str, Any] = {
        "run_id": FIELD,
        "node": name,
        "channel": LOBBY,
        "message_id": message_id,
        "kind": kind,
        "at_ms": 1,
        "as_of": 1,
        "read_ms": 1,
    }
    return Declared(**plain | values)


def taken(*rows: Journal | Message | Node | Declared) -> BronzeRows:
    found = BronzeRows()
    found.add(rows)
    return found


def everybody_has(names: Iterable[str], ids: Iterable[tuple[str, int]]) -> list[Message | Node]:
    """Return sound logs of these nodes, seen for long after the last message."""
    rows: list[Message | Node] = []
    messages = list(ids)
    for name in names:
        rows.append(node(name, len(messages)))
        rows += [message(name, message_id, lamport) for message_id, lamport in messages]
    return rows


def seen_until(name: str, ts_ms: int, seq: int = 1) -> Journal:
    return event(name, seq, "sync_received", ts_ms)


class _Drawn:
    """A group drawn from a seed: losses, duplicates, gaps, late joiners, wrong clocks, altered and forged rows."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.found = BronzeRows()
        self.run_id = f"seed-{seed}"
        self.names = [f"node{index}" for index in range(self.chance.randint(2, 5))]
        self.joined = {name: self.chance.choice([0, 0, 3_000]) for name in self.names}
        self.ended = {name: self.chance.choice([10**6, 10**6, 9_000]) for name in self.names}
        self.skew = {name: self.chance.choice([0, 0, 250, -400]) for name in self.names}
        self.with_log = {name: self.chance.random() < 0.7 for name in self.names}
        self.seqs = dict.fromkeys(self.names, self.chance.choice([0, 0, 4]))
        self.held: dict[str, list[str]] = {name: [] for name in self.names}
        self.late: list[tuple[str, str, str, int, tuple[str, ...]]] = []  # delivered after the message that follows

    def journal(self, name: str, what: str, at: int, message_id: str | None = None, **values: Any) -> None:
        self.seqs[name] += 1
        if self.chance.random() < 0.03:
            return  # a lost row leaves a gap in seq
        row = event(name, self.seqs[name], what, max(1, at + self.skew[name]), message_id, run_id=self.run_id, **values)
        self.found.journal.append(row)
        if self.chance.random() < 0.1:
            self.found.journal.append(row)  # the row is exported twice

    def run(self) -> BronzeRows:
        lamports: dict[str, int] = {}
        for index in range(self.chance.randint(0, 14)):
            at = 1_000 + index * 900
            self._catch_up(at)
            self._say(f"m{self.chance.randrange(10**6):06d}", at, lamports)
        for name in self.names:
            self.journal(name, "sync_received", min(self.ended[name], 200_000), peer=self.chance.choice(self.names))
        for name in self.names:
            self._database(name, lamports)
        return self.found

    def _say(self, message_id: str, at: int, lamports: dict[str, int]) -> None:
        sender = self.chance.choice([name for name in self.names if self.joined[name] <= at] or self.names)
        deps = tuple(self.held[sender][-2:])
        lamport = at + self.chance.choice([0, 0, 0, 700_000, -950])
        lamports[message_id] = lamport
        self.journal(
            sender, "sent", at, message_id, cause="message", attempt=1, bytes=120, payload_bytes=40, overhead_bytes=80
        )
        self._take(sender, sender, message_id, lamport, deps, at)
        for name in self.names:
            if name == sender or self.joined[name] > at + 600:
                continue
            if self.chance.random() < 0.8:
                self._deliver(name, sender, message_id, lamport, deps, at)
            elif self.chance.random() < 0.6:
                self.late.append((name, sender, message_id, lamport, deps))

    def _catch_up(self, at: int) -> None:
        waiting, self.late = self.late, []
        for name, sender, message_id, lamport, deps in waiting:
            if self.chance.random() < 0.5:
                self.late.append((name, sender, message_id, lamport, deps))
                continue
            if self.chance.random() < 0.3:
                self.journal(name, "gap_closed", at, message_id)
            self._deliver(name, sender, message_id, lamport, deps, at)

    def _deliver(self, name: str, sender: str, message_id: str, lamport: int, deps: tuple[str, ...], at: int) -> None:
        arrived = at + self.chance.randint(5, 400)
        via = "live"
        if arrived > self.ended[name]:
            return
        for dependency in deps:
            if dependency not in self.held[name] and self.chance.random() < 0.8:
                self.journal(name, "missing", arrived, message_id, deps=(dependency,))
                self.journal(name, "repair_wanted", arrived, dependency, attempt=arrived + 50)
                if self.chance.random() < 0.5:
                    self.journal(name, "lost", arrived + 5, None, deps=(dependency,))
        if self.chance.random() < 0.1:
            via = "store"
            for what in ("store_asked", self.chance.choice(["store_answered", "store_unknown", "store_silent"])):
                self.journal(name, what, arrived, None, deps=(message_id, "other"), peer="archive", cause="missing")
        elif self.chance.random() < 0.3:
            via = self.chance.choice(["repair", "sync"])
            self.journal(name, "repair_wanted", arrived, message_id, attempt=arrived + 50)
            self.journal(name, "repair_requested", arrived + 1, "carrier", deps=(message_id,))
            self.journal(sender, "repair_responded", arrived + 2, message_id)
            arrived += self.chance.randint(10, 3_000)
        self._take(name, sender, message_id, lamport, deps, arrived, via)
        if self.chance.random() < 0.5:
            how = self.chance.choice(["mention", "filter", "range"])
            state = self.chance.choice(["possibly_acked", "acked"])
            told = arrived + self.chance.randint(-300, 300)
            self.journal(sender, state, told, message_id, peer=self.chance.choice(self.names), cause=how, attempt=0)
        if self.chance.random() < 0.1:
            self.journal(name, "duplicate", arrived + 9, message_id, sender=sender)
        if self.chance.random() < 0.1:
            self.journal(name, "rejected", arrived, None, cause=self.chance.choice(["unreadable", "id_conflict"]))

    def _take(
        self, name: str, sender: str, message_id: str, lamport: int, deps: tuple[str, ...], at: int, via: str = "live"
    ) -> None:
        self.held[name].append(message_id)
        self.journal(name, "delivered", at, message_id, sender=sender, lamport=lamport, deps=deps, cause=via)
        if not self.with_log[name] or self.chance.random() < 0.04:
            return
        odd = self.chance.random()
        values: dict[str, Any] = {"deps": deps, "received_ms": max(1, at + self.skew[name]), "run_id": self.run_id}
        values["raw"] = with_filter(message_id, sender, max(1, lamport), self.chance.getrandbits(64))
        if odd < 0.02:
            values |= {"damage": "its row in the log was altered"}
            lamport += 4_000
        elif odd < 0.04:
            values |= {"digest": "other"}
        elif odd < 0.06:
            lamport += 1_500
        elif odd < 0.08:
            values |= {"gone": True}
        elif odd < 0.12 and sender != name:
            values |= {"deps": (), "digest": "", "raw": None}  # over a limit: an id alone
        row = message(name, message_id, lamport, sender, **values)
        if odd > 0.9:  # an earlier reading had another content
            self.found.messages.append(row._replace(as_of=0, lamport=lamport + 1, gone=odd > 0.95))
        self.found.messages.append(row)

    def _database(self, name: str, lamports: dict[str, int]) -> None:
        if not self.with_log[name] or random.Random(f"{self.run_id} {name}").random() < 0.05:  # broke off before this
            return
        claimed = len(self.held[name])
        horizon = self.joined[name]
        self.found.nodes.append(node(name, claimed, run_id=self.run_id, horizon=horizon, as_of=0, read_ms=3))
        self.found.nodes.append(
            node(
                name,
                claimed,
                run_id=self.run_id,
                horizon=horizon,
                counted=claimed - (self.chance.random() < 0.1),
                source=f"{name}.db",
            )
        )
        if self.chance.random() < 0.1:
            self.found.messages.append(
                message(name, "forged", 2_500, self.chance.choice(self.names), run_id=self.run_id)
            )
        for message_id in lamports:
            if message_id not in self.held[name] and self.chance.random() < 0.3:
                kind = self.chance.choice(["lost", "missing", "held", "unproven", "ahead"])
                self.found.declared.append(declared(name, message_id, kind, run_id=self.run_id))
        self.found.declared.append(declared(name, "stale", "lost", run_id=self.run_id, as_of=0))


def drawn(seed: int) -> BronzeRows:
    return _Drawn(seed).run()


def read_once(taken: BronzeRows) -> BronzeRows:
    """Return the rows of the latest reading of each node alone: an audit of a few databases reads each once."""
    nodes = _latest(taken.nodes, member_of)
    messages = _latest(taken.messages, lambda row: (*member_of(row), row.message_id))
    newest = {member_of(row): (row.as_of, row.read_ms) for row in nodes}
    declared = [row for row in taken.declared if newest.get(member_of(row)) == (row.as_of, row.read_ms)]
    return BronzeRows(taken.journal, [row for row in messages if not row.gone], nodes, declared)


def _latest(rows: Iterable[R], key: Callable[[R], Any]) -> list[R]:
    kept: dict[Any, R] = {}
    for row in rows:
        old = kept.get(key(row))
        if old is None or (row.as_of, row.read_ms) > (old.as_of, old.read_ms):
            kept[key(row)] = row
    return list(kept.values())
