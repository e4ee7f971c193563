"""`sdschat pipeline report`."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.options import say
from sdschat.cli.spark.common import lake_option, open_lake, step
from sdschat.cli.spark_target import where_options
from sdschat.cli.whole_file import whole_file

if TYPE_CHECKING:
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.session import Where


def _writable(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Check that the file can be written, before Spark works for minutes."""
    folder = value.parent
    if value.is_dir():
        raise click.BadParameter(f"{value} is a folder. Name a file.")
    if not folder.is_dir():
        raise click.BadParameter(f"{value} cannot be written: there is no folder {folder}.")
    if not os.access(value if value.exists() else folder, os.W_OK):
        raise click.BadParameter(f"{value} cannot be written: permission denied. Choose another.")
    return value


output_option: Final = click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="report.html",
    type=click.Path(path_type=Path),
    callback=_writable,
    help="File of the report. Default: report.html.",
)


@click.command("report")
@lake_option
@output_option
@where_options
def command(lake: str, output: Path, where: Where) -> None:
    """Make one HTML file of what audit and metrics found last: verdict, pictures, figures.

    \b
    Example:
      sdschat pipeline report --lake lake -o report.html

    It needs nothing else, so it can be sent on. `sdschat pipeline run` makes everything anew first.
    """
    with open_lake(where, lake) as there:
        if not there.has_verdict():
            raise CommandProblem(
                f"The verdict in {lake} is not about all that is in it: an audit was broken off, or rows came in "
                f"since the last one. Make it anew first: sdschat pipeline audit --lake {shlex.quote(lake)}.",
                WRONG_USE,
            )
        write_report(there, output)


def write_report(lake: Lake, output: Path) -> None:
    from sdschat.pipeline.report.from_lake import report_data
    from sdschat.pipeline.report.page import page

    with step("report"):
        made = page(report_data(lake, time.time_ns() // 1_000_000))
    try:
        with whole_file(output) as file:
            file.write(made)
    except OSError as error:
        raise CommandProblem(
            f"{output} cannot be written: {error.strerror}. Choose another --output.", WRONG_USE
        ) from error
    say(f"written to {output}")
