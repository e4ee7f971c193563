"""2/MVDS, rule by rule, continued: batch mode and retransmission, M-017 to M-027."""

from __future__ import annotations

import json
from pathlib import Path

from sdschat.mvds import Config, Mode, Payload, Reason
from sdschat.mvds.events import Delivered, DuplicateReceived, Rejected
from sdschat.mvds.retransmission import SendBackoff, backoff_steps
from sdschat.mvds.values import RecordRow, RecordType
from tests.mvds.world import GROUP, alice, at, id_of, message, sent_to

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "mvds_go.json").read_text())["message_ids"]
HELLO = message(b"hello")
(HELLO_ID,) = id_of(HELLO)


def test_m_017_due_records_of_every_type_are_retransmitted() -> None:
    """Spec: "All records that require retransmission are added to the payload, given `Send Epoch` has been
    reached."
    """
    node = alice()
    offered = node.engine.send(GROUP, b"offered", at(0), mode=Mode.INTERACTIVE)
    batched = node.engine.send(GROUP, b"batched", at(0), mode=Mode.BATCH)
    node.receive("bob", Payload(offers=(HELLO_ID,)), 0)
    again = [packet.payload for ms in range(1, 6) for packet in node.step(ms * 1000) if packet.peer == "bob"]
    assert any(offered in payload.offers for payload in again)
    assert any(batched in id_of(*payload.messages) for payload in again)
    assert any(HELLO_ID in payload.requests for payload in again)


def test_m_018_batch_send_adds_the_message_to_payload_and_state() -> None:
    """Spec: "When a node sends a `MESSAGE`, it is added to the next payload and the state for the given peer." """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    assert node.types("bob") == [RecordType.MESSAGE]
    assert [id_of(*packet.payload.messages) for packet in node.step(0)] == [(mid,)] * 2


def test_m_019_batch_message_is_acknowledged() -> None:
    """Spec: "When a node receives a `MESSAGE`, an `ACK` is added to the next payload for the corresponding peer." """
    node = alice()
    packets = node.receive("bob", Payload(messages=(HELLO,)), 0)
    assert [(packet.peer, packet.payload) for packet in packets] == [("bob", Payload(acks=(HELLO_ID,)))]


def test_m_020_batch_ack_removes_the_message() -> None:
    """Spec: "When a node receives an `ACK`, the `MESSAGE` is removed from the state for the given peer." """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    node.step(0)
    node.receive("bob", Payload(acks=(mid,)), 500)
    assert node.types("bob") == []


def test_m_021_batch_message_is_retransmitted_until_acknowledged() -> None:
    """Spec: "All records that require retransmission are added to the payload, given `Send Epoch` has been
    reached."
    """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    for ms in range(0, 60_000, 1000):
        node.step(ms)
    before = len(sent_to(node, "bob"))
    assert before >= 4
    node.receive("bob", Payload(acks=(mid,)), 60_000)
    for ms in range(61_000, 600_000, 1000):
        node.step(ms)
    assert len(sent_to(node, "bob")) == before
    assert len(sent_to(node, "carol")) > before


def test_m_022_sent_when_send_epoch_has_come_and_not_before() -> None:
    """Spec: "The record of the type `Type` SHOULD be retransmitted every time `Send Epoch` is smaller than or equal to
    the current epoch."
    """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    node.step(0)
    for _ in range(5):
        due = node.records("bob")[mid].send_epoch * 1000 - at(0).wall
        count = node.records("bob")[mid].send_count
        node.step(due - 1)
        assert node.records("bob")[mid].send_count == count
        node.step(due)
        assert node.records("bob")[mid].send_count == count + 1


