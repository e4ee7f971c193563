"""`sdschat pipeline ingest`, and the sources that the user named."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sdschat.cli.errors import DONE, PROFILE, WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.output import counted, listed, safe
from sdschat.cli.spark import common

if TYPE_CHECKING:
    from sdschat.audit.schemas import Quarantine
    from sdschat.lake.ingest import Added

_NAMED: Final = 3


def sources_in(sources: Sequence[Path]) -> list[Path]:
    """Return the files to read. Raises CommandProblem for a missing path, and for a folder with nothing to read."""
    from sdschat.lake.sources.files import SUFFIXES
    from sdschat.lake.sources.survey import find

    try:
        found = find(sources)
    except FileNotFoundError as error:
        path = Path(str(error))
        wrong = f"{path} is a link to nothing" if path.is_symlink() else f"There is no {path}"
        if path.exists():
            wrong = f"{path} is neither file nor folder"
        raise CommandProblem(f"{safe(wrong)}. Name databases, journals, captures, or folders.", WRONG_USE) from error
    taken = ", ".join(SUFFIXES[:-1])
    if found.empty:
        folder = found.empty[0]
        skipped = "".join(f" {line}." for line in skipped_lines(find([folder]).skipped))
        raise CommandProblem(
            f"Nothing in {safe(str(folder))} can be taken in: no file there ends in {taken} or {SUFFIXES[-1]}."
            f"{skipped} Name another folder, or the files themselves.",
            WRONG_USE,
        )
    for line in skipped_lines(found.skipped):
        say(
            f"warning: {line}. Of a folder, {taken} and {SUFFIXES[-1]} are taken; what is named itself is, whatever "
            "its name."
        )
    return found.files


def skipped_lines(skipped: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    if not skipped:
        return
    told = []
    for why, paths in skipped.items():
        names = listed([str(path) for path in paths], _NAMED)
        told.append(f"{len(paths):,} {'is' if len(paths) == 1 else 'are'} {why} ({names})")
    count = sum(map(len, skipped.values()))
    yield f"{count:,} {'file is' if count == 1 else 'files are'} passed over: {'; '.join(told)}"


def take_in(paths: Sequence[Path], lake: str, run_id: str) -> tuple[list[Added], list[Quarantine]]:
    from sdschat.lake.ingest import ingest, quarantined

    there = common.new_or_old_lake(lake)
    with common.step(f"ingest of {counted(len(paths), 'file')}"):
        added = ingest(there, paths, run_id, time.time_ns() // 1_000_000)
    bad = quarantined(there, paths)
    common.tell_cut_logs(paths, bad)
    return added, bad


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…", type=FilePath())
@common.lake_option
@common.run_option
@click.option("--json", "as_json", is_flag=True, help="The counts as one JSON object.")
def command(sources: tuple[Path, ...], lake: str, run_id: str, as_json: bool) -> int:
    """Take databases of profiles, exported journals and captures into a lake.

    \b
    Examples:
      sdschat pipeline ingest ~/.local/share/sdschat/profiles --lake lake
      sdschat pipeline ingest upload/*.db tap/ --lake lake --run berlin

    What is there already is not added again: run it as often as you like, with newer copies too. What cannot be read
    goes to the quarantine, with the reason. Exit code 5: an input could not be read; the others are taken.
    """
    found, bad = take_in(sources_in(sources), lake, run_id)
    if as_json:
        tables = {row.table: {"read": row.read, "added": row.added} for row in found}
        report = {"tables": tables, "quarantine": [row._asdict() for row in bad]}
        click.echo(json.dumps(report, separators=(",", ":")))
    else:
        for line in common.added_lines(found):
            click.echo(line)
        common.tell_refused(bad)
    return PROFILE if any(not row.place for row in bad) else DONE
