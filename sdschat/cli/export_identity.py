"""`sdschat export-identity`: write the key of a profile into a file that a passphrase opens."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.histories import open_reader
from sdschat.cli.options import WORKED_OUT, Chosen, local_options
from sdschat.cli.passphrase import find_passphrase
from sdschat.identity.backup import seal_identity
from sdschat.identity.keyfile import KEY_FILE, load
from sdschat.identity.signing import nick_of
from sdschat.node.private.links import private_names


@click.command("export-identity")
@click.argument("file", type=FilePath())
@click.option("--passphrase-file", type=FilePath(), help="Holds the passphrase.")
@local_options
def command(chosen: Chosen, file: Path, passphrase_file: Path | None) -> None:
    """Write the key of a profile into a file that a passphrase opens.

    \b
    Examples:
      sdschat export-identity ann.key --name ann
      sdschat import-identity ann.key               on another machine

    With the key and the nick you are the same person to others. The history is not in the file, nor are the keys of
    private channels, but their names: those come from other members, by an invite. Without a terminal,
    SDSCHAT_PASSPHRASE has the passphrase.
    """
    source = chosen.database.parent / KEY_FILE
    if not source.exists():
        raise CommandProblem(f"There is no profile {chosen.profile} in {chosen.data_dir}.", WRONG_USE)
    identity, passphrase = load(source), find_passphrase(passphrase_file, twice=True)
    text = seal_identity(identity, passphrase, *_nick_and_private_names(chosen, identity.public_key))
    try:
        # Never over another file: it may be the only copy of a key.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise CommandProblem(f"{file} is there already. Choose another name.", WRONG_USE) from error
    except OSError as error:
        raise CommandProblem(f"{file} cannot be written: {error.strerror}. Choose another place.", WRONG_USE) from error
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as output:
            output.write(text)
            output.flush()
            os.fsync(descriptor)
    except OSError as error:
        file.unlink(missing_ok=True)  # a part of it would be taken for a copy of the key
        raise CommandProblem(f"{file} cannot be written: {error.strerror}. Choose another place.", WRONG_USE) from error
    say(
        f"The key of {chosen.profile} is in {file}. Whoever has that file and the passphrase is you. "
        "On another machine, sdschat import-identity makes this profile of it."
    )


def _nick_and_private_names(chosen: Chosen, public_key: bytes) -> tuple[str, list[str]]:
    nick = chosen.profile if chosen.general["name"].origin in WORKED_OUT else chosen.nick
    if not chosen.database.exists():
        return nick, []
    with open_reader(chosen) as reader:
        return nick_of(reader.keys(), public_key) or nick, private_names(reader)