def test_m_023_every_retransmission_raises_send_epoch_and_send_count() -> None:
    """Spec: "`Send Epoch` and `Send Count` MUST be increased every time a record is retransmitted." """
    node = alice(expire_after=0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    seen: list[RecordRow] = []
    for _ in range(30):
        seen.append(node.records("bob")[mid])
        node.step((seen[-1].send_epoch * 1000) - at(0).wall)
    assert [row.send_count for row in seen] == list(range(30))
    epochs = [row.send_epoch for row in seen]
    assert epochs == sorted(set(epochs))


def test_m_024_exponential_up_to_a_bound_and_then_lower() -> None:
    """Spec: "it SHOULD be exponentially increased until reaching an upper bound where it then goes back to a lower
    epoch in order to prevent a record's `Send Epoch`'s from becoming too large."

    Here: 2, 4, 8 … epochs up to `backoff_max`, then from `backoff_low` again; ±25 % by a keyed hash."""
    config = Config(backoff_max=64, backoff_low=8, jitter=0.25)
    backoff = SendBackoff(config, b"secret")
    plain = [backoff.plain(attempt) for attempt in range(1, 16)]
    assert plain == [2, 4, 8, 16, 32, 64, 8, 16, 32, 64, 8, 16, 32, 64, 8]
    record = RecordRow("bob", HELLO_ID, GROUP, RecordType.OFFER, 1, 0, 0, 0)
    drawn = [backoff.delay(record._replace(attempt=6, send_count=count)) for count in range(200)]
    assert min(drawn) >= 48
    assert max(drawn) <= 80
    assert len(set(drawn)) > 20
    assert backoff_steps(Config(backoff_max=100, backoff_low=100))[1] == (100,)


def test_m_025_ack_on_every_message_and_never_by_itself() -> None:
    """Spec: "We do not retransmission `ACK`s as we do not know when they have arrived, therefore we simply resend them
    every time we receive a `MESSAGE`."

    Here: duplicates included; an ACK is never sent without a MESSAGE or an OFFER of a message that we hold."""
    node = alice()
    for ms in (0, 1000, 2000):
        assert [packet.payload for packet in node.receive("bob", Payload(messages=(HELLO,)), ms)] == [
            Payload(acks=(HELLO_ID,)),
        ]
        assert node.step(ms + 999) == []
    assert len(node.reported(Delivered)) == 1
    assert len(node.reported(DuplicateReceived)) == 2


def test_m_026_names_are_as_the_transport_vouches_for_them() -> None:
    """Spec: "properties such as confidentiality, integrity, authenticity and forward secrecy are assumed to be
    provided by a layer below."

    Here: a payload cannot speak for another peer; payloads of strangers are refused.

    The layer below names the sender; a payload cannot speak for another, and a stranger is not heard."""
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    node.receive("carol", Payload(acks=(mid,)), 0)
    assert node.types("bob") == [RecordType.MESSAGE]
    node.receive("mallory", Payload(acks=(mid,), messages=(HELLO,)), 0)
    assert [event.reason for event in node.reported(Rejected)] == [Reason.NO_SHARED_GROUP]
    assert not node.store.holds(HELLO_ID)


def test_m_027_modes_mix_by_message_and_by_peer() -> None:
    """Spec: "A node may send messages both in interactive and in batch mode."

    Here: the mode of the message for the peer, else of the peer, else of the node."""
    node = alice(mode=Mode.BATCH)
    node.engine.set_mode("carol", Mode.INTERACTIVE)
    plain = node.engine.send(GROUP, b"plain", at(0))
    offered = node.engine.send(GROUP, b"offered", at(0), mode=Mode.INTERACTIVE)
    mixed = node.engine.send(GROUP, b"mixed", at(0), mode={"bob": Mode.INTERACTIVE, "carol": Mode.BATCH})
    kinds = {peer: {mid: row.type for mid, row in node.records(peer).items()} for peer in ("bob", "carol")}
    assert kinds["bob"] == {plain: "message", offered: "offer", mixed: "offer"}
    assert kinds["carol"] == {plain: "offer", offered: "offer", mixed: "message"}
