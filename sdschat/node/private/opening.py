"""Opening a private channel: its keys, the layer that seals, and the extension that follows its members."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from sdschat.identity.private.link import LinkError, channel_name, genesis_digest, read_link
from sdschat.node.private.membership import PrivateChannel, Send
from sdschat.node.private.record import (
    PrivateRecord,
    PrivateValues,
    load_operations,
    load_record,
)
from sdschat.node.private.sealer import ChannelSealer
from sdschat.node.settings import SettingError, Settings
from sdschat.transport.base import Topics, Transport
from sdschat.transport.sealing import SealedTopics, SealedTransport

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate


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
    store: PrivateValues,
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
