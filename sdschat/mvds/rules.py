"""The rules of 2/MVDS (Flow: Interactive Mode, Batch Mode), one function each, named after the event.

Both modes share the rules for MESSAGE and ACK, which is why a node can mix them message by message.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds import limits
from sdschat.mvds.core import Core
from sdschat.mvds.dag import memory_cost
from sdschat.mvds.delivery import process_message
from sdschat.mvds.events import Acknowledged, DuplicateReceived, EphemeralReceived
from sdschat.mvds.peers import Peer
from sdschat.mvds.request_plan import add_requests, queue_parents
from sdschat.mvds.values import Message, Mode, Payload, Reason, RecordRow, RecordType, message_id

# Step of the back-off to which a record goes back at most when the peer repeats the OFFER or REQUEST that it answers.
_REPEATED_ATTEMPT = 2


def new_record(core: Core, peer: Peer, mid: bytes, kind: RecordType, message: Message) -> RecordRow:
    """Return a record that goes into the next payload and stays in `state` until it is answered (spec: State)."""
    group, timestamp = message.group_id, message.timestamp
    return RecordRow(peer.name, mid, group, kind, timestamp, send_count=0, attempt=0, send_epoch=core.epoch)


def bring_forward(core: Core, peer: Peer, record: RecordRow) -> None:
    """Make a record due in the next payload, and restart its back-off and expiry, after contact with the peer."""
    epoch = min(record.send_epoch, core.epoch)
    core.set_record(peer, record._replace(attempt=0, send_epoch=epoch, expired=False))


def resend_sooner(core: Core, peer: Peer, record: RecordRow) -> None:
    """Shorten the wait of a record because the peer repeats the OFFER or REQUEST that it answers.

    A record sent just now stays as it is: it may be on its way, and the peer may repeat itself every epoch.
    """
    if not record.attempt:
        return
    sent = min(core.epoch, record.send_epoch - core.backoff.delay(record))
    most = min(_REPEATED_ATTEMPT, core.config.expire_after - 1) if core.config.expire_after else _REPEATED_ATTEMPT
    again = record._replace(attempt=min(record.attempt, most), expired=False)
    epoch = min(record.send_epoch, sent + core.backoff.delay(again))
    core.set_record(peer, again._replace(send_epoch=epoch))


def send_message(core: Core, peer: Peer, mid: bytes, message: Message, mode: Mode) -> None:
    """Interactive Mode, 1: "An OFFER is added to the next payload and state for the given peer."
    Batch Mode, 1: "it is added to the next payload and the state for the given peer."

    If there is a record already, it changes only from OFFER to MESSAGE.
    """
    kind = RecordType.OFFER if mode is Mode.INTERACTIVE else RecordType.MESSAGE
    present = peer.records.get(mid)
    if present is None or (present.type is RecordType.OFFER and kind is RecordType.MESSAGE):
        core.set_record(peer, new_record(core, peer, mid, kind, message))


def send_ephemeral(core: Core, peer: Peer, message: Message) -> None:
    """Send an ephemeral message (4/MVDS-META) in batch mode, once, and never in `state`: it is not acknowledged."""
    peer.add_ephemeral(message)


def receive_payload(core: Core, peer: Peer, payload: Payload) -> None:
    """Process a payload. Messages go before offers and requests, so that no received message is requested."""
    receive_acks(core, peer, payload.acks)
    for message in payload.messages:
        receive_message(core, peer, message)
    receive_offers(core, peer, payload.offers)
    add_requests(core, peer)
    receive_requests(core, peer, payload.requests)


def receive_acks(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives an ACK, the MESSAGE is removed from the state for the given peer."

    An OFFER is removed too: a peer that holds the message acknowledges the offer of it. An ACK of an unknown message is
    skipped, and an ACK never changes the records of another peer.
    """
    for mid in ids:
        mark_held(core, peer, mid)


def mark_held(core: Core, peer: Peer, mid: bytes) -> None:
    """Remove the OFFER or MESSAGE record, because the peer holds the message."""
    record = peer.records.get(mid)
    if record is not None and record.type is not RecordType.REQUEST:
        core.drop_record(peer, mid)
        core.events.append(Acknowledged(mid, peer.name))


