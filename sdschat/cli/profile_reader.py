"""Reading a profile's database, for commands that change nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sdschat.cli.errors import PROFILE, WRONG_USE, CommandProblem
from sdschat.cli.setting_sources import Chosen
from sdschat.node.private.record import full_name
from sdschat.node.profile import database_path, profile_names
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.wire.nim_codec import EitherCodec


def codec_of(chosen: Chosen) -> EitherCodec:
    return EitherCodec(chosen.settings.config.max_message_bytes)


@contextmanager
def open_reader(chosen: Chosen) -> Iterator[Reader]:
    """Open the database for reading, also while a node writes there. Raises Problem if there is no such profile."""
    path = database_path(chosen.data_dir, chosen.profile)
    try:
        os.stat(path)
    except PermissionError as error:
        raise CommandProblem(f"{path} cannot be read: no permission. Is it another user's?", PROFILE) from error
    except OSError as error:
        known = profile_names(chosen.data_dir)
        there = "There is none at all: sdschat join CHANNEL --name NICK begins one."
        if known:
            are = "is" if len(known) == 1 else "are"
            there = f"There {are} {', '.join(known[:8])}. Choose one with --profile or --name."
        absent = f"There is no profile {chosen.profile} in {chosen.data_dir}."
        raise CommandProblem(f"{absent} {there}", WRONG_USE) from error
    reader = Store.open_read_only(path, codec_of(chosen))
    try:
        yield reader
    finally:
        reader.close()


def require_channel(reader: Reader, chosen: Chosen, channel: str) -> str:
    """Return the full name of a channel of this profile. Raises Problem if it has none of this name."""
    channel = full_name(reader, channel)
    names = [info.channel for info in reader.channels()]
    if channel not in names:
        known = f"It has {', '.join(names[:5])}." if names else "It has none yet."
        raise CommandProblem(f"The profile {chosen.profile} has no channel {channel}. {known}", WRONG_USE)
    return channel
