"""Conversion of an engine's state to rows and back.

All state is in rows, except what must not survive a stop (queued acknowledgements, ephemeral messages) and what a peer
repeats: offers that were not requested yet, refused messages, and the average size of its messages.
"""

from __future__ import annotations

from sdschat.mvds.core import Core
from sdschat.mvds.peers import Peer
from sdschat.mvds.request_plan import PROMPT_ATTEMPTS, queue_parents
from sdschat.mvds.values import AheadRow, HeadsRow, RecordType, Snapshot


def take_snapshot(core: Core) -> Snapshot:
    """Return the rows on disk once all writes so far are applied, in a fixed order."""
    return Snapshot(
        records=tuple(sorted(record for peer in core.peers.values() for record in peer.records.values())),
        peers=tuple(sorted((peer.row for peer in core.peers.values()), key=lambda row: row.peer)),
        groups=tuple(sorted(core.groups.values())),
        heads=tuple(sorted(HeadsRow(group, core.heads.all(group)) for group in core.heads.by_group)),
        waiting=tuple(sorted(core.waiting.rows.values(), key=lambda row: row.message_id)),
        ahead=tuple(sorted(AheadRow(message_id) for message_id in core.heads.absent_parents)),
    )


def load_snapshot(core: Core, snapshot: Snapshot) -> None:
    """Restore the state from rows. Epochs from a wall clock that ran ahead are cut to those that an engine could have
    set now, or records would rest until that time."""
    for peer_row in snapshot.peers:
        last = min(peer_row.last_epoch, core.epoch)
        forwarded = min(peer_row.forwarded_epoch, core.epoch)
        row = peer_row._replace(last_epoch=last, forwarded_epoch=forwarded)
        core.peers[row.peer] = Peer(row)
    for group in snapshot.groups:
        core.groups[group.group_id] = group
        for name in group.members:
            core.peers[name].groups.add(group.group_id)
    for record in snapshot.records:
        latest = core.epoch + core.backoff.longest
        core.peers[record.peer].set(record._replace(send_epoch=min(record.send_epoch, latest)))
        if record.type is RecordType.REQUEST:
            core.requesters[record.message_id].add(record.peer)
            if record.attempt < PROMPT_ATTEMPTS:
                core.peers[record.peer].expect(record.message_id)
    for heads in snapshot.heads:
        core.heads.by_group[heads.group_id] = dict(heads.heads)
    core.heads.absent_parents.update(row.message_id for row in snapshot.ahead)
    longest = core.config.epochs(core.config.lost_after)
    latest = core.epoch + longest if longest else 0  # 0: never, also where it was another setting before
    for waiting in snapshot.waiting:
        epoch = min(waiting.give_up_epoch or latest, latest)
        if epoch == waiting.give_up_epoch:
            core.waiting.add(waiting)
        else:
            core.set_waiting(waiting._replace(give_up_epoch=epoch))
    for waiting in snapshot.waiting:
        if waiting.peer in core.peers:
            queue_parents(core, core.peers[waiting.peer], waiting.message.timestamp, waiting.missing)
