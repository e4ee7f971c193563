"""`sdschat pipeline metrics`."""

from __future__ import annotations

import json

import click

from sdschat.cli.output import counted
from sdschat.cli.spark.common import engine_option, lake_option, open_lake_engine, step, target_options
from sdschat.pipeline.session import SparkTarget


@click.command("metrics")
@lake_option
@click.option("--json", "as_json", is_flag=True, help="All figures as one JSON object.")
@engine_option
@target_options
def command(lake: str, as_json: bool, engine: str, target: SparkTarget) -> None:
    """Measure how long delivery, acknowledgement and repair took, and what they cost.

    \b
    Examples:
      sdschat pipeline metrics --lake lake
      sdschat pipeline metrics --lake lake --json | jq .ack

    The tables metrics_… of the lake have all of it.
    """
    from sdschat.audit.report.tables import latency_note, repair_note
    from sdschat.lake.figures import measure, metrics
    from sdschat.lake.judge import refine

    with open_lake_engine(target, lake, engine) as there:
        if not there.has_verdict():
            with step("silver"):
                refine(there)
        with step("metrics"):
            measure(there, keep=True)
        found = metrics(there)
    if as_json:
        plain = {name: [row._asdict() for row in rows] for name, rows in found.items()}
        click.echo(json.dumps(plain, separators=(",", ":")))
        return
    click.echo(f"delivery: {latency_note(found['delivery'])}")
    click.echo(f"repair: {repair_note(found['repair'])}")
    for name, rows in found.items():
        click.echo(f"metrics_{name}: {counted(len(rows), 'row')}")
