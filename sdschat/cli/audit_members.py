"""The audit of members' channels, for people and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sdschat.audit.members import MembersAudit
from sdschat.cli.text import counted, safe

_ALL = "all checkpoints are prefixes of one another, all committees are equal"


def members_object(found: list[MembersAudit]) -> list[dict[str, Any]]:
    return [
        one._asdict() | {"agreed": not one.findings, "findings": [row._asdict() for row in one.findings]}
        for one in found
    ]


def members_lines(found: list[MembersAudit], most: int | None) -> Iterator[str]:
    """Describe the verdict on each members' channel: a sentence, then at most `most` faults of each node."""
    for one in found:
        yield members_sentence(one)
        of: dict[str, list[str]] = defaultdict(list)
        for row in one.findings:
            of[row.node].append(row.detail)
        for node, details in of.items():
            for detail in details[:most]:
                yield f"  {_named(one, node)}: {safe(detail)}"
            if most is not None and len(details) > most:
                yield f"  {_named(one, node)}: {counted(len(details) - most, 'other fault')}; --all lists them"
        for node in one.alone:
            yield f"  {_named(one, node)}: no other database has the hash of a checkpoint that this one has"


def members_sentence(one: MembersAudit) -> str:
    return f"{safe(one.channel)}: {_words(one)}."


def _words(one: MembersAudit) -> str:
    between = f"{one.lowest}" if one.lowest == one.highest else f"{one.lowest} to {one.highest}"
    what = f"a members' channel, {counted(len(one.nodes), 'node')}, {between} operations settled"
    gone = f"nothing is left of {counted(one.deleted, 'deleted post')}"
    if one.findings:
        faults = "fault was found" if len(one.findings) == 1 else "faults were found"
        return f"{what}; the nodes do not agree: {len(one.findings)} {faults}"
    if len(one.nodes) < 2:
        return f"{what}; there is nobody to compare with; {gone}"
    return f"{what}; {_ALL}, and {gone}"


def _named(one: MembersAudit, node: str) -> str:
    nick = one.nodes.get(node, "")
    return safe(nick) if nick and list(one.nodes.values()).count(nick) == 1 else f"<{safe(node[:8])}>"
