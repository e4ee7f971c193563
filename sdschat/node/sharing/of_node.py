"""The page of a channel that a running node is in."""

from __future__ import annotations

from sdschat.node.node import Node
from sdschat.node.recording.replay import ReplayNode
from sdschat.node.sharing.events import from_database, page
from sdschat.node.sharing.from_recording import SharedRecording


def page_of(node: Node, channel: str, since: int, *, has_texts: bool) -> str:
    """Return the page of a channel from a moment on, in epoch milliseconds; of a replay, that of all of its recording.
    It reads the database by a connection of its own. Raises ValueError for a members' channel."""
    if isinstance(node, ReplayNode):
        return page(SharedRecording(node.recording, channel, has_texts=has_texts).shared())
    store, session = node.profile.store, node.sessions.get(channel)
    heard = {} if session is None else {**session.presence.left, **session.presence.online}
    present = {name: nick for name, nick in heard.items() if session is None or not session.is_outsider(name)}
    with store.open_read_only(store.path, node.profile.codec) as reader:
        shared = from_database(reader, channel, node.sender_id, since, has_texts=has_texts, present=present)
    return page(shared._replace(nicks={**shared.nicks, node.sender_id: node.nick}))  # also if we said nothing
