"""Making a members' channel, and pinning one to its data set."""

from __future__ import annotations

import secrets
import time

from sdschat.identity.members import announce
from sdschat.identity.signing import Identity, verify
from sdschat.node.members.record import MembersRecord, load_record, pinned
from sdschat.node.private.record import full_name, new_private
from sdschat.node.private.record import load_record as load_private
from sdschat.store.store import Store
from sdschat.store.timber import save_timber
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import Ready, TimberEngine
from sdschat.timber.events import Founded
from sdschat.timber.values import Now
from sdschat.transport.base import normal_channel
from sdschat.wire.timber_codec import TimberCodec

_NONCE_BYTES = 16


def create_members(store: Store, identity: Identity, name: str, config: Config) -> MembersRecord:
    """Make a members' channel of which this identity is the creator, and keep it. Raises ValueError, for a person."""
    name = normal_channel(name)
    if load_record(store, name) is not None:
        raise ValueError(f"You have a members' channel {name} already. Choose another name, or another --profile.")
    if full_name(store, name) != name or store.has_channel(name):
        raise ValueError(
            f"You have a channel {name} of another kind already, and the kind of a channel never changes. "
            "Choose another name, or another --profile."
        )
    data_set, ready = _found(identity, config)
    genesis = next(event.genesis for event in ready.events if isinstance(event, Founded))
    assert genesis is not None
    record = MembersRecord(name, data_set, announce(identity, name, genesis, [identity.public_key], 1))
    with store.transaction() as transaction:
        save_timber(transaction, name, ready.writes)
        record.save(transaction)
    return record


def create_private_members(
    store: Store, identity: Identity, name: str, config: Config, *, admins_invite: bool = False, broker: str = ""
) -> str:
    """Make a members' channel that is private as well, and keep it. Return its full name. Raises ValueError, for a
    person. It is not announced: its data set is in its links."""
    data_set, ready = _found(identity, config)
    private = new_private(store, identity, name, admins_invite=admins_invite, broker=broker, data_set=data_set)
    with store.transaction() as transaction:
        save_timber(transaction, private.name, ready.writes)
        private.save(transaction)
        MembersRecord(private.name, data_set).save(transaction)
    return private.name


def _found(identity: Identity, config: Config) -> tuple[bytes, Ready]:
    """Return a new data set, of which this identity is the only member, and its rows."""
    now = Now(time.time_ns() // 1_000_000, 0)
    engine = TimberEngine(config, Signer(identity.public_key, identity.sign), TimberCodec(), verify, now)
    data_set = engine.found(secrets.token_bytes(_NONCE_BYTES), now)
    return data_set, engine.take()


def pin(store: Store, channel: str, text: str) -> None:
    """Take part in this data set only. Raises ValueError, for a person, where the channel is something else here."""
    name, data_set = normal_channel(channel), pinned(text)
    record = load_record(store, name)
    if record is None:
        if load_private(store, full_name(store, name)) is not None:
            raise ValueError(f"{name} is a private channel here, and the kind of a channel never changes.")
        if store.messages(name):
            raise ValueError(
                f"{name} is an open channel here, with a history, and the kind of a channel never changes."
            )
        with store.transaction() as transaction:
            MembersRecord(name, data_set).save(transaction)
    elif record.data_set != data_set:
        raise ValueError(
            f"{name} is the data set {record.data_set.hex()} here, not {data_set.hex()}. Use another --profile for it."
        )
