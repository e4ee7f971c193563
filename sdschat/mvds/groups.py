"""Groups: "independent synchronization contexts between peers" (2/MVDS, Payloads), and their members."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds.core import Core
from sdschat.mvds.events import RecordDropped
from sdschat.mvds.peers import Peer
from sdschat.mvds.rows import GroupRow, HeadsRow, PeerRow


def set_members(core: Core, group: bytes, members: Iterable[str]) -> None:
    """Join a group with these other members, or change them. Members that left are sent nothing more of it."""
    row = GroupRow(group, tuple(sorted(set(members))))
    old = core.groups.get(group)
    if old == row:
        return
    core.groups[group] = row
    core.journal.put(row)
    core.declined.groups_changed()
    for name in row.members:
        peer = core.peers.get(name) or _add_peer(core, name)
        peer.groups.add(group)
    for name in old.members if old is not None else ():
        if name not in row.members:
            _unshare(core, core.peers[name], group)


def leave_group(core: Core, group: bytes) -> None:
    """Leave a group. Its delivered messages stay in the archive; no message of it is sent or accepted any more."""
    row = core.groups.pop(group, None)
    if row is None:
        return
    core.journal.drop(row)
    core.journal.drop(HeadsRow(group, ()))
    core.heads.by_group.pop(group, None)
    for name in row.members:
        _unshare(core, core.peers[name], group)
    for waiting in [one for one in core.waiting.rows.values() if one.message.group_id == group]:
        core.waiting.remove(waiting.message_id)
        core.journal.drop(waiting)


def _add_peer(core: Core, name: str) -> Peer:
    peer = Peer(PeerRow(name))
    core.peers[name] = peer
    core.journal.put(peer.row)
    return peer


def _unshare(core: Core, peer: Peer, group: bytes) -> None:
    """Remove a group from those shared with a peer. With the last group the peer and all its records go."""
    peer.groups.discard(group)
    for record in sorted(peer.records.values(), key=lambda one: one.order):
        if record.group_id == group or not peer.groups:
            core.drop_record(peer, record.message_id)
            core.events.append(RecordDropped(record.message_id, peer.name, "left_group"))
    peer.ephemeral = [message for message in peer.ephemeral if message.group_id != group]
    if not peer.groups:
        core.journal.drop(peer.row)
        core.declined.drop_peer(peer.name)
        del core.peers[peer.name]
