"""`sdschat pipeline doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from sdschat.cli.errors import say
from sdschat.cli.spark.common import target_options
from sdschat.pipeline.session import SparkTarget

if TYPE_CHECKING:
    from sdschat.pipeline.doctor import Finding


def _print(found: Iterable[Finding], as_json: bool) -> None:
    for finding in found:
        if as_json:
            click.echo(json.dumps(finding._asdict(), separators=(",", ":")))
        else:
            click.echo(f"{finding.state:6} {finding.what:24} {finding.says}")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
@target_options
def command(as_json: bool, target: SparkTarget) -> int:
    """Say which Java Spark would run on, and why; what is installed; what would fail.

    A cluster or a Connect server is asked for a sign of life, which may take a minute.

    \b
    Examples:
      sdschat pipeline doctor
      sdschat pipeline doctor --master spark://host:7077
      sdschat pipeline doctor --remote sc://host:15002

    Exit code 3 where Spark cannot run.
    """
    from sdschat.audit.errors import NO_SPARK
    from sdschat.pipeline.doctor import BAD, LIMIT, ask_there, elsewhere, examine

    found = examine(target)
    _print(found, as_json)
    if elsewhere(target) and not any(finding.state == BAD for finding in found):
        say(f"asking there; this takes {LIMIT:g} s at most")
        told = ask_there(target)
        _print(told, as_json)
        found += told
    return NO_SPARK if any(finding.state == BAD for finding in found) else 0
