"""`sdschat import-identity`: begin a profile with the key from an exported file."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, say
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.passphrase import find_passphrase
from sdschat.identity.backup import open_identity
from sdschat.identity.keyfile import create
from sdschat.node.channel.own_chain import DEVICE
from sdschat.node.profile import open_profile
from sdschat.wire.chat_codec import DEVICE_BYTES


@click.command("import-identity")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--passphrase-file", type=click.Path(path_type=Path), metavar="FILE", help="Holds the passphrase.")
@local_options
def command(chosen: Chosen, file: Path, passphrase_file: Path | None) -> None:
    """Begin a profile with the key from an exported file.

    \b
    Examples:
      sdschat import-identity ann.key --name ann
      sdschat import-identity ann.key --profile ann-laptop --name ann

    The profile must not have a key yet. It goes on as a new device, so that numbers of messages are never used twice,
    even if the old machine goes on as well.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandProblem(f"{file} cannot be read: {error}.", WRONG_USE) from error
    identity = open_identity(text, find_passphrase(passphrase_file, twice=False))
    path = chosen.database
    create(path.parent, identity)
    profile = open_profile(path, chosen.settings)
    with profile.store as store, store.transaction() as transaction:
        transaction.set_value(DEVICE, secrets.token_bytes(DEVICE_BYTES))
    say(f"The profile {chosen.profile} has the key {identity.sender_id} now, and is a new device of it.")
