"""2/MVDS, rule by rule: one test or more for each of M-001 to M-016."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest

from sdschat.mvds import Config, Engine, Message, Metadata, Mode, Payload, Reason, message_id
from sdschat.mvds.events import Acknowledged, Expired, PayloadSent, Rejected
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.values import RecordType, Row
from sdschat.wire import mvds_pb2
from sdschat.wire.mvds_codec import Dialect, MvdsCodec
from tests.mvds.world import GROUP, OTHER_GROUP, World, alice, at, id_of, message, sent_to

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "mvds_go.json").read_text())["message_ids"]
HELLO = message(b"hello")
(HELLO_ID,) = id_of(HELLO)


def test_m_001_field_numbers() -> None:
    """Spec: "repeated bytes acks = 5001; repeated bytes offers = 5002; repeated bytes requests = 5003; repeated
    Message messages = 5004; } message Message { bytes group_id = 6001; int64 timestamp = 6002; bytes body = 6003;"

    Here: the newer Go implementation has the same numbers, without metadata; the numbers 1 to 4 of the first one
    are a dialect of the codec."""

    def numbers(kind: str) -> dict[str, int]:
        return {field.name: field.number for field in mvds_pb2.DESCRIPTOR.message_types_by_name[kind].fields}

    assert numbers("Payload") == {"acks": 5001, "offers": 5002, "requests": 5003, "messages": 5004}
    assert numbers("Message") == {"group_id": 6001, "timestamp": 6002, "body": 6003, "metadata": 6004}
    assert MvdsCodec().encode(Payload(acks=(HELLO_ID,))) == b"\xca\xb8\x02\x20" + HELLO_ID
    assert mvds_pb2.DESCRIPTOR.package == "vac.mvds"


def test_m_002_each_list_can_be_empty_and_means_what_it_says() -> None:
    """Spec: "Each payload contains the following fields: Acks: This field contains a list (can be empty) of `message
    identifiers` informing the recipient that sender holds a specific message. Offers: This field contains a list
    (can be empty) of `message identifiers` that the sender would like to give to the recipient. Requests: This
    field contains a list (can be empty) of `message identifiers` that the sender would like to receive from the
    recipient. Messages: This field contains a list of messages (can be empty)."
    """
    node = alice()
    assert node.receive("bob", Payload(), 0) == []
    assert not node.reported(Rejected)
    assert MvdsCodec().decode(b"") == Payload()
    for payload in (Payload(acks=(HELLO_ID,)), Payload(messages=(HELLO,)), Payload((), (HELLO_ID,), (HELLO_ID,), ())):
        assert MvdsCodec().decode(MvdsCodec().encode(payload)) == payload


@pytest.mark.parametrize("vector", VECTORS)
def test_m_003_message_id_of_the_go_implementation(vector: dict[str, str | int]) -> None:
    """Spec: "Each `message` has a message identifier calculated by hashing the `group_id`, `timestamp` and `body`
    fields as follows: HASH("MESSAGE_ID", group_id, timestamp, body);"

    Here: `"MESSAGE_ID"` + group + timestamp (8 bytes, little-endian) + body, as in the Go implementation; 40
    vectors."""
    group, body = bytes.fromhex(str(vector["group_id"])), bytes.fromhex(str(vector["body"]))
    one = Message(group, int(vector["timestamp"]), body)
    assert message_id(one).hex() == vector["message_id"]
    assert message_id(one._replace(metadata=Metadata((HELLO_ID,), True))).hex() == vector["message_id"]


def test_m_004_hash_is_sha256() -> None:
    """Spec: "The current `HASH` function used is `sha256`." """
    assert len(message_id(HELLO)) == 32
    assert message_id(Message(bytes(32), 0, b"")) == sha256(b"MESSAGE_ID" + bytes(32) + bytes(8)).digest()


def test_m_005_groups_are_independent() -> None:
    """Spec: "Each `message` is assigned into a group using the `group_id` field, groups are independent
    synchronization contexts between peers."

    Here: a group id has 32 bytes; MESSAGE, REQUEST, and OFFER of a message that we hold are checked against the
    groups shared with the peer."""
    node = alice()
    node.engine.join(OTHER_GROUP, ["carol"])
    mine = node.engine.send(OTHER_GROUP, b"for carol", at(0))
    assert mine not in node.records("bob")
    assert node.records("carol")[mine].group_id == OTHER_GROUP
    node.receive("bob", Payload(requests=(mine,), messages=(message(b"x", group=OTHER_GROUP),)), 1000)
    assert mine not in node.records("bob")
    assert {event.reason for event in node.reported(Rejected)} == {Reason.NOT_IN_GROUP}
    node.engine.leave(OTHER_GROUP)
    assert node.types("carol") == []


def test_m_006_state_is_kept_per_peer() -> None:
    """Spec: "We refer to `state` as set of records for the types `OFFER`, `REQUEST` and `MESSAGE` that every node
    SHOULD store per peer."

    Here: on disk."""
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode={"bob": Mode.BATCH})
    node.engine.receive("carol", Payload(offers=(HELLO_ID,)), at(0))
    node.take()
    assert node.types("bob") == [RecordType.MESSAGE]
    assert sorted(node.types("carol")) == [RecordType.OFFER, RecordType.REQUEST]
    node.receive("bob", Payload(acks=(mid,)), 1000)
    assert node.types("bob") == []
    assert len(node.types("carol")) == 2


def test_m_007_state_never_contains_acks() -> None:
    """Spec: "`state` MUST NOT contain `ACK` records as we do not retransmit those periodically."

    Here: there is no record type for ACK; queued acks are in memory until the next payload."""
    node = alice()
    node.engine.receive("bob", Payload(messages=(HELLO,)), at(0))
    node.take()
    assert node.engine.snapshot().records == ()
    assert [kind.name for kind in RecordType] == ["OFFER", "REQUEST", "MESSAGE"]
    assert [packet.payload.acks for packet in node.step(0)] == [(HELLO_ID,)]
    assert node.step(60_000) == []
    assert not any("ack" in kind.__name__.lower() for kind in get_args(Row))


def test_m_008_records_have_type_send_count_and_send_epoch() -> None:
    """Spec: "The following information is stored for records: Type - Either `OFFER`, `REQUEST` or `MESSAGE` Send Count
    - The amount of times a record has been sent to a peer. Send Epoch - The next epoch at which a record can be
    sent to a peer."

    Here: `RecordRow`; it also counts the sendings since the last contact."""
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0))
    before = node.records("bob")[mid]
    node.step(0)
    after = node.records("bob")[mid]
    assert (before.type, before.send_count) == (RecordType.OFFER, 0)
    assert (after.type, after.send_count) == (RecordType.OFFER, 1)
    assert after.send_epoch > before.send_epoch


def test_m_009_at_most_one_payload_a_peer_and_epoch() -> None:
    """Spec: "A maximum of one payload SHOULD be sent to peers per epoch"

    Here: also across restarts."""
    node = alice()
    for ms in range(0, 10_000, 50):
        if ms % 200 == 0:
            node.engine.send(GROUP, b"%d" % ms, at(ms), mode=Mode.BATCH)
        node.receive("bob", Payload(messages=(message(b"%d" % ms),)), ms)
    for peer in ("bob", "carol"):
        epochs = [event.epoch for event in node.reported(PayloadSent) if event.peer == peer]
        assert len(epochs) == len(set(epochs)) <= 11
    node.restart(9_999)
    node.engine.send(GROUP, b"again", at(9_999), mode=Mode.BATCH)
    assert node.step(9_999) == [], "a restart begins no new epoch"
    assert len(node.step(10_000)) == 2


def test_m_010_payload_carries_all_records_for_the_peer() -> None:
    """Spec: "this payload contains all `ACK`, `OFFER`, `REQUEST` and `MESSAGE` records for the specific peer."

    Here: split at `packet_bytes`; beyond `payload_bytes`, and beyond 500 unanswered offers, records wait for a
    later epoch."""
    node = alice()
    one = node.engine.send(GROUP, b"one", at(0), mode=Mode.BATCH)
    two = node.engine.send(GROUP, b"two", at(0), mode=Mode.INTERACTIVE)
    node.engine.receive("bob", Payload(offers=(bytes(32),), messages=(HELLO,)), at(0))
    payload = next(packet.payload for packet in node.step(0) if packet.peer == "bob")
    assert (payload.acks, payload.offers, payload.requests) == ((HELLO_ID,), (two,), (bytes(32),))
    assert id_of(*payload.messages) == (one,)


def test_m_010_payload_is_split_at_the_packet_limit() -> None:
    """Spec: "this payload contains all `ACK`, `OFFER`, `REQUEST` and `MESSAGE` records for the specific peer." """
    node = alice(packet_bytes=2048, payload_bytes=8192)
    for number in range(40):
        node.engine.send(GROUP, bytes([number]) * 500, at(0), mode=Mode.BATCH)
    packets = [packet.payload for packet in node.step(0) if packet.peer == "bob"]
    sizes = [len(MvdsCodec().encode(payload)) for payload in packets]
    assert max(sizes) <= 2048
    assert sum(sizes) <= 8192
    assert sum(sizes) == next(event.bytes for event in node.reported(PayloadSent) if event.peer == "bob")
    for second in range(1, 12):
        node.step(second * 1000)
    assert all(row.send_count for row in node.records("bob").values()), "what was too much goes in later epochs"
    with pytest.raises(ValueError, match="packet_bytes"):
        node.engine.send(GROUP, bytes(2048), at(0))


def test_m_011_both_modes() -> None:
    """Spec: "Nodes MAY have two modes with which they can send records: `BATCH` and `INTERACTIVE` mode." """
    for mode in Mode:
        world = World(["alice", "bob"], Config(mode=mode))
        mid = world.send("alice", b"x")
        world.run(5_000)
        assert world.nodes["bob"].delivered() == [mid]
        assert world.settled()
        kinds = [bool(payload.offers) for payload in sent_to(world.nodes["alice"], "bob")]
        assert kinds[0] is (mode is Mode.INTERACTIVE)


def test_m_012_interactive_send_adds_an_offer_to_payload_and_state() -> None:
    """Spec: "A node initially offers a `MESSAGE` when attempting to send it to a peer. This means an `OFFER` is added
    to the next payload and state for the given peer."
    """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.INTERACTIVE)
    assert node.types("bob") == [RecordType.OFFER]
    assert [packet.payload for packet in node.step(0)] == [Payload(offers=(mid,))] * 2


def test_m_013_offer_adds_a_request_to_payload_and_state() -> None:
    """Spec: "When a node receives an `OFFER`, a `REQUEST` is added to the next payload and state for the given peer."

    Here: as soon as there is room for the message; an offered message that we hold is acknowledged instead."""
    node = alice()
    packets = node.receive("bob", Payload(offers=(HELLO_ID,)), 0)
    assert [(packet.peer, packet.payload) for packet in packets] == [("bob", Payload(requests=(HELLO_ID,)))]
    assert node.types("bob") == [RecordType.REQUEST]


def test_m_014_request_turns_the_offer_into_a_message() -> None:
    """Spec: "When a node receives a `REQUEST` for a previously sent `OFFER`, the `OFFER` is removed from the state and
    the corresponding `MESSAGE` is added to the next payload and state for the given peer."

    Here: the record changes its type in place; after a repeated REQUEST it rests for two steps of the back-off at
    most."""
    node = alice()
    node.receive("bob", Payload(), 0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.INTERACTIVE)
    node.step(0)
    packets = node.receive("bob", Payload(requests=(mid,)), 1000)
    assert [id_of(*packet.payload.messages) for packet in packets] == [(mid,)]
    assert packets[0].payload.offers == ()
    assert node.types("bob") == [RecordType.MESSAGE]
    assert node.types("carol") == [RecordType.OFFER]


def test_m_015_message_removes_the_request_and_adds_an_ack() -> None:
    """Spec: "When a node receives a `MESSAGE`, the `REQUEST` is removed from the state and an `ACK` is added to the
    next payload for the given peer."

    Here: other peers that offered it get an ACK too; a refused message is not acknowledged, because an ACK says
    that it is held, and not requested while the reason lasts."""
    node = alice()
    node.receive("bob", Payload(offers=(HELLO_ID,)), 0)
    packets = node.receive("bob", Payload(messages=(HELLO,)), 1000)
    assert [packet.payload for packet in packets] == [Payload(acks=(HELLO_ID,))]
    assert node.types("bob") == []
    assert node.store.holds(HELLO_ID)


def test_m_016_ack_removes_the_message() -> None:
    """Spec: "When a node receives an `ACK`, the `MESSAGE` is removed from the state for the given peer."

    Here: an OFFER is removed too; records of other peers stay."""
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.INTERACTIVE)
    node.receive("bob", Payload(requests=(mid,)), 0)
    node.receive("bob", Payload(acks=(mid,)), 1000)
    assert node.types("bob") == []
    assert node.reported(Acknowledged) == [Acknowledged(mid, "bob")]
    assert node.types("carol") == [RecordType.OFFER]


def test_go_dialect_is_the_same_payload_in_other_numbers() -> None:
    """Rules: M-001."""
    payload = Payload((HELLO_ID,), (bytes(32),), (), (message(b"x", HELLO_ID, ephemeral=True),))
    go, spec = MvdsCodec(Dialect.GO), MvdsCodec()
    assert go.decode(go.encode(payload)) == payload
    assert go.encode(Payload(acks=(HELLO_ID,))) == b"\x0a\x20" + HELLO_ID
    assert go.encode(Payload(messages=(message(b"x", ephemeral=True),)))[:5].startswith(b"\x22")
    for one, other in ((go, spec), (spec, go)):
        refused = other.decode(one.encode(payload))
        assert isinstance(refused, tuple)
        assert refused[0] is Reason.FOREIGN_DIALECT


def test_wrong_use_raises() -> None:
    with pytest.raises(ValueError, match="jitter"):
        Config(jitter=2)
    engine = Engine(Config(), b"", MemoryStore(), at(0))
    with pytest.raises(ValueError, match="32 bytes"):
        engine.join(b"short", ["bob"])
    with pytest.raises(ValueError, match="not in the group"):
        engine.send(GROUP, b"x", at(0))
    engine.join(GROUP, ["bob"])
    with pytest.raises(ValueError, match="not in the group"):
        engine.send(GROUP, b"x", at(0), to=["carol"])
    with pytest.raises(ValueError, match="none of our groups"):
        engine.set_mode("carol", None)


def test_expired_event_names_type_and_count() -> None:
    node = alice(expire_after=2)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    for ms in range(0, 20_000, 1000):
        node.step(ms)
    assert Expired(mid, "bob", RecordType.MESSAGE, 2) in node.reported(Expired)
