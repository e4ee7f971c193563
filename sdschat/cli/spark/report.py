"""`sdschat pipeline report`."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.output import whole_file
from sdschat.cli.report_file import report_file
from sdschat.cli.spark import common

if TYPE_CHECKING:
    from sdschat.lake.engine import LakeEngine
    from sdschat.pipeline.session import SparkTarget


def _writable(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Check that the file can be written, and no other file is lost, before Spark works for minutes."""
    folder = value.parent
    if value.is_dir():
        raise click.BadParameter(f"{value} is a folder. Name a file.")
    if not folder.is_dir():
        raise click.BadParameter(f"{value} cannot be written: there is no folder {folder}.")
    if not os.access(value if value.exists() else folder, os.W_OK):
        raise click.BadParameter(f"{value} cannot be written: permission denied. Choose another.")
    report_file(context, parameter, value)
    return value


output_option: Final = click.option(
    "-o",
    "--output",
    default="report.html",
    type=FilePath(),
    callback=_writable,
    help="File of the report. Default: report.html.",
)


@click.command("report")
@common.lake_option
@output_option
@common.engine_option
@common.target_options
def command(lake: str, output: Path, engine: str, target: SparkTarget) -> None:
    """Make one HTML file of what the last audit found: verdict, pictures, figures.

    \b
    Example:
      sdschat pipeline report --lake lake -o report.html

    It needs nothing else, so it can be sent on. `sdschat pipeline run` makes everything anew first.
    """
    from sdschat.lake.figures import measure

    with common.open_lake_engine(target, lake, engine, writes=False) as there:
        if not there.has_verdict():
            same = "" if engine == common.SPARK else f" --engine {engine}"
            raise CommandProblem(
                f"The verdict in {lake} is not about all that is in it: an audit was broken off, or rows came in "
                f"since the last one. Make it anew first: sdschat pipeline audit --lake {shlex.quote(lake)}{same}.",
                WRONG_USE,
            )
        with common.step("figures"):
            grain = measure(there, keep=False)
        write_report(there, lake, grain, output)


def write_report(there: LakeEngine, lake: str, grain: int, output: Path) -> None:
    from sdschat.audit.report.page import page
    from sdschat.lake.figures import report_data

    with common.step("report"):
        made = page(report_data(there, lake, grain, time.time_ns() // 1_000_000), common.cache_folder("report"))
    try:
        with whole_file(output) as file:
            file.write(made)
    except OSError as error:
        raise CommandProblem(
            f"{output} cannot be written: {error.strerror}. Choose another --output.", WRONG_USE
        ) from error
    say(f"The report is written to {output}.")
