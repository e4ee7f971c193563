"""`sdschat tail`: print the last messages, and new ones as they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import click

from sdschat.cli.histories import WantedHistory, open_reader
from sdschat.cli.history_lines import print_history
from sdschat.cli.log import which_options
from sdschat.cli.options import Chosen, local_options

_LAST: Final = 10


@click.command("tail")
@click.argument("channel", required=False)
@click.option("--json", "is_json", is_flag=True, help="JSON lines, as log has them.")
@click.option("-f", "--follow", is_flag=True, hidden=True, expose_value=False)  # as one types it for other programs
@which_options
@local_options
def command(chosen: Chosen, wanted: WantedHistory, is_json: bool) -> None:
    """Print the last ten messages and new ones, until it is interrupted.

    \b
    Examples:
      sdschat tail lobby --name ann
      sdschat tail @bob --name ann
      sdschat tail lobby -n 100 --json

    The same as `sdschat log CHANNEL --follow --last 10`. It uses no network: it shows messages that another process
    with this profile (join, pipe or store) receives.
    """
    with open_reader(chosen) as reader:
        last = wanted.last or _LAST
        print_history(chosen, reader, replace(wanted, last=last), "json" if is_json else "text", follows=True)
