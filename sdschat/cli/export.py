"""`sdschat export`: write the history into a file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import click

from sdschat.audit.sources.databases import is_database
from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.histories import WantedHistory, open_reader
from sdschat.cli.history_lines import print_history
from sdschat.cli.log import FORMATS, which_options
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import writable

_SUFFIXES: Final = {
    ".txt": "text",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".md": "md",
    ".parquet": "parquet",
}
_OF_PAGES: Final = (".html", ".htm")


@click.command("export")
@click.argument("channel")
@click.argument("file", type=FilePath())
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: what the name of the file ends with.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@which_options
@local_options
def command(chosen: Chosen, wanted: WantedHistory, file: Path, form: str | None, force: bool) -> None:
    """Write the history of a channel into a file.

    \b
    Examples:
      sdschat export lobby lobby.md --name ann
      sdschat export lobby lobby.parquet --since 30d --name ann
      sdschat export @bob bob.txt --name ann

    The end of the name says the format; .json is the same as .jsonl and .ndjson: JSON lines, one object a line. It is
    the same as `sdschat log CHANNEL --format … > FILE`, but the file appears whole or not at all.
    """
    chosen_form = form or _SUFFIXES.get(file.suffix.lower())
    if chosen_form is None:
        known = ", ".join(_SUFFIXES)
        page = " A page is written by `sdschat share`." if file.suffix.lower() in _OF_PAGES else ""
        raise CommandProblem(f"{file} ends with none of {known}. Say --format {', '.join(FORMATS)}.{page}", WRONG_USE)
    if file.exists() and not force:
        raise CommandProblem(f"{file} is there already. Choose another name, or replace it with --force.", WRONG_USE)
    if is_database(file) or file.absolute().parent == chosen.database.absolute().parent:
        raise CommandProblem(f"{file} is a database, or beside that of the profile. Choose another name.", WRONG_USE)
    with open_reader(chosen) as reader, writable(file) as output, contextlib.redirect_stdout(output):
        print_history(chosen, reader, wanted, chosen_form)
    say(f"{file} is written{', one JSON object a line' if chosen_form == 'json' else ''}")
