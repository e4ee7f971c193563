"""Messages of private channels that nodes need not have: they, or the authors, were no members then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sdschat.audit.node_evidence import AuditEvidence
from sdschat.audit.schemas import Declared
from sdschat.identity.private.roster import Position, Roster
from sdschat.identity.signing import sender_id_of

NO_MEMBER = "no_member"


def with_nonmembers(said: AuditEvidence, found: Mapping[str, Roster]) -> AuditEvidence:
    """Add to what the nodes declare what they need not have, for they or the authors were no members."""
    excused = [row for channel, roster in found.items() for row in _excused(said, channel, roster)]
    return said._replace(declared=sorted({*said.declared, *excused})) if excused else said


def _excused(said: AuditEvidence, channel: str, roster: Roster) -> Iterator[Declared]:
    members = {sender_id_of(key) for key in roster.members}
    left = {sender_id_of(key): changes[-1].position for key, changes in roster.changes.items() if changes}

    def outside(participant: str, position: Position) -> bool:
        return participant not in members and position >= left.get(participant, (0, ""))

    for (run_id, name), witnesses in said.there.items():
        if name != channel:
            continue
        log = {key: version for one in witnesses for key, version in one.held.versions.items()}
        for one in witnesses:
            node = one.presence.node
            for message_id, version in log.items():
                position = (version.lamport, message_id)
                if message_id in one.held.versions:
                    continue
                if outside(node, position) or (version.sender != node and outside(version.sender, position)):
                    yield Declared(run_id, node, name, message_id, NO_MEMBER, version.lamport, 0, 0)
