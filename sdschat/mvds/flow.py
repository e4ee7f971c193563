"""Payloads, epoch by epoch (2/MVDS, Flow and Retransmission), and what the presence of a peer does to them."""

from __future__ import annotations

from sdschat.mvds.core import Core
from sdschat.mvds.events import BroughtForward, Expired, PayloadSent, RecordDropped
from sdschat.mvds.packing import ID_COST, Packer, message_cost
from sdschat.mvds.peers import Lane, Peer
from sdschat.mvds.request_plan import PROMPT, ask, may_ask
from sdschat.mvds.rows import RecordRow, RecordType
from sdschat.mvds.rules import bring_forward
from sdschat.mvds.values import Message, Packet

NO_END = 2**62
SOON = 2  # epochs: a record that is due this soon was sent just now, and an answer may be on its way


def wake_epoch(core: Core, peer: Peer) -> int | None:
    """The epoch at which there is something to do for a peer; None: not before something happens."""
    wanted: list[int] = []
    if peer.row.cursor is not None:
        wanted.append(peer.row.forwarded_epoch + core.config.epochs(core.config.presence_interval))
    free = peer.row.last_epoch + 1
    if peer.acks or peer.ephemeral or may_ask(core, peer):
        wanted.append(free)
    due = peer.next_epoch()
    if due is not None:
        wanted.append(max(due, free))
    return min(wanted, default=None)


def advance_peer(core: Core, peer: Peer) -> None:
    """Do for a peer what its time has come for."""
    reset_send_epochs(core, peer)
    ask(core, peer)
    if peer.row.last_epoch < core.epoch:
        send_payload(core, peer)


def reset_send_epochs(core: Core, peer: Peer) -> None:
    """A peer that shows itself need not wait for epochs that grew while it was away: its records come forward, at
    most once in `mvds.presence_interval` and `mvds.presence_batch` at a time, what had expired among them."""
    if peer.row.cursor is None:
        return
    if core.epoch < peer.row.forwarded_epoch + core.config.epochs(core.config.presence_interval):
        return
    left = peer.after_cursor(core.epoch + SOON)
    batch = left[: core.config.presence_batch]
    resumed = sum(record.expired for record in batch)
    for record in batch:
        bring_forward(core, peer, record)
    cursor = batch[-1].order if len(left) > len(batch) else None
    core.set_peer(peer, peer.row._replace(forwarded_epoch=core.epoch, cursor=cursor))
    if batch:
        core.events.append(BroughtForward(peer.name, len(batch), resumed))


def send_payload(core: Core, peer: Peer) -> None:
    """Spec: "A maximum of one payload SHOULD be sent to peers per epoch, this payload contains all ACK, OFFER, REQUEST
    and MESSAGE records for the specific peer."

    One payload may be several packets: it is split at `mvds.packet_bytes`. What exceeds `mvds.payload_bytes` stays due
    and goes in the next epoch.
    """
    packer = Packer(core.config.packet_bytes)
    for mid in peer.acks:
        packer.add_ack(mid)
    peer.acks.clear()
    for message in peer.ephemeral:
        packer.add_message(message, message_cost(message))
    peer.ephemeral.clear()
    add_due_records(core, peer, packer)
    packets = packer.packets()
    if packets:
        core.packets.extend(Packet(peer.name, payload) for payload in packets)
        core.set_peer(peer, peer.row._replace(last_epoch=core.epoch))
        core.events.append(PayloadSent(peer.name, core.epoch, len(packets), packer.total))


def add_due_records(core: Core, peer: Peer, packer: Packer) -> None:
    """Spec: "All records that require retransmission are added to the payload, given Send Epoch has been reached."

    Messages go before offers, because each that arrives makes room for a request there.
    """
    add_due(core, peer, packer, Lane.REQUEST)
    sent = add_due(core, peer, packer, Lane.MESSAGE)
    add_due(core, peer, packer, Lane.OFFERED)
    add_due(core, peer, packer, Lane.TO_OFFER, peer.offer_room(sent))


def add_due(core: Core, peer: Peer, packer: Packer, lane: Lane, most: int = NO_END) -> int:
    """Add the due records of a lane, those first that have been due for longest, then the oldest messages; gives back
    how many of them were not sent before (or not since the peer showed itself), of which `most` may go."""
    added = 0
    while added < most and (record := peer.due(lane, core.epoch)) is not None:
        if core.config.expire_after and record.attempt >= core.config.expire_after:
            expire(core, peer, record)
            continue
        message = body_of(core, peer, record)
        if lane is Lane.MESSAGE and message is None:
            continue
        cost = ID_COST if message is None else message_cost(message)
        if 0 < packer.total > core.config.payload_bytes - cost:
            break
        add_record(packer, record, message)
        retransmit(core, peer, record)
        added += record.attempt == 0
    return added


def add_record(packer: Packer, record: RecordRow, message: Message | None) -> None:
    if message is not None:
        packer.add_message(message, message_cost(message))
    elif record.type is RecordType.OFFER:
        packer.add_offer(record.message_id)
    else:
        packer.add_request(record.message_id)


def body_of(core: Core, peer: Peer, record: RecordRow) -> Message | None:
    """The message of a MESSAGE record. One that is gone, or too large for a packet, ends the record."""
    if record.type is not RecordType.MESSAGE:
        return None
    message = core.load(record.message_id)
    if message is not None and message_cost(message) <= core.config.packet_bytes:
        return message
    core.drop_record(peer, record.message_id)
    why = "no_body" if message is None else "too_large"
    core.events.append(RecordDropped(record.message_id, peer.name, why))
    return None


def retransmit(core: Core, peer: Peer, record: RecordRow) -> None:
    """Spec: "Send Epoch and Send Count MUST be increased every time a record is retransmitted." The new Send Epoch is
    reckoned from the current epoch and not from the old one, which could be long ago."""
    sent = record._replace(send_count=record.send_count + 1, attempt=record.attempt + 1)
    core.set_record(peer, sent._replace(send_epoch=core.epoch + core.backoff.delay(sent)))
    if sent.attempt >= PROMPT:
        peer.expect_no_more(sent.message_id)


def expire(core: Core, peer: Peer, record: RecordRow) -> None:
    """Stop sending what was sent `mvds.expire_after` times into silence. It stays in `state`, and is taken up again
    when the peer shows itself: the spec knows no end of retransmission, and silent loss would be worse than either.

    A REQUEST that no message here waits for ends: if the peer still wants to give us that one, its offer comes again.
    """
    if record.type is RecordType.REQUEST and not core.waiting.wanted(record.message_id):
        core.drop_record(peer, record.message_id)
    else:
        core.set_record(peer, record._replace(expired=True))
    core.events.append(Expired(record.message_id, peer.name, record.type, record.send_count))


def contact(core: Core, peer: Peer) -> None:
    """A payload came: the peer is there. If it was away, or we gave up on something, its records come forward."""
    if not peer.row.online or peer.expired:
        core.ask_forward(peer)
    core.set_peer(peer, peer.row._replace(online=True))
