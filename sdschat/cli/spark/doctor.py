"""`sdschat pipeline doctor`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from sdschat.cli.where import where_options

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
@where_options
def command(as_json: bool, where: Where) -> int:
    """Which Java Spark would run on, and why; what is installed; what would fail.

    Exit code 3 where Spark cannot run.
    """
    from sdschat.pipeline.doctor import BAD, examine
    from sdschat.pipeline.problem import NO_SPARK

    found = examine(where)
    for finding in found:
        if as_json:
            click.echo(json.dumps(finding._asdict()))
        else:
            click.echo(f"{finding.state:6} {finding.what:24} {finding.says}")
    return NO_SPARK if any(finding.state == BAD for finding in found) else 0
