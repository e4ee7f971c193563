"""`sdschat locate`: print the paths of a profile's files, and the names of the other profiles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from sdschat.cli.options import PROJECT_FILE, Chosen, local_options, user_file
from sdschat.cli.output import safe
from sdschat.identity.keyfile import KEY_FILE
from sdschat.node.profile import profile_names


@click.command("locate")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@local_options
def command(chosen: Chosen, as_json: bool) -> None:
    """Print the paths of a profile's files, existing or not, and the names of the other profiles.

    \b
    Examples:
      sdschat locate --name ann
      sdschat locate --json | jq -r 'select(.name == "database") | .path'

    texts: what /log on writes; chat: colours, keys and aliases of the chat; logs: of the program, for its faults.
    """
    for name, path in _files(chosen):
        try:
            remark = "" if path.exists() else "  (not there)"
        except PermissionError:
            remark = "  (no permission to look)"
        if as_json:
            click.echo(json.dumps({"name": name, "path": str(path), "exists": not remark}, separators=(",", ":")))
        else:
            click.echo(f"{name:9} {path}{remark}")
    others = [name for name in profile_names(chosen.data_dir) if name != chosen.profile]
    if others and not as_json:
        click.echo(f"{'others':9} {', '.join(map(safe, others))}  (--profile NAME)")


def _files(chosen: Chosen) -> Iterator[tuple[str, Path]]:
    import platformdirs

    database = chosen.database.absolute()
    yield "profile", database.parent
    yield "database", database
    yield "key", database.parent / KEY_FILE
    yield "texts", database.parent / "logs"
    yield "config", user_file()
    yield "chat", user_file().with_name("tui.toml")
    yield "themes", user_file().with_name("themes")
    yield "project", Path(PROJECT_FILE).absolute()
    yield "logs", Path(platformdirs.user_log_dir("sdschat", appauthor=False))
