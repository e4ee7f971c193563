"""Options that select a part of a verdict: the same for databases and for a lake."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.output import safe
from sdschat.identity.suggest import nearest

if TYPE_CHECKING:
    from sdschat.audit.verdict import Audit

SHOWN: Final = 20
_ALIKE: Final = 0.6  # of 1: how like a known name a mistyped one must be
_NAMED: Final = 10

all_option: Final = click.option(
    "--all", "everything", is_flag=True, help=f"List all of it, not only the first {SHOWN} of each."
)
channel_option: Final = click.option("--channel", metavar="CHANNEL", help="The verdict on this channel alone.")


def only(found: Audit, channel: str | None) -> Audit:
    """Return the part of the audit on this channel. Raises Problem if no node knows the channel."""
    if channel is None:
        return found
    nodes = [row for row in found.nodes if row.channel == channel]
    there = {(row.run_id, row.node) for row in nodes}
    part = found._replace(
        channels=[row for row in found.channels if row.channel == channel],
        nodes=nodes,
        missing=[row for row in found.missing if row.channel == channel],
        findings=[row for row in found.findings if row.channel == channel],
        journals=[row for row in found.journals if (row.run_id, row.node) in there],
    )
    if not part.channels:
        raise nothing_called("channel", channel, (row.channel for row in found.channels))
    return part


def nothing_called(what: str, name: str, there_are: Iterable[str]) -> CommandProblem:
    """Return the error for an unknown name. It suggests a similar name, or lists the names that exist."""
    names = sorted(set(there_are))
    near = nearest(name, names, _ALIKE)
    if near:
        hint = f"Did you mean {safe(near)}?"
    else:
        more = ", …" if len(names) > _NAMED else ""
        hint = f"There are: {', '.join(map(safe, names[:_NAMED]))}{more}." if names else "There is none at all."
    return CommandProblem(f"There is no {what} {safe(name)!r} here. {hint}", WRONG_USE)
