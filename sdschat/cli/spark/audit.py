"""`sdschat pipeline audit`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sdschat.audit.verdict import counted
from sdschat.cli import audit_report
from sdschat.cli.audit import exit_code
from sdschat.cli.errors import DONE, WRONG_USE
from sdschat.cli.spark import common

if TYPE_CHECKING:
    from sdschat.audit.verdict import Audit, Rules
    from sdschat.lake.engine import LakeEngine
    from sdschat.lake.judge import Refused, ResultScope
    from sdschat.pipeline.session import SparkTarget


@click.command("audit")
@common.lake_option
@common.settle_option
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@audit_report.all_option
@audit_report.channel_option
@click.option("--run", "run_id", metavar="NAME", help="The verdict on this campaign alone.")
@common.engine_option
@common.target_options
def command(
    lake: str,
    settle: str,
    as_json: bool,
    everything: bool,
    channel: str | None,
    run_id: str | None,
    engine: str,
    target: SparkTarget,
) -> int:
    """Check that everybody has everything that they should have, in the same order.

    \b
    Examples:
      sdschat pipeline audit --lake lake
      sdschat pipeline audit --lake lake --run berlin --channel lobby --all
      sdschat pipeline audit --lake lake --json --master spark://host:7077

    Exit code 0: they agree; 1: they do not, and the output says which node, which message, and where in the log; 2: the
    lake has nothing to compare; 5: an input could not be read when it was taken in.
    """
    from sdschat.lake.judge import ResultScope

    rules, part = common.rules_of(settle), ResultScope(run_id, channel)
    with common.open_lake_engine(target, lake, engine) as there:
        must_have(there, part)
        judge(there, rules)
        return tell_verdict(there, part, as_json, everything)


def judge(there: LakeEngine, rules: Rules) -> None:
    from sdschat.lake.judge import audit, consolidate, refine

    with common.step("silver"):
        refine(there, rules)
    with common.step("log"):
        consolidate(there)
    with common.step("audit"):
        audit(there)


def must_have(there: LakeEngine, part: ResultScope) -> None:
    """Raise CommandProblem if the campaign, or the channel in it, is not in the lake: before the work."""
    from sdschat.lake.judge import names_in

    of_run = part._replace(channel=None)
    if part.run_id is not None and not names_in(there, "run_id", of_run):
        raise audit_report.nothing_called("campaign", part.run_id, names_in(there, "run_id"))
    if part.channel is not None and not names_in(there, "channel", part):
        raise audit_report.nothing_called("channel", part.channel, names_in(there, "channel", of_run))


def tell_verdict(there: LakeEngine, part: ResultScope | None, as_json: bool, everything: bool) -> int:
    from sdschat.lake.judge import WHOLE, audit_of, places_in, refused_in

    part = part or WHOLE
    found = audit_of(there, part)
    sources = {} if as_json or found.agreed else places_in(there)
    return tell(found, refused_in(there, part.run_id), sources, as_json, None if everything else audit_report.SHOWN)


def tell(
    found: Audit, refused: Refused, sources: audit_report.Sources, as_json: bool, most: int | None = audit_report.SHOWN
) -> int:
    if as_json:
        click.echo(json.dumps(audit_report.as_object(found, refused.rows), separators=(",", ":")))
    else:
        for line in (
            *audit_report.lines(found, most),
            *_refused_lines(refused, most),
            *audit_report.closer_lines(found, sources, most),
        ):
            click.echo(line)
    return exit_code(found, refused.rows) or (DONE if found.channels else WRONG_USE)


def _refused_lines(refused: Refused, most: int | None) -> Iterator[str]:
    if not refused.rows:
        return
    yield from audit_report.refused_lines(refused.rows, most)
    inputs = counted(refused.inputs, "input is", "inputs are")
    yield (
        f"{inputs} in quarantine, of which the verdict knows nothing or not all; the lake's table bronze/quarantine "
        "has every reason. Ingest them again once they are mended, or a newer copy of the same database: then they "
        "count no more."
    )
