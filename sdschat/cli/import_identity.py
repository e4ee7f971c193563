"""`sdschat import-identity`: begin a profile with the key from an exported file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, read_small, say
from sdschat.cli.options import WORKED_OUT, Chosen, FoundSettings, local_options
from sdschat.cli.output import safe
from sdschat.cli.passphrase import find_passphrase
from sdschat.identity.backup import open_identity
from sdschat.node.private.record import is_link
from sdschat.node.tools.importing import begin_profile

_FILE: Final = "the exported file"


@click.command("import-identity")
@click.argument("file", type=FilePath())
@click.option("--passphrase-file", type=FilePath(), help="Holds the passphrase.")
@local_options
def command(chosen: Chosen, file: Path, passphrase_file: Path | None) -> None:
    """Begin a profile with the key from an exported file.

    \b
    Examples:
      sdschat import-identity ann.key
      sdschat import-identity ann.key --profile ann-laptop --name ann

    Nick and profile are named as in the file, unless you name them. The profile must not have a key yet. It goes on as
    a new device, so that numbers of messages are never used twice, even if the old machine goes on as well. In members'
    channels one program alone may write with a key: end the old one there.
    """
    text = str(file) if is_link(str(file)) else read_small(file, f"{safe(str(file))} cannot be read")
    if is_link(text):
        raise CommandProblem(
            "This is an invite to a private channel, and no exported identity: `sdschat join INVITE` takes it.",
            WRONG_USE,
        )
    exported = open_identity(text, find_passphrase(passphrase_file, twice=False))
    _go_by(chosen, exported.nick)
    nick = "" if chosen.general["name"].origin == "default" else chosen.nick
    begin_profile(chosen.database, chosen.settings, exported, nick, time.time_ns() // 1_000_000)
    say(f"The profile {chosen.profile} has the key {exported.identity.sender_id} now, and is a new device of it.")
    private = ", ".join(map(safe, exported.private_channels))
    listed = f" It was in {private}." if private else ""
    say(f"Keys of private channels are not in such a file.{listed} Ask a member for an invite to each of them.")


def _go_by(chosen: Chosen, nick: str) -> None:
    """Name what the user did not name as the file does: under another nick the next `join --name` would make a new
    key, which others take for somebody else's."""
    if not nick or chosen.general["name"].origin not in WORKED_OUT:
        return
    if chosen.general["profile"].origin in WORKED_OUT:
        chosen.general["profile"] = FoundSettings(nick, _FILE)
    chosen.general["name"] = FoundSettings(nick, _FILE)
