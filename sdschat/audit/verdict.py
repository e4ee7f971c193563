"""The rules and the verdict of an audit, and the words for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from sdschat.audit.schemas import FAULTS, FIELD, AuditChannel, AuditFinding, AuditJournal, AuditMissing, AuditNode
from sdschat.sds.limits import MAX_LAMPORT

LARGEST_LAMPORT: Final = MAX_LAMPORT - 1


class Rules(NamedTuple):
    """The limits of an audit. Times are in milliseconds."""

    settle: int = 120_000  # a node seen for less than this time after a message is lagging, and does not lack it
    max_skew: int = 600_000  # `sds.max_skew` of the nodes: for the join horizon, and for dates in the future


DEFAULT: Final = Rules()

LOST, LAGGING, JOINED_LATER, RETENTION = "lost", "lagging", "joined_later", "retention"
TAKEN_ALONG, AHEAD = "taken_along", "ahead"


class Lacking:
    """The places of the canonical log of one channel at which a node lacks a message."""

    def __init__(self, rows: Iterable[AuditMissing]) -> None:
        self._stretches: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row in rows:
            self._stretches[row.node].append((row.position, row.until))
        for stretches in self._stretches.values():
            stretches.sort()

    def has(self, node: str, position: int) -> bool:
        stretches = self._stretches.get(node, [])
        at = bisect_right(stretches, position, key=itemgetter(0)) - 1
        return at >= 0 and position <= stretches[at][1]


class Audit(NamedTuple):
    channels: list[AuditChannel]
    nodes: list[AuditNode]
    missing: list[AuditMissing]
    findings: list[AuditFinding]
    journals: list[AuditJournal]

    @property
    def agreed(self) -> bool:
        return all(channel.converged for channel in self.channels)


class OfChannel(NamedTuple):
    """The part of a verdict on one channel."""

    nodes: list[AuditNode]
    missing: list[AuditMissing]
    findings: list[AuditFinding]


def by_channel(found: Audit) -> Callable[[AuditChannel], OfChannel]:
    """Group the audit's rows by channel. Each row is read once, however many channels there are."""
    parts: dict[tuple[str, str], OfChannel] = defaultdict(lambda: OfChannel([], [], []))
    for node in found.nodes:
        parts[node.run_id, node.channel].nodes.append(node)
    for lacking in found.missing:
        parts[lacking.run_id, lacking.channel].missing.append(lacking)
    for finding in found.findings:
        parts[finding.run_id, finding.channel].findings.append(finding)
    return lambda channel: parts[channel.run_id, channel.channel]


_SHORT_ID: Final = re.compile("<[0-9a-f]{8}>")  # a nick with it would look like another participant
AGREES = "agrees"
NO_FAULT: Final = "no fault"  # of the only node, which agrees with nobody
ALONE: Final = "nobody to compare with"
_EARLY_OR_LATE = "said before the node joined, too late for it, or dated ahead"
_ALONE = f"{ALONE}; what this one node has shows no fault"


def sentence(channels: Sequence[AuditChannel]) -> str:
    if not channels:
        return "There is nothing to compare: no channel of a database or a journal was taken in."
    if len(channels) == 1:
        return channel_sentence(channels[0])
    bad = [channel for channel in channels if not channel.converged]
    if not bad:
        alone = sum(channel.nodes == 1 for channel in channels)
        if alone == len(channels):
            return f"In each of {alone} channels there is {_ALONE}."
        told = f"All nodes of all {len(channels)} channels have everything they should have, in the same order"
        return f"{told}; in {alone} of them there is {_ALONE}." if alone else f"{told}."
    return f"In {len(bad)} of {len(channels)} channels the nodes do not agree. {channel_sentence(bad[0])}"


def channel_sentence(channel: AuditChannel) -> str:
    name = channel.channel if channel.run_id == FIELD else f"{channel.channel} of {channel.run_id}"
    what = f"{counted(channel.nodes, 'node', 'nodes')} and {counted(channel.messages, 'message', 'messages')}"
    late = ""
    if channel.excused:
        late = f" ({counted(channel.excused, 'copy was', 'copies were')} not owed: {_EARLY_OR_LATE})"
    if channel.converged and channel.nodes == 1:
        return f"{name}: {what}; there is {_ALONE}{late}."
    if channel.converged:
        return f"{name}: {what}; everybody has everything they should have, in the same order{late}."
    troubles = []
    if channel.missing:
        troubles.append(f"{counted(channel.missing, 'copy of a message is', 'copies of messages are')} missing")
    if channel.faults:
        troubles.append(counted(channel.faults, "fault was found", "faults were found"))
    return f"{name}: {what}; the nodes do not agree: {' and '.join(troubles)}{late}."


_EXCUSES: Final = {
    AHEAD: "holds back {} dated ahead of its clock",
    TAKEN_ALONG: "could not get {} whose author ended",
}


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def node_words(node: AuditNode, found: Iterable[AuditFinding], lacking: Iterable[AuditMissing]) -> str:
    """Describe the result for one node; `found` and `lacking` may include rows of other nodes."""
    kinds = Counter(row.kind for row in found if row.node == node.node and row.channel == node.channel)
    words = []
    if node.missing:
        words.append(f"lacks {counted(node.missing, 'message', 'messages')}")
    words += [counted(kinds[kind], *words_for) for kind, words_for in FAULTS.items() if kinds[kind]]
    if node.lagging:
        words.append(f"ended before {counted(node.lagging, 'message', 'messages')} could arrive")
    excused: Counter[str] = Counter()
    for row in lacking:
        if (row.node, row.channel) == (node.node, node.channel):
            excused[row.reason] += row.messages
    for reason, said in _EXCUSES.items():
        if excused[reason]:
            words.append(said.format(counted(excused[reason], "message", "messages")))
    if others := node.excused - sum(excused[reason] for reason in _EXCUSES):
        words.append(f"is not owed {counted(others, 'message', 'messages')}")
    return "; ".join(words) or AGREES


def names_of(nodes: Iterable[AuditNode]) -> Callable[[str], str]:
    return names_by({node.node: node.nick for node in nodes if node.nick})


def names_by(nicks: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function from participant ids to names: a nick, with the id behind it where others bear it too."""
    times = Counter(nicks.values())

    def name(participant: str) -> str:
        nick, short = nicks.get(participant, ""), f"<{participant[:8]}>"
        if not nick:
            return short
        return nick if times[nick] == 1 and not _SHORT_ID.search(nick) else f"{nick} {short}"

    return name


def first_rows(lacking: Iterable[AuditMissing]) -> list[AuditMissing]:
    """Return the missing messages: faults before excused ones, and each in the order of the log."""
    rank = {LOST: 0, LAGGING: 1}
    return sorted(lacking, key=lambda row: (rank.get(row.reason, 2), row.run_id, row.channel, row.position, row.node))
