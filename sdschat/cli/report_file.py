"""The file of a report: a report written again may replace the last one, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from sdschat.audit.report import PAGE_START


def report_file(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Check that no other file would be lost: it may be a database that is to be audited, after a forgotten name."""
    if value is not None and value.is_file() and not _is_report(value):
        raise click.BadParameter(
            f"{value} is there already, and is no report. Choose another name.", context, parameter
        )
    return value


def _is_report(path: Path) -> bool:
    """True if the file begins as each page does that this program makes of an audit, a lake or simulations."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PAGE_START)) == PAGE_START.encode()
    except OSError:
        return False
