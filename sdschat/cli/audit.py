"""`sdschat audit`: whether several nodes have the same log, from their databases alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sdschat.cli.problem import DONE, PROFILE, UNEXPECTED
from sdschat.cli.spark.common import milliseconds, settle_option

if TYPE_CHECKING:
    from sdschat.pipeline.compare import Comparison
    from sdschat.pipeline.rules import Rules

_SHOWN = 20


@click.command("audit")
@click.argument("sources", nargs=-1, required=True, metavar="DB…", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@click.option("--all", "everything", is_flag=True, help=f"List all of it, not only the first {_SHOWN}.")
@click.option("--report", "page", metavar="FILE", type=click.Path(path_type=Path), help="Write an HTML report too.")
@settle_option
def command(sources: tuple[Path, ...], as_json: bool, everything: bool, page: Path | None, settle: str) -> int:
    """Compare the databases of several nodes: does everybody have everything, in the same order?

    \b
    Examples:
      sdschat audit ann.db bob.db cleo.db
      sdschat audit ~/.local/share/sdschat/profiles
      sdschat audit field/*.db --json
      sdschat audit field/*.db --report report.html

    Databases are only read, and their nodes may be running. Exit code 0: they agree; 1: they do not, and the output
    says which node, which message, and where in the log; 5: a database cannot be read.
    """
    from sdschat.cli.audit_report import as_object, lines
    from sdschat.pipeline.collector import no_collection
    from sdschat.pipeline.compare import compare, databases
    from sdschat.pipeline.rules import DEFAULT

    rules, now = DEFAULT._replace(settle=milliseconds(settle)), time.time_ns() // 1_000_000
    paths = databases(sources)
    with no_collection():
        found = compare(paths, now, rules) if page is None else _with_page(paths, now, rules, page)
    if as_json:
        import json

        click.echo(json.dumps(as_object(found.audit, found.quarantine), separators=(",", ":")))
    else:
        for line in lines(found, None if everything else _SHOWN):
            click.echo(line)
    return _exit_code(found)


def _with_page(paths: list[Path], now: int, rules: Rules, page: Path) -> Comparison:
    from sdschat.pipeline.compare import compare_rows
    from sdschat.pipeline.report.from_databases import report_data
    from sdschat.pipeline.report.page import page as made

    found, silver = compare_rows(paths, now, rules)
    page.write_text(made(report_data(found, silver, rules, time.time_ns() // 1_000_000)), encoding="utf-8")
    return found


def _exit_code(found: Comparison) -> int:
    if not found.audit.agreed:
        return UNEXPECTED
    return PROFILE if any(not row.place for row in found.quarantine) else DONE
