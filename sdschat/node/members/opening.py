"""Members' channels on a node: their extension of every channel, which is imported with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.node.events import NodeEvent, PresenceChanged

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.members.channel import MembersChannel
    from sdschat.node.node import Node


def install(node: Node) -> None:
    """Give every channel that is joined from now on the extension of members' channels."""
    from sdschat.node.members.channel import MembersChannel

    def make(session: ChannelSession) -> MembersChannel:
        return MembersChannel(node.profile.store, node.gate, node.clock, node.settings.timber)

    def hear(event: NodeEvent) -> None:
        found = members_extension(node, event.channel)
        if found is not None and isinstance(event.body, PresenceChanged):
            found.presence_changed(event.body.sender_id, event.body.online)

    node.extend(make)
    node.listen(hear)


def members_extension(node: Node, channel: str) -> MembersChannel | None:
    """Return the extension of a joined channel, whatever its kind; None on a node without `install`."""
    session = node.sessions.get(channel)
    if session is None:
        return None
    from sdschat.node.members.channel import MembersChannel

    return next((one for one in session.extensions if isinstance(one, MembersChannel)), None)
