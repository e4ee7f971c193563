"""The rules of 2/MVDS (Flow: Interactive Mode, Batch Mode), one function each, named after what happens.

Both modes share the rules for MESSAGE and ACK, which is why a node can mix them message by message.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds import limits
from sdschat.mvds.core import Core
from sdschat.mvds.dag import memory_cost
from sdschat.mvds.delivery import process_message
from sdschat.mvds.events import Acknowledged, DuplicateReceived, EphemeralReceived
from sdschat.mvds.ids import message_id
from sdschat.mvds.peers import Peer
from sdschat.mvds.request_plan import ask, ask_for_parents
from sdschat.mvds.rows import RecordRow, RecordType
from sdschat.mvds.values import Message, Mode, Payload, Reason

_AGAIN = 2  # the step of the back-off at which a record is that the peer asks for, or offers, again


def new_record(core: Core, peer: Peer, mid: bytes, kind: RecordType, message: Message) -> RecordRow:
    """A record that goes into the next payload and stays in `state` until it is answered (spec: State)."""
    group, timestamp = message.group_id, message.timestamp
    return RecordRow(peer.name, mid, group, kind, timestamp, send_count=0, attempt=0, send_epoch=core.epoch)


def bring_forward(core: Core, peer: Peer, record: RecordRow) -> None:
    """Have a record sent in the next payload, and its back-off and expiry begin anew: the peer showed itself."""
    epoch = min(record.send_epoch, core.epoch)
    core.set_record(peer, record._replace(attempt=0, send_epoch=epoch, expired=False))


def hasten(core: Core, peer: Peer, record: RecordRow) -> None:
    """The peer repeats the OFFER of what was requested, or the REQUEST of what was sent: the record does not rest for
    long. What was sent just now stays as it is, for it may be on its way, and the peer may repeat itself every epoch.
    """
    if not record.attempt:
        return
    sent = min(core.epoch, record.send_epoch - core.backoff.delay(record))
    most = min(_AGAIN, core.config.expire_after - 1) if core.config.expire_after else _AGAIN
    again = record._replace(attempt=min(record.attempt, most), expired=False)
    epoch = min(record.send_epoch, sent + core.backoff.delay(again))
    core.set_record(peer, again._replace(send_epoch=epoch))


def send_message(core: Core, peer: Peer, mid: bytes, message: Message, mode: Mode) -> None:
    """Interactive Mode, 1: "An OFFER is added to the next payload and state for the given peer."
    Batch Mode, 1: "it is added to the next payload and the state for the given peer."

    Where a record exists already, only an offer that should be sent at once changes.
    """
    kind = RecordType.OFFER if mode is Mode.INTERACTIVE else RecordType.MESSAGE
    present = peer.records.get(mid)
    if present is None or (present.type is RecordType.OFFER and kind is RecordType.MESSAGE):
        core.set_record(peer, new_record(core, peer, mid, kind, message))


def send_ephemeral(core: Core, peer: Peer, message: Message) -> None:
    """4/MVDS-META, ephemeral: batch mode, once, and never in `state`: nothing will ever acknowledge it."""
    peer.add_ephemeral(message)


def receive_payload(core: Core, peer: Peer, payload: Payload) -> None:
    """Everything in a payload. Messages go before offers and requests, so that what came is not asked for."""
    receive_acks(core, peer, payload.acks)
    for message in payload.messages:
        receive_message(core, peer, message)
    receive_offers(core, peer, payload.offers)
    ask(core, peer)
    receive_requests(core, peer, payload.requests)


def receive_acks(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives an ACK, the MESSAGE is removed from the state for the given peer."

    So is an OFFER: a peer that holds the message acknowledges the offer of it. An ACK of anything else is skipped,
    and an ACK never touches the records of another peer than the one that sent it.
    """
    for mid in ids:
        settle(core, peer, mid)


def settle(core: Core, peer: Peer, mid: bytes) -> None:
    """The peer holds the message, so there is nothing left to give it."""
    record = peer.records.get(mid)
    if record is not None and record.type is not RecordType.REQUEST:
        core.drop_record(peer, mid)
        core.events.append(Acknowledged(mid, peer.name))


def receive_offers(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives an OFFER, a REQUEST is added to the next payload and state for the given peer."

    So it is once there is room for the message; see `asking`. What is already here is acknowledged instead, or the
    offer would be repeated until it expires; what could not be taken is not asked for again. An offer does not tell
    its group; where we know it, from the message itself, the peer must be in it.
    """
    for mid in dict.fromkeys(ids):
        present = core.find(mid)
        if present is not None:
            if present.group_id in peer.groups:
                settle(core, peer, mid)
                peer.add_ack(mid)
            else:
                core.refuse(Reason.NOT_IN_GROUP, "offer")
        elif (record := peer.records.get(mid)) is not None:
            hasten(core, peer, record)
        elif not core.declined.holds(peer.name, mid) and not peer.remember_offer(mid):
            core.refuse(Reason.REQUEST_QUOTA)


def receive_requests(core: Core, peer: Peer, ids: Iterable[bytes]) -> None:
    """Spec: "When a node receives a REQUEST for a previously sent OFFER, the OFFER is removed from the state and the
    corresponding MESSAGE is added to the next payload and state for the given peer."

    A request for what was not offered is served too if the peer is in the group: that is how a node gets the parents
    of a message. An id that is not known is skipped, and the rest of the list goes on.
    """
    for mid in dict.fromkeys(ids):
        record = peer.records.get(mid)
        if record is not None and record.type is RecordType.MESSAGE:
            hasten(core, peer, record)
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

    The REQUEST is removed also where the message is refused, and is not made again while the reason lasts. Such a
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
        peer.note_cost(memory_cost(message))
        if process_message(core, peer, mid, message):
            acknowledge(core, peer, mid)
        else:
            drop_request(core, peer, mid)
        ask_for_parents(core, peer, message.timestamp, message.parents)


def drop_request(core: Core, peer: Peer, mid: bytes) -> None:
    record = peer.records.get(mid)
    if record is not None and record.type is RecordType.REQUEST:
        core.drop_record(peer, mid)


def receive_ephemeral(core: Core, peer: Peer, mid: bytes, message: Message) -> None:
    """4/MVDS-META, ephemeral: handed over once; not acknowledged, not kept, not shared, no part of the graph."""
    core.drop_record(peer, mid)
    if core.first_sight(mid):
        core.events.append(EphemeralReceived(mid, message, peer.name))
    else:
        core.events.append(DuplicateReceived(mid, peer.name))


def acknowledge(core: Core, peer: Peer, mid: bytes) -> None:
    """Add the ACK to the next payload, and end every exchange about the message that is still open.

    The peer that sent it holds it. Others that offered it get an ACK in place of the REQUEST, so that the message does
    not come again from each of them.
    """
    settle(core, peer, mid)
    peer.add_ack(mid)
    for name in sorted(core.requested.get(mid, ())):
        other = core.peers[name]
        core.drop_record(other, mid)
        other.add_ack(mid)
