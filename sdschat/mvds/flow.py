"""Payloads, epoch by epoch (2/MVDS, Flow and Retransmission), and the effect of a peer's presence on them."""

from __future__ import annotations

from sdschat.mvds.core import Core
from sdschat.mvds.events import BroughtForward, Expired, PayloadSent, RecordDropped
from sdschat.mvds.packing import ID_COST, Packer, message_cost
from sdschat.mvds.peers import Peer, SendQueue
from sdschat.mvds.request_plan import PROMPT_ATTEMPTS, add_requests, may_request
from sdschat.mvds.rules import bring_forward
from sdschat.mvds.values import Message, Packet, RecordRow, RecordType

UNLIMITED = 2**62  # a number of records that is never reached
SOON = 2  # epochs: a record that is due within these was sent just now, and an answer may be on its way


def wake_epoch(core: Core, peer: Peer) -> int | None:
    """Return the epoch at which there is something to do for a peer; None: not before another verb."""
    wanted: list[int] = []
    if peer.row.cursor is not None:
        wanted.append(peer.row.forwarded_epoch + core.config.epochs(core.config.presence_interval))
    free = peer.row.last_epoch + 1
    if peer.acks or peer.ephemeral or may_request(core, peer):
        wanted.append(free)
    due = peer.next_epoch()
    if due is not None:
        wanted.append(max(due, free))
    return min(wanted, default=None)


def advance_peer(core: Core, peer: Peer) -> None:
    """Bring records forward, add requests and make the payload of a peer, as far as they are due."""
    reset_send_epochs(core, peer)
    add_requests(core, peer)
    if peer.row.last_epoch < core.epoch:
        send_payload(core, peer)


def reset_send_epochs(core: Core, peer: Peer) -> None:
    """Make records due at once after contact with the peer, expired ones too, because their delays grew while it was
    away: at most once in `mvds.presence_interval`, and `mvds.presence_batch` at a time."""
    if peer.row.cursor is None:
        return
    if core.epoch < peer.row.forwarded_epoch + core.config.epochs(core.config.presence_interval):
        return
    left = peer.after_cursor(core.epoch + SOON, core.config.expire_after)
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

    One payload may be several packets: it is split at `mvds.packet_bytes`. Records beyond `mvds.payload_bytes` stay due
    and go in the next epoch.
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

    Messages go before offers, because each message that arrives makes room for a request at the peer.
    """
    add_due(core, peer, packer, SendQueue.REQUEST)
    sent = add_due(core, peer, packer, SendQueue.MESSAGE)
    add_due(core, peer, packer, SendQueue.SENT_OFFER)
    add_due(core, peer, packer, SendQueue.NEW_OFFER, peer.offer_room(sent))


def add_due(core: Core, peer: Peer, packer: Packer, queue: SendQueue, most: int = UNLIMITED) -> int:
    """Add the due records of a queue, first those that have been due for longest, then the oldest messages. Return the
    number of records sent for the first time (or the first time since contact), of which at most `most` are added."""
    added = 0
    while added < most and (record := peer.due(queue, core.epoch)) is not None:
        if core.config.expire_after and record.attempt >= core.config.expire_after:
            expire(core, peer, record)
            continue
        message = body_of(core, peer, record)
        if queue is SendQueue.MESSAGE and message is None:
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
    """Return the message of a MESSAGE record, or None. The record is removed if its message is gone or too large to
    send."""
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
    counted from the current epoch and not from the old one, which could be long ago."""
    sent = record._replace(send_count=record.send_count + 1, attempt=record.attempt + 1)
    core.set_record(peer, sent._replace(send_epoch=core.epoch + core.backoff.delay(sent)))
    if sent.attempt >= PROMPT_ATTEMPTS:
        peer.stop_expecting(sent.message_id)


def expire(core: Core, peer: Peer, record: RecordRow) -> None:
    """Stop sending a record that was sent `mvds.expire_after` times without contact. It stays in `state` and is sent
    again after the next contact: the spec has no end of retransmission, and dropping it silently would lose a message.

    A REQUEST that no message waits for is removed: if the peer still has the message to give, it repeats its offer.
    """
    if record.type is RecordType.REQUEST and not core.waiting.has_children(record.message_id):
        core.drop_record(peer, record.message_id)
    else:
        core.set_record(peer, record._replace(expired=True))
    core.events.append(Expired(record.message_id, peer.name, record.type, record.send_count))


def note_contact(core: Core, peer: Peer) -> None:
    """Note contact with a peer: a payload came. If it was offline, or a record had expired, bring records forward."""
    if not peer.row.online or peer.expired:
        core.schedule_reset(peer)
    core.set_peer(peer, peer.row._replace(online=True))
