"""`sdschat channels`: list the channels of a profile."""

from __future__ import annotations

import json

import click

from sdschat.cli.options import local_options, say
from sdschat.cli.profile_reader import open_reader
from sdschat.cli.setting_sources import Chosen
from sdschat.cli.text import moment, safe

_HEADINGS = "MESSAGES  UNREAD  UNACKED  WAITING  MISSING  LOST  PEERS  NEWEST               LOG"


@click.command("channels")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@local_options
def command(chosen: Chosen, as_json: bool) -> None:
    """List the channels of a profile, with counts.

    \b
    Examples:
      sdschat channels --name ann
      sdschat channels --profile work --json

    Two participants whose channels have equal fingerprints have equal logs.
    """
    with open_reader(chosen) as reader:
        found = reader.channels()
    if as_json:
        for info in found:
            click.echo(json.dumps(info._asdict(), separators=(",", ":")))
        return
    if not found:
        say(f"The profile {chosen.profile} has no channels yet. Try: sdschat pipe lobby --name {chosen.nick}")
        return
    width = max(len("CHANNEL"), *(len(safe(info.channel)) for info in found))
    click.echo(f"{'CHANNEL':{width}}  {_HEADINGS}")
    for info in found:
        click.echo(
            f"{safe(info.channel):{width}}  {info.messages:8}  {info.unread:6}  {info.open_outgoing:7}  {info.held:7}  "
            f"{info.missing:7}  {info.lost:4}  {info.peers:5}  {moment(info.newest)}  {info.fingerprint[:8]}"
        )
