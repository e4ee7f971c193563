"""Making a private channel."""

from __future__ import annotations

import secrets

from sdschat.identity.packets import SECRET_BYTES
from sdschat.identity.signing import Identity
from sdschat.node.private.record import PrivateRecord, full_name
from sdschat.store.store import Store
from sdschat.transport.base import MAX_CHANNEL_CHARACTERS, normal_channel
from sdschat.wire.private_codec import SALT_BYTES, Genesis

_LONGEST = MAX_CHANNEL_CHARACTERS - len("~abcdef")


def create_private(
    store: Store,
    identity: Identity,
    name: str,
    *,
    admins_invite: bool = False,
    since_join: bool = False,
    broker: str = "",
) -> str:
    """Make a private channel of which this identity is the creator, and keep it. Return its full name. `since_join`:
    who joins gets nothing that was written before.

    Raises ValueError for a name that is none.
    """
    record = new_private(store, identity, name, admins_invite=admins_invite, since_join=since_join, broker=broker)
    with store.transaction() as transaction:
        record.save(transaction)
    return record.name


def new_private(
    store: Store,
    identity: Identity,
    name: str,
    *,
    admins_invite: bool = False,
    since_join: bool = False,
    broker: str = "",
    data_set: bytes = b"",
) -> PrivateRecord:
    """Return a private channel that is not kept yet. `data_set`: of a members' channel. Raises ValueError for a name
    that is none."""
    name = normal_channel(name)
    if "~" in name:
        raise ValueError("The name of a private channel cannot have a ~ in it: what stands behind it is its number.")
    if len(name) > _LONGEST:
        raise ValueError(f"The name of a private channel has at most {_LONGEST} characters, not {len(name)}.")
    if full_name(store, name) != name or store.has_channel(name):
        raise ValueError(f"You have a channel {name} already. Choose another name, or use another --profile.")
    genesis = Genesis(identity.public_key, secrets.token_bytes(SALT_BYTES), name, admins_invite, data_set, since_join)
    return PrivateRecord(genesis, {b"": secrets.token_bytes(SECRET_BYTES)}, broker=broker)
