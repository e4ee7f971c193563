"""`sdschat pipeline …`: the data pipeline on Spark. Each command is imported only when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from sdschat.cli.lazy import LazyGroup

# Name: short description. Its module is `sdschat.cli.spark.<name>`, with - as _.
COMMANDS: Final[Mapping[str, str]] = {
    "ingest": "Take profile databases, journals and captures into a lake.",
    "run": "Do consolidate, audit, metrics and report, one after the other.",
    "consolidate": "Make the canonical log of each channel.",
    "audit": "Check that everybody has everything, in the same order.",
    "metrics": "Compute delivery times, filters, repairs and traffic.",
    "report": "Write one HTML file with verdict, pictures and figures.",
    "stream": "Take segments in as they arrive.",
    "archive": "Sort the canonical log, to be read without Spark.",
    "get": "Print messages of the archive, by id or range.",
    "doctor": "Check Java, Spark and the packages, and say what would fail.",
    "warmup": "Make Spark start in about half the time.",
    "submit-args": "Print the command for spark-submit.",
    "init-sdp": "Write a project for Spark Declarative Pipelines.",
}
EXAMPLES: Final = """\b
Examples:
  sdschat pipeline ingest ~/field/*.db --lake lake   take in what nodes logged
  sdschat pipeline run --lake lake -o report.html    audit, figures, report
  sdschat pipeline audit --lake lake --json          the verdict alone
"""


@click.group(
    "pipeline",
    cls=LazyGroup,
    package="sdschat.cli.spark",
    sections={"Commands": COMMANDS},
    invoke_without_command=True,
    help=f"The data pipeline on Spark: from what many nodes logged to a verdict, figures and pictures.\n\n{EXAMPLES}",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
