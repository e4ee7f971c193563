"""A comparison of filters with the true logs.

A node puts a message into its filter as soon as it has saved it, even if the message has to wait for others. The time
of that is in the node's log, by the node's own clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from sdschat.audit.conform import Member
from sdschat.audit.schemas import Copy, Journal, Message, MetricsFilter
from sdschat.pipeline.reference.latency import Offsets
from sdschat.pipeline.sources.filters import LATER, Trial, tried

Had = Mapping[Member, Mapping[str, int]]  # node: message and time of its reception


def filters(
    journal: Iterable[Journal], messages: Iterable[Message], copies: Iterable[Copy], known: Offsets
) -> list[MetricsFilter]:
    """Return the filter figures of each node. `messages`: of the latest readings."""
    had: dict[Member, dict[str, int]] = defaultdict(dict)
    for copy in copies:
        had[copy.run_id, copy.channel, copy.node][copy.message_id] = copy.received_ms
    trials = _trials(had, messages)
    claims = _claims(journal, had, known)
    found = []
    for member in sorted({*trials, *claims}):
        said = claims.get(member, Counter())
        tried_on, checks, hits, expected = trials.get(member, Trial(0, 0, 0, 0.0))
        counts = (sum(said.values()), said["wrong"], said["undecided"])
        found.append(MetricsFilter(*member, tried_on, checks, hits, expected, *counts))
    return found


def _trials(had: Had, messages: Iterable[Message]) -> dict[Member, Trial]:
    packets: dict[Member, dict[str, bytes]] = defaultdict(dict)
    for row in messages:
        member = (row.run_id, row.channel, row.node)
        if row.own and not row.gone and row.raw is not None and row.damage is None:
            packets[member][row.message_id] = row.raw
    found = {}
    for member, own in packets.items():
        ordered = sorted((at, name) for name, at in had.get(member, {}).items())
        times, names = [at for at, _ in ordered], [name for _, name in ordered]
        starts = {name: bisect_right(times, at) for at, name in ordered}
        trial = tried((raw, names[starts[name] : starts[name] + LATER]) for name, raw in own.items() if name in starts)
        if trial.filters:
            found[member] = trial
    return found


def _claims(journal: Iterable[Journal], had: Had, known: Offsets) -> dict[Member, Counter[str]]:
    found: dict[Member, Counter[str]] = defaultdict(Counter)
    for row in journal:
        peer = (row.run_id, row.channel, row.peer or "")
        if row.event in ("possibly_acked", "acked") and row.cause == "filter" and peer in had:
            at = had[peer].get(row.message_id or "")
            offset = known.get(((row.run_id, row.channel), row.node, row.peer or ""))
            found[peer]["wrong" if at is None else _judged(at - row.ts_ms, offset)] += 1
    return found


def _judged(lead: int, offset: tuple[float, float] | None) -> str:
    """Judge a filter's claim. `lead`: time from the claim until the peer had the message, by two clocks."""
    if offset is None:
        return "undecided" if lead > 0 else "right"
    late = lead - offset[0]
    return "wrong" if late > offset[1] else "undecided" if late > -offset[1] else "right"
