"""The defects found in other implementations (V-01 to V-10): ours has none of them."""

from __future__ import annotations

from sdschat.mvds import Engine, Message, Mode, Payload, Reason
from sdschat.mvds.events import (
    BroughtForward,
    Expired,
    RecordDropped,
    Rejected,
)
from sdschat.mvds.values import RecordType
from tests.mvds.world import GROUP, START, World, alice, at, id_of, message, run, times_sent


def test_v_01_send_epoch_is_reckoned_from_now() -> None:
    """Defect: Send Epoch was added up, so that on an old account it lay ever farther ahead.

    Here: counted from the current epoch; cut on restore when the wall clock was set back."""
    node = alice(expire_after=0)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    month = 30 * 24 * 3_600_000
    before = times_sent(node, "bob", mid)
    run(node, month, month + 3000)
    assert times_sent(node, "bob", mid) <= before + 2, "no bursts to make up for it"
    assert node.records("bob")[mid].send_epoch <= (START.wall + month) // 1000 + 8
    back = at(0)._replace(wall=START.wall - month)
    node.engine = Engine(node.config, b"alice", node.store, back, node.store.snapshot())
    longest = 4096 * 1.25 + 1
    assert node.records("bob")[mid].send_epoch <= back.wall // 1000 + longest


def test_v_02_retransmission_can_be_stopped_and_ends_by_itself() -> None:
    """Defect: retransmission could not be stopped.

    Here: `cancel`, leaving a group, and expiry after 14 sendings."""
    node = alice(expire_after=3)
    first = node.engine.send(GROUP, b"first", at(0))
    second = node.engine.send(GROUP, b"second", at(0))
    node.engine.cancel(first, ["bob"])
    node.engine.cancel(bytes(32))
    run(node, 0, 100_000)
    assert times_sent(node, "bob", first) == 0
    assert times_sent(node, "carol", first) == times_sent(node, "bob", second) == 3
    assert node.engine.next_wake() is None
    node.engine.cancel(second)
    assert RecordDropped(second, "carol", "cancelled") in [*node.engine.take().events]


def test_v_03_presence_brings_records_forward() -> None:
    """Defect: long back-off outlived the absence of a peer.

    Here: presence brings records forward, once in 10 s, 1,000 at a time; contact that comes sooner is acted on when
    the 10 s are over."""
    node = alice(presence_batch=5)
    ids = [node.engine.send(GROUP, b"%d" % number, at(number), mode=Mode.BATCH) for number in range(12)]
    run(node, 0, 3_000_000)
    before = [times_sent(node, "bob", mid) for mid in ids]
    start = 3_000_000
    for ms in range(start, start + 35_000, 500):
        node.engine.peer_online("bob", at(ms)) if ms < start + 3_000 else None
        node.step(ms)
    batches = [event.records for event in node.reported(BroughtForward)]
    assert sum(batches[:3]) == 12, "five at a time, each once"
    assert all(count <= 5 for count in batches)
    assert len(batches) <= 4, "and ten seconds apart"
    assert all(times_sent(node, "bob", mid) > count for mid, count in zip(ids, before, strict=True))
    assert node.reported(BroughtForward)[0].peer == "bob"


def test_v_03_presence_while_not_allowed_is_not_forgotten() -> None:
    """Defect: long back-off outlived the absence of a peer."""
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    run(node, 0, 1_000_000)
    node.engine.peer_online("bob", at(1_000_000))
    node.step(1_000_000)
    run(node, 1_001_000, 1_009_000)
    node.engine.peer_offline("bob", at(1_006_000))
    node.engine.peer_online("bob", at(1_009_000))
    count = times_sent(node, "bob", mid)
    node.step(1_009_000)
    assert times_sent(node, "bob", mid) == count
    run(node, 1_010_000, 1_012_000)
    assert times_sent(node, "bob", mid) == count + 1


def test_v_04_expiry_is_reported_and_ends_on_contact() -> None:
    """Defect: after 14 sendings a record was silently never sent again.

    Here: an `Expired` event; taken up again on contact."""
    node = alice(expire_after=14)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    run(node, 0, 12_000_000)
    assert times_sent(node, "bob", mid) == 14
    assert Expired(mid, "bob", RecordType.MESSAGE, 14) in node.reported(Expired)
    assert node.records("bob")[mid].expired
    node.restart(12_000_000)
    node.receive("bob", Payload(), 12_000_000)
    assert times_sent(node, "bob", mid) == 15
    assert node.reported(BroughtForward)[-1].resumed == 1
    assert node.records("carol")[mid].expired, "only for the peer that showed itself"


def test_v_04_a_peer_that_was_never_seen_to_leave_resumes_too() -> None:
    """Defect: after 14 sendings a record was silently never sent again."""
    node = alice(expire_after=3)
    node.receive("bob", Payload(), 0)
    mid = node.engine.send(GROUP, b"x", at(1000), mode=Mode.BATCH)
    run(node, 1000, 60_000)
    assert node.records("bob")[mid].expired
    node.receive("bob", Payload(), 60_000)
    assert times_sent(node, "bob", mid) == 4


