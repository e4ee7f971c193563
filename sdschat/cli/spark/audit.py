"""`sdschat pipeline audit`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from sdschat.cli.audit_report import as_object, channel_lines, journal_lines, naming
from sdschat.cli.problem import DONE, UNEXPECTED
from sdschat.cli.spark.common import lake_option, milliseconds, open_lake, settle_option, step
from sdschat.cli.text import safe
from sdschat.cli.where import where_options
from sdschat.pipeline.verdict import sentence

if TYPE_CHECKING:
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.reference.audit import Audit
    from sdschat.pipeline.rules import Rules
    from sdschat.pipeline.session import Where

_SHOWN = 20


@click.command("audit")
@lake_option
@settle_option
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@where_options
def command(lake: str, settle: str, as_json: bool, where: Where) -> int:
    """Whether everybody has everything that they should have, in the same order.

    \b
    Examples:
      sdschat pipeline audit --lake lake
      sdschat pipeline audit --lake lake --json --master spark://host:7077

    Exit code 0: they agree; 1: they do not, and the output says which node, which message, and where in the log.
    """
    from sdschat.pipeline.results import audit_of
    from sdschat.pipeline.rules import DEFAULT

    rules = DEFAULT._replace(settle=milliseconds(settle))
    with open_lake(where, lake) as there:
        judge(there, rules)
        found = audit_of(there)
    return tell(found, as_json)


def judge(there: Lake, rules: Rules) -> None:
    """All stages between what was taken in and the verdict."""
    from sdschat.pipeline import stages

    with step("silver"):
        stages.refine(there, rules)
    with step("log"):
        stages.consolidate(there)
    with step("audit"):
        stages.audit(there, rules)


def tell(found: Audit, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(as_object(found, []), separators=(",", ":")))
    else:
        if len(found.channels) != 1:
            click.echo(safe(sentence(found.channels)))
        named = naming(found.nodes)
        for channel in found.channels:
            for line in channel_lines(channel, found, named, _SHOWN):
                click.echo(line)
        for line in journal_lines(found, named):
            click.echo(line)
    return DONE if found.agreed else UNEXPECTED
