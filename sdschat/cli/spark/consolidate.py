"""`sdschat pipeline consolidate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sdschat.cli.spark.common import lake_option, open_lake, step
from sdschat.cli.spark_target import where_options
from sdschat.cli.text import counted, safe

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where


@click.command("consolidate")
@lake_option
@where_options
def command(lake: str, where: Where) -> None:
    """Make the canonical log of each channel: every message once, in the order of all participants.

    \b
    Example:
      sdschat pipeline consolidate --lake lake
    """
    from sdschat.audit.schemas import Log
    from sdschat.pipeline import stages

    with open_lake(where, lake) as there:
        with step("silver"):
            stages.refine(there)
        with step("log"):
            stages.consolidate(there)
        for row in there.read(Log).groupBy("run_id", "channel").count().orderBy("run_id", "channel").collect():
            click.echo(f"{safe(row['run_id'])}  {safe(row['channel'])}  {counted(row['count'], 'message')}")
