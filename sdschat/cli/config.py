"""`sdschat config`: print every value in force, and its source."""

from __future__ import annotations

import json

import click

from sdschat.cli.options import Chosen, channel_options, user_file, written
from sdschat.cli.output import safe
from sdschat.node.settings import SETTINGS


@click.command("config")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@channel_options
def command(chosen: Chosen, as_json: bool) -> None:
    """Print every setting in force, and its source.

    \b
    Examples:
      sdschat config
      sdschat config --timing demo --set repair.t_max=20s
      SDSCHAT_NAME=ann sdschat config --json

    \b
    The first of these that has a value wins:
      option, SDSCHAT_* variable, ./sdschat.toml, the user's config.toml, default.
    repair.t_min is SDSCHAT_REPAIR_T_MIN, and in a file t_min under [repair].
    """
    rows = [
        (name, "" if found.value is None else str(found.value), found.origin) for name, found in chosen.general.items()
    ]
    rows = [(name, _masked(value) if name == "broker" else value, origin) for name, value, origin in rows]
    rows += [(name, written(name, chosen.settings.value(name)), chosen.origins[name]) for name in SETTINGS]
    if as_json:
        for name, value, origin in rows:
            click.echo(json.dumps({"name": name, "value": value, "origin": origin}, separators=(",", ":")))
        return
    rows = [(name, safe(value), safe(origin)) for name, value, origin in rows]
    names, values = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    for name, value, origin in rows:
        click.echo(f"{name:{names}}  {value or '-':{values}}  {origin}")
    click.echo(f"{'user file':{names}}  {user_file()}")


def _masked(url: str) -> str:
    """Return the URL without its password."""
    from sdschat.transport.address import AddressError, parse_url

    if not url:
        return ""
    try:
        address, _ = parse_url(url)
    except AddressError:
        return "(unreadable)"
    user = f"{address.user}@" if address.user else ""
    return str(address).replace("://", f"://{user}", 1)
