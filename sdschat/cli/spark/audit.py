"""`sdschat pipeline audit`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sdschat.cli.audit import exit_code
from sdschat.cli.audit_report import as_object, channel_lines, journal_lines, naming
from sdschat.cli.spark.common import lake_option, milliseconds, open_lake, settle_option, step
from sdschat.cli.text import safe
from sdschat.cli.where import where_options
from sdschat.pipeline.verdict import counted, sentence

if TYPE_CHECKING:
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.reference.audit import Audit
    from sdschat.pipeline.results import Refused
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

    Exit code 0: they agree; 1: they do not, and the output says which node, which message, and where in the log; 5: an
    input could not be read when it was taken in.
    """
    from sdschat.pipeline.results import audit_of, refused_in
    from sdschat.pipeline.rules import DEFAULT

    rules = DEFAULT._replace(settle=milliseconds(settle))
    with open_lake(where, lake) as there:
        judge(there, rules)
        found, refused = audit_of(there), refused_in(there)
    return tell(found, refused, as_json)


def judge(there: Lake, rules: Rules) -> None:
    """All stages between what was taken in and the verdict."""
    from sdschat.pipeline import stages

    with step("silver"):
        stages.refine(there, rules)
    with step("log"):
        stages.consolidate(there)
    with step("audit"):
        stages.audit(there, rules)


def tell(found: Audit, refused: Refused, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(as_object(found, refused.rows), separators=(",", ":")))
    else:
        if len(found.channels) != 1:
            click.echo(safe(sentence(found.channels)))
        named = naming(found.nodes)
        for channel in found.channels:
            for line in channel_lines(channel, found, named, _SHOWN):
                click.echo(line)
        for line in (*journal_lines(found, named), *_refused_lines(refused)):
            click.echo(line)
    return exit_code(found, refused.rows)


def _refused_lines(refused: Refused) -> Iterator[str]:
    if not refused.rows:
        return
    for row in refused.rows[:_SHOWN]:
        yield f"not read: {safe(row.source)} {safe(row.place)}: {safe(row.reason)}"
    inputs = counted(refused.inputs, "input is", "inputs are")
    yield (
        f"{inputs} in quarantine, of which the verdict knows nothing or not all: the lake's table bronze/quarantine "
        "has every reason. Once they are mended, delete that table and ingest them again."
    )
