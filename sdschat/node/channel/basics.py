"""The extensions that every channel has."""

from __future__ import annotations

from collections.abc import Iterator

from sdschat.node.channel.author_chains import AuthorChains
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.kept_counters import KeptCounters
from sdschat.node.channel.over_limit import OverLimitCounter
from sdschat.node.channel.restore import Restoring
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.channel.session import ChannelExtension
from sdschat.node.channel.strangers import ChannelStrangers
from sdschat.store.store import Store


def basic_extensions(store: Store, gate: ContentGate, limits: SenderLimits) -> Iterator[ChannelExtension]:
    """Make the extensions of a channel, in the order in which they are attached."""
    yield Restoring(store, gate)
    yield AuthorChains(store)
    yield OverLimitCounter(gate, limits)
    yield KeptCounters(store, gate.book)
    yield ChannelStrangers(store, gate.book, gate.share)