def test_a_peer_that_comes_just_when_a_record_is_to_expire_is_sent_it() -> None:
    """All machines were off, and the last sending was long ago: the record is due, and with that would rest."""
    node = alice(expire_after=3)
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    run(node, 0, 9000)
    assert times_sent(node, "bob", mid) == 3
    assert not node.records("bob")[mid].expired
    node.engine.peer_online("bob", at(10_000_000))
    node.step(10_000_000)
    assert times_sent(node, "bob", mid) == 4


def test_v_03_a_peer_that_comes_and_goes_does_not_cause_a_storm() -> None:
    """Defect: long back-off outlived the absence of a peer."""
    node = alice(backoff_max=4096)
    node.engine.send(GROUP, b"x", at(0), mode=Mode.BATCH)
    for second in range(100):
        node.engine.peer_offline("bob", at(second * 1000))
        node.engine.peer_online("bob", at(second * 1000))
        node.step(second * 1000)
    assert 5 <= len(node.reported(BroughtForward)) <= 10


def test_v_05_requests_are_retransmitted() -> None:
    """Defect: a REQUEST was not retransmitted.

    Here: as any record."""
    node = alice()
    node.receive("bob", Payload(offers=(bytes(32),)), 0)
    run(node, 0, 20_000)
    assert times_sent(node, "bob", bytes(32)) >= 3
    run(node, 20_000, 12_000_000)
    assert node.records("bob") == {}, "an expired request ends; the offer makes a new one"


def test_v_06_messages_without_metadata_are_ordinary_ones() -> None:
    """Defect: a message without metadata crashed the node.

    Here: metadata is optional everywhere."""
    bare = Message(GROUP, 1, b"bare")
    node = alice(metadata=False, mode=Mode.INTERACTIVE, forward=True)
    (packet,) = [p for p in node.receive("bob", Payload(messages=(bare,)), 0) if p.peer == "bob"]
    assert packet.payload.acks == id_of(bare)
    assert node.types("carol") == [RecordType.OFFER]
    node.engine.send(GROUP, b"mine", at(1), mode=Mode.INTERACTIVE)
    assert node.types("bob") == [RecordType.OFFER]


def test_v_07_offers_for_held_messages_are_acknowledged() -> None:
    """Defect: an OFFER of a message that is held was answered by nothing, and repeated without end.

    Here: acknowledged; offers that cross end each other.

    Rules: M-013.
    """
    node = alice()
    held = message(b"held")
    node.receive("bob", Payload(messages=(held,)), 0)
    packets = node.receive("carol", Payload(offers=id_of(held)), 1000)
    assert [packet.payload for packet in packets] == [Payload(acks=id_of(held))]
    waits = message(b"waits", bytes(32))
    node.receive("bob", Payload(messages=(waits,)), 2000)
    packets = node.receive("carol", Payload(offers=id_of(waits)), 3000)
    assert packets[-1].payload.acks == id_of(waits)


def test_v_07_two_that_offer_each_other_the_same_end() -> None:
    """Defect: an OFFER of a message that is held was answered by nothing, and repeated without end.

    Rules: M-013.
    """
    world = World(["alice", "bob"])
    held = message(b"held")
    for node in world.nodes.values():
        node.engine.join(GROUP, ["alice", "bob", "zoe"])
        node.receive("zoe", Payload(messages=(held,)), 0)
        node.engine.join(GROUP, [name for name in world.names if name != node.name])
    for name, peer in (("alice", "bob"), ("bob", "alice")):
        world.nodes[name].engine.share(peer, id_of(held), at(0))
    world.run(60_000)
    assert world.settled()
    assert world.packets <= 6


def test_v_08_unknown_ids_do_not_end_a_list() -> None:
    """Defect: an unknown id ended the processing of a list.

    Here: skipped, and counted as refused."""
    node = alice()
    mids = [node.engine.send(GROUP, b"%d" % number, at(0)) for number in range(3)]
    unknown = bytes(32)
    (packet,) = [p for p in node.receive("bob", Payload(requests=(unknown, mids[0])), 0) if p.peer == "bob"]
    assert id_of(*packet.payload.messages) == (mids[0],)
    node.receive("bob", Payload(acks=(unknown, mids[0], unknown, mids[1])), 1000)
    assert list(node.records("bob")) == [mids[2]]
    assert [(event.reason, event.times) for event in node.reported(Rejected)] == [(Reason.UNKNOWN_MESSAGE, 1)]


def test_v_09_ephemeral_messages_are_sent_once() -> None:
    """Defect: an ephemeral message was sent again for ever.

    Here: sent once."""
    node = alice()
    mid = node.engine.send(GROUP, b"typing", at(0), ephemeral=True)
    run(node, 0, 600_000)
    assert times_sent(node, "bob", mid) == 1


def test_v_10_offer_becomes_message_in_place() -> None:
    """Defect: changing OFFER to MESSAGE broke the key of the table.

    Here: the key is (peer, message).

    Rules: M-014.
    """
    node = alice()
    mid = node.engine.send(GROUP, b"x", at(0), mode=Mode.INTERACTIVE)
    node.step(0)
    node.receive("bob", Payload(requests=(mid, mid)), 1000)
    rows = [row for row in node.store.snapshot().records if row.peer == "bob"]
    assert [(row.message_id, row.type) for row in rows] == [(mid, RecordType.MESSAGE)]
