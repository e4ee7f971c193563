"""`sdschat pipeline consolidate`."""

from __future__ import annotations

import click

from sdschat.cli.output import counted, safe
from sdschat.cli.spark.common import engine_option, lake_option, open_lake_engine, step, target_options
from sdschat.pipeline.session import SparkTarget


@click.command("consolidate")
@lake_option
@engine_option
@target_options
def command(lake: str, engine: str, target: SparkTarget) -> None:
    """Make the canonical log of each channel: every message once, in the order of all participants.

    \b
    Example:
      sdschat pipeline consolidate --lake lake
    """
    from sdschat.audit.schemas import Log
    from sdschat.lake.judge import consolidate, refine

    with open_lake_engine(target, lake, engine) as there:
        with step("silver"):
            refine(there)
        with step("log"):
            consolidate(there)
        there.name(Log, "canonical")
        sizes = "SELECT run_id, channel, COUNT(*) FROM canonical GROUP BY run_id, channel ORDER BY run_id, channel"
        for run_id, channel, count in there.rows(sizes):
            click.echo(f"{safe(run_id)}  {safe(channel)}  {counted(count, 'message')}")
