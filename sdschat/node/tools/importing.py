"""A profile that begins with a key from an exported file."""

from __future__ import annotations

import secrets
from pathlib import Path

from sdschat.identity.backup import ExportedIdentity
from sdschat.identity.keyfile import create
from sdschat.node.channel.own_chain import DEVICE
from sdschat.node.private.links import note_private_names
from sdschat.node.profile import open_profile
from sdschat.node.settings import Settings
from sdschat.wire.chat_codec import DEVICE_BYTES


def begin_profile(path: Path, settings: Settings, exported: ExportedIdentity, nick: str, now: int) -> None:
    """Make a profile with this key, as a new device of it. `nick` may be empty. Raises KeyFileError if it has a key."""
    create(path.parent, exported.identity)
    profile = open_profile(path, settings)
    with profile.store as store, store.transaction() as transaction:
        transaction.set_value(DEVICE, secrets.token_bytes(DEVICE_BYTES))
        note_private_names(transaction, exported.private_channels)
        if nick:
            transaction.put_key(exported.identity.public_key, nick, now)