def receive_offers(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives an OFFER, a REQUEST is added to the next payload and state for the given peer."

    The REQUEST is added once there is room for the message; see `request_plan`. A stored message is acknowledged
    instead, or the offer would be repeated until it expires; a refused message is not requested again. An offer does
    not name its group; if we know it, from the message itself, the peer must be in it.
    """
    for mid in dict.fromkeys(ids):
        present = core.find(mid)
        if present is not None:
            if present.group_id in peer.groups:
                mark_held(core, peer, mid)
                peer.add_ack(mid)
            else:
                core.refuse(Reason.NOT_IN_GROUP, "offer")
        elif (record := peer.records.get(mid)) is not None:
            resend_sooner(core, peer, record)
        elif not core.declined.holds(peer.name, mid) and not peer.add_open_offer(mid):
            core.refuse(Reason.REQUEST_QUOTA)


def receive_requests(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives a REQUEST for a previously sent OFFER, the OFFER is removed from the state and the
    corresponding MESSAGE is added to the next payload and state for the given peer."

    A request for a message that was not offered is served too if the peer is in the group: this is how a node gets the
    parents of a message. An unknown id is skipped, and the rest of the list is processed.
    """
    for mid in dict.fromkeys(ids):
        record = peer.records.get(mid)
        if record is not None and record.type is RecordType.MESSAGE:
            resend_sooner(core, peer, record)
            continue
        message = core.load(mid)
        if message is None:
            core.refuse(Reason.UNKNOWN_MESSAGE, "request")
        elif message.group_id not in peer.groups:
            core.refuse(Reason.NOT_IN_GROUP, "request")
        elif record is None and peer.counts[RecordType.MESSAGE] >= limits.SERVED_PER_PEER:
            core.refuse(Reason.SERVE_QUOTA)
        else:
            core.set_record(peer, new_record(core, peer, mid, RecordType.MESSAGE, message))


def receive_message(core: Core, peer: Peer, message: Message) -> None:
    """Spec: "When a node receives a MESSAGE, the REQUEST is removed from the state and an ACK is added to the next
    payload for the given peer." A duplicate is acknowledged again: the last ACK may have been lost
    (Retransmission, note).

    The REQUEST is removed also if the message is refused, and is not made again while the reason lasts. A refused
    message is not acknowledged: an ACK says that it is held, and the spec has no record for a refusal.
    """
    mid = message_id(message)
    if message.group_id not in core.groups or message.group_id not in peer.groups:
        core.refuse(Reason.NOT_IN_GROUP, "message")
        core.declined.add(peer.name, mid, message.timestamp, ())
        drop_request(core, peer, mid)
    elif core.holds(mid):
        core.events.append(DuplicateReceived(mid, peer.name))
        acknowledge(core, peer, mid)
    elif message.ephemeral:
        receive_ephemeral(core, peer, mid, message)
    else:
        peer.update_average_cost(memory_cost(message))
        if process_message(core, peer, mid, message):
            acknowledge(core, peer, mid)
        else:
            drop_request(core, peer, mid)
        queue_parents(core, peer, message.timestamp, message.parents)


def drop_request(core: Core, peer: Peer, mid: bytes) -> None:
    record = peer.records.get(mid)
    if record is not None and record.type is RecordType.REQUEST:
        core.drop_record(peer, mid)


def receive_ephemeral(core: Core, peer: Peer, mid: bytes, message: Message) -> None:
    """Deliver an ephemeral message once (4/MVDS-META): not acknowledged, saved or shared, and no part of the graph."""
    core.drop_record(peer, mid)
    if core.remember_ephemeral(mid):
        core.events.append(EphemeralReceived(mid, message, peer.name))
    else:
        core.events.append(DuplicateReceived(mid, peer.name))


def acknowledge(core: Core, peer: Peer, mid: bytes) -> None:
    """Add the ACK to the next payload, and end every open exchange about the message.

    The peer that sent the message holds it. Other peers that offered it get an ACK in place of the REQUEST, so that the
    message does not come again from each of them.
    """
    mark_held(core, peer, mid)
    peer.add_ack(mid)
    for name in sorted(core.requesters.get(mid, ())):
        other = core.peers[name]
        core.drop_record(other, mid)
        other.add_ack(mid)
