"""Who does not have what, and whether that is a fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.pipeline import rules as words
from sdschat.pipeline.reference.conform import DELIVERED, Channel, Silver
from sdschat.pipeline.rules import Rules
from sdschat.pipeline.schemas import AuditMissing, Copy, Journal, Log, Presence

_DECLARED: Final = (("lost", words.GIVEN_UP), ("missing", words.LOOKED_FOR), ("held", words.WAITING))


class Witness(NamedTuple):
    """What a node has and says, in one channel."""

    presence: Presence
    copies: Mapping[str, Copy]
    shown: frozenset[str]  # ids that its journal says were delivered, or sent
    declared: Mapping[str, frozenset[str]]  # kind: ids
    newest: tuple[int, str]  # key of the last message of its log

    def lacks(self, message: Log, rules: Rules) -> tuple[str, str]:
        """Why it does not have a message: the reason, and what is known of it."""
        message_id, there = message.message_id, self.presence
        if there.origin == "log" and message_id in self.shown:
            return words.LOST, words.WAS_SHOWN
        if message_id in self.declared.get("before_join", ()) or message.lamport < there.horizon:
            return words.JOINED_LATER, words.BEFORE
        if message.lamport < there.retained_from:
            return words.RETENTION, words.CUT
        if message.sender == there.node:
            return words.LOST, words.OWN
        if message_id in self.declared.get("lost", ()):
            return words.LOST, words.GIVEN_UP
        if (message.lamport, message_id) > self.newest and there.last_ms < message.first_ms + rules.settle:
            return words.LAGGING, words.ENDED
        for kind, detail in _DECLARED[1:]:
            if message_id in self.declared.get(kind, ()):
                return words.LOST, detail
        return words.LOST, words.UNHEARD


def witnesses(silver: Silver) -> dict[Channel, list[Witness]]:
    copies: dict[tuple[str, str, str], dict[str, Copy]] = defaultdict(dict)
    for copy in silver.copies:
        copies[copy.run_id, copy.channel, copy.node][copy.message_id] = copy
    shown = _shown(silver.journal)
    declared: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in silver.declared:
        declared[row.run_id, row.channel, row.node][row.kind].add(row.message_id)
    found: dict[Channel, list[Witness]] = defaultdict(list)
    for presence in silver.presences:
        member = (presence.run_id, presence.channel, presence.node)
        held = copies.get(member, {})
        newest = max(((copy.lamport, copy.message_id) for copy in held.values()), default=(0, ""))
        says = {kind: frozenset(ids) for kind, ids in declared.get(member, {}).items()}
        found[member[:2]].append(Witness(presence, held, frozenset(shown.get(member, ())), says, newest))
    return found


def _shown(journal: Iterable[Journal]) -> dict[tuple[str, str, str], set[str]]:
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in journal:
        if row.event == DELIVERED and row.message_id is not None:
            found[row.run_id, row.channel, row.node].add(row.message_id)
    return found


def extras(log: Iterable[Log], there: Mapping[Channel, list[Witness]]) -> set[tuple[Channel, str, str]]:
    """(channel, message, node): messages that only one node has, and of which their sender, who is here as well,
    knows nothing."""
    found = set()
    for message in log:
        channel = (message.run_id, message.channel)
        if message.copies != 1:
            continue
        holder = next(each for each in there[channel] if message.message_id in each.copies)
        sender = next((each for each in there[channel] if each.presence.node == message.sender), None)
        if sender is None or sender is holder or message.message_id in sender.shown:
            continue
        if message.lamport >= max(sender.presence.horizon, sender.presence.retained_from):
            found.add((channel, message.message_id, holder.presence.node))
    return found


def missing(
    log: Iterable[Log], there: Mapping[Channel, list[Witness]], extra: set[tuple[Channel, str, str]], rules: Rules
) -> list[AuditMissing]:
    nobody_owes = {(channel, message_id) for channel, message_id, _ in extra}
    found = []
    for message in log:
        channel = (message.run_id, message.channel)
        if message.copies == len(there[channel]) or (channel, message.message_id) in nobody_owes:
            continue
        for witness in there[channel]:
            if message.message_id not in witness.copies:
                reason, detail = witness.lacks(message, rules)
                found.append(
                    AuditMissing(
                        *channel, message.position, message.lamport, message.message_id, message.sender,
                        witness.presence.node, reason, detail,
                    )
                )  # fmt: skip
    return found
