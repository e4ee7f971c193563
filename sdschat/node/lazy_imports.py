"""Modules imported only when a channel is joined, one by one: importing all at once would delay a user who types.

An interface that is already on the screen goes through these one by one, with a look at the keys in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

PIECES: Final = (
    "sdschat.sds.state",
    "sdschat.sds.channel",
    "sdschat.node.channel.session",
    "sdschat.node.channel.dialect",
    "sdschat.node.channel.restore",
    "sdschat.node.channel.commit",
    "sdschat.identity.author_chain",
    "sdschat.node.channel.author_chains",
    "sdschat.transport.mqtt",
    "sdschat.transport.client",
    "sdschat.transport.embedded",
    "sdschat.node.store_client.client",
    "sdschat.mvds.core",
    "sdschat.catchup.session",
    "sdschat.node.sync.history_sync",
    "sdschat.node.sync.direct",
    "sdschat.node.sync.extension",
)


def load() -> Iterator[str]:
    """Imports a piece whenever it is asked for the next one. Gives its name."""
    for piece in PIECES:
        import_module(piece)
        yield piece
