"""The extension of a channel that makes it a members' channel, without an import of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdschat.node.members.channel import MembersChannel
    from sdschat.node.node import Node


def members_part(node: Node, channel: str) -> MembersChannel | None:
    """Return the extension of a joined channel, whatever its kind; None on a node without `install`."""
    session = node.sessions.get(channel)
    if session is None:
        return None
    from sdschat.node.members.channel import MembersChannel

    return next((one for one in session.extensions if isinstance(one, MembersChannel)), None)
