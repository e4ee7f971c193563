"""The file of a report: a report written again may replace the last one, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from sdschat.audit.report.start import is_report


def report_file(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Check that no other file would be lost: it may be a database that is to be audited, after a forgotten name."""
    if value is not None and value.is_file() and not is_report(value):
        raise click.BadParameter(
            f"{value} is there already, and is no report. Choose another name.", context, parameter
        )
    return value
