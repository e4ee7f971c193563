"""`sdschat pipeline ingest`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from sdschat.audit.schemas import FIELD
from sdschat.cli.spark.common import added_lines, lake_option, new_or_old_lake, step, tell_refused
from sdschat.cli.spark.sources import sources_in
from sdschat.cli.text import counted


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…", type=click.Path(path_type=Path))
@lake_option
@click.option("--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field.")
@click.option("--json", "as_json", is_flag=True, help="The counts as one JSON object.")
def command(sources: tuple[Path, ...], lake: str, run_id: str, as_json: bool) -> None:
    """Take databases of profiles, exported journals and captures into a lake.

    \b
    Examples:
      sdschat pipeline ingest ~/.local/share/sdschat/profiles --lake lake
      sdschat pipeline ingest upload/*.db journals/*.jsonl tap/ --lake lake --run berlin

    What is there already is not added again: run it as often as you like, with newer copies too. What cannot be read
    goes to the quarantine, with the reason.
    """
    from sdschat.lake.ingest import ingest, quarantined

    paths = sources_in(sources)
    there = new_or_old_lake(lake)
    with step(f"ingest of {counted(len(paths), 'file')}"):
        found = ingest(there, paths, run_id, time.time_ns() // 1_000_000)
    bad = quarantined(there, paths)
    if as_json:
        tables = {row.table: {"read": row.read, "added": row.added} for row in found}
        click.echo(json.dumps({"tables": tables, "quarantine": [row._asdict() for row in bad]}))
        return
    for line in added_lines(found):
        click.echo(line)
    tell_refused(bad)
