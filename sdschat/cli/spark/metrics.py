"""`sdschat pipeline metrics`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from sdschat.cli.spark.common import lake_option, open_lake, step
from sdschat.cli.spark_target import where_options
from sdschat.cli.text import counted

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where


@click.command("metrics")
@lake_option
@click.option("--json", "as_json", is_flag=True, help="All figures as one JSON object.")
@where_options
def command(lake: str, as_json: bool, where: Where) -> None:
    """Measure how long delivery, acknowledgement and repair took, and what they cost.

    \b
    Examples:
      sdschat pipeline metrics --lake lake
      sdschat pipeline metrics --lake lake --json | jq .ack

    The tables metrics_… of the lake have all of it.
    """
    from sdschat.lake.judge import refine
    from sdschat.pipeline import stages
    from sdschat.pipeline.report.from_lake import metrics_of
    from sdschat.pipeline.report.tables import latency_note, repair_note

    with open_lake(where, lake) as there:
        with step("silver"):
            refine(there)
        with step("metrics"):
            stages.metrics(there)
        found = metrics_of(there)
    if as_json:
        plain = {
            name: [{key: value for key, value in row._asdict().items() if key != "sketch"} for row in rows]
            for name, rows in found._asdict().items()
        }
        click.echo(json.dumps(plain, separators=(",", ":")))
        return
    click.echo(f"delivery: {latency_note(found.delivery)}")
    click.echo(f"repair: {repair_note(found.repair)}")
    for name, rows in found._asdict().items():
        click.echo(f"metrics_{name}: {counted(len(rows), 'row')}")
