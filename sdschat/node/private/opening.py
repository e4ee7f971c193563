"""Opening a private channel: its keys, the layer that seals, and the extension that follows its members."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from sdschat.identity.private.link import LinkError, channel_name, genesis_digest, is_private_name, read_link
from sdschat.node.private.membership import PrivateChannel, Send
from sdschat.node.private.record import PrivateRecord, full_name, is_link, load_operations, load_record, take_link
from sdschat.node.private.sealer import ChannelSealer
from sdschat.node.settings import SettingError, Settings
from sdschat.transport.base import Topics, Transport
from sdschat.transport.sealing import SealedTopics, SealedTransport

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.store.store import Store


def enter(store: Store, text: str, now: int) -> str:
    """Return the name of the channel that a name or a link means. What a link holds is kept with the profile.

    Raises ValueError, in words for a person, for a link that is refused, and for the full name of a private channel
    that this profile is not in: an open channel of that name would look like it.
    """
    if not is_link(text):
        name = full_name(store, text)
        if is_private_name(name) and load_record(store, name) is None and not store.has_channel(name):
            raise LinkError(
                f"{name} is a private channel that this profile was not invited to. Join by a link, which a member "
                "makes with /invite, or choose another --profile."
            )
        return name
    record = take_link(store, text, now)
    with store.transaction() as transaction:
        record.save(transaction)
    return record.name


def link_channel(text: str) -> str:
    """Return the full name of the channel that a link invites to."""
    return channel_name(read_link(text, 0).genesis)


def invites_to_members(text: str) -> bool:
    """True if a text is a link to a members' channel. Raises LinkError for a link that is refused."""
    return is_link(text) and bool(read_link(text, 0).genesis.data_set)


def gives_since_join(text: str) -> bool:
    """True if a text is a link to a channel that gives no older history. Raises LinkError for a refused link."""
    return is_link(text) and read_link(text, 0).genesis.since_join


def link_broker(text: str) -> str:
    """Return the address of the broker in a link; empty for the one of this machine."""
    return read_link(text, 0).broker


def broker_of(store: Store, text: str) -> str:
    """Return the broker of the private channel that a name or a link means; empty for others, or if none is known."""
    if is_link(text):
        return link_broker(text)
    record = load_record(store, full_name(store, text))
    return "" if record is None else record.broker


def open_for_reading(transport: Transport, text: str, prefix: str, told: Callable[[], None]) -> SealedTransport:
    """Return a transport that opens the packets of the channel that a link invites to, without taking part in it.

    `told` is called when a packet was sealed with another key than the link's.
    """
    link = read_link(text, 0)
    genesis = link.genesis
    sealer = ChannelSealer(genesis_digest(genesis), genesis.salt, link.epoch_secret)
    sealer.on_other_epoch = lambda _: told()
    topics = Topics(channel_name(genesis), prefix)
    schedule = asyncio.get_running_loop().call_soon
    return SealedTransport(transport, sealer, SealedTopics(sealer, topics, prefix), topics.who(""), schedule)


def open_private(
    store: Store,
    topics: Topics,
    settings: Settings,
    gate: ContentGate,
    connect: Callable[[str], Transport],
    send: Send,
    *,
    silent: bool,
) -> PrivateChannel | None:
    """Return the extension, with the transport, of a channel that is private; None for an open one.

    `connect` makes a transport whose presence topic is the given one.
    """
    record = load_record(store, topics.channel)
    if record is None:
        return None
    _require_chat(settings, record)
    if silent:
        _require_older_history(record)
    sealer = ChannelSealer(genesis_digest(record.genesis), record.genesis.salt, record.secrets[record.present])
    names = SealedTopics(sealer, topics, settings.topic_prefix)
    presence = topics.who(gate.identity.sender_id)
    schedule = asyncio.get_running_loop().call_soon
    transport = SealedTransport(connect(names.outside(presence)), sealer, names, presence, schedule)
    return PrivateChannel(
        record,
        load_operations(store, record.name),
        sealer,
        transport,
        gate,
        send,
        topics.msg,
        silent=silent,
    )


def _require_older_history(record: PrivateRecord) -> None:
    """Raise LinkError for a channel that gives nothing older to those who join: a Store would give it."""
    if record.genesis.since_join:
        raise LinkError(
            f"Who joins {record.name} gets nothing that was written before, and a Store would give it: there "
            "is nothing for a Store."
        )


def _require_chat(settings: Settings, record: PrivateRecord) -> None:
    """Raise SettingError for settings with which nothing is signed, so that nobody would show what we write."""
    if settings.content_format != "chat" or settings.wire != "spec":
        raise SettingError(
            f"{record.name} is private, and private channels need content.format=chat and sds.wire=spec. "
            "Leave out the other value."
        )
