"""Settings at their bounds, and lists of which a part is known already."""

from __future__ import annotations

import pytest

from sdschat.mvds import Config, Mode, Now, Payload, Reason, limits
from sdschat.mvds.events import Delivered, Expired, Rejected
from sdschat.mvds.limits import MAX_AHEAD_MS
from sdschat.mvds.packing import message_cost
from sdschat.mvds.pages import Came, Pages
from sdschat.mvds.retransmission import EpochClock, SendBackoff, backoff_steps
from sdschat.mvds.values import RecordRow, RecordType
from tests.mvds.world import GROUP, START, Node, at, id_of, message

DAY = 86_400_000


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("epoch", 1, 3_600_000),
        ("packet_bytes", 1024, 1 << 20),
        ("payload_bytes", 64 << 10, 1 << 30),
        ("backoff_first", 2, 4096),
        ("backoff_max", 64, 1_000_000),
        ("backoff_low", 1, 4096),
        ("jitter", 0, 0.5),
        ("expire_after", 0, 10_000),
        ("presence_interval", 0, DAY),
        ("presence_batch", 1, 100_000),
        ("lost_after", 0, 30 * DAY),
    ],
)
def test_each_setting_is_taken_up_to_its_bounds(name: str, low: float, high: float) -> None:
    for value in (low, high):
        assert getattr(Config(**{name: value}), name) == value  # type: ignore[arg-type]
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=r"mvds\..* is .*, and must be from .* to"):
            Config(**{name: value})  # type: ignore[arg-type]


def test_back_off_may_begin_as_late_as_there_is() -> None:
    assert backoff_steps(Config(backoff_first=1_000_000, backoff_max=1_000_000)) == (
        (1_000_000,),
        (*(64 << at for at in range(14)), 1_000_000),
    )


def test_a_duration_is_whole_epochs_rounded_up() -> None:
    config = Config(epoch=1000)
    assert [config.epochs(duration) for duration in (0, 1, 999, 1000, 1001)] == [0, 1, 1, 1, 2]


def test_delays_grow_to_the_bound_and_go_on_from_the_lower_value() -> None:
    backoff = SendBackoff(Config(backoff_first=3, backoff_max=20, backoff_low=5), b"secret")
    assert [backoff.plain(attempt) for attempt in range(1, 12)] == [3, 6, 12, 20, 5, 10, 20, 5, 10, 20, 5]
    assert backoff.longest == 26


def test_jitter_takes_a_delay_up_or_down_by_its_part_and_no_more() -> None:
    backoff = SendBackoff(Config(backoff_first=1000, backoff_max=1000, backoff_low=1000, jitter=0.25), b"secret")
    row = RecordRow("bob", bytes(32), GROUP, RecordType.OFFER, 1, 0, 1, 0)
    delays = [backoff.delay(row._replace(send_count=count)) for count in range(400)]
    assert 750 <= min(delays) < 770
    assert 1230 < max(delays) <= 1250
    assert delays == [backoff.delay(row._replace(send_count=count)) for count in range(400)]
    assert SendBackoff(Config(jitter=0), b"").delay(row) == 2


def test_epochs_follow_the_clock_that_never_jumps() -> None:
    clock = EpochClock(1000, Now(10_500, 200))
    assert [clock.advance(Now(0, mono)) for mono in (200, 699, 700, 1700, 700)] == [10, 10, 11, 12, 12]
    assert clock.begin(11) == 700


def test_a_request_that_was_served_before_does_not_hide_the_next() -> None:
    node = Node("alice", ["bob"], Config(mode=Mode.INTERACTIVE))
    one, two = node.engine.send(GROUP, b"one", Now(0, 0)), node.engine.send(GROUP, b"two", Now(0, 0))
    node.receive("bob", Payload(requests=(one,)), 0)
    node.receive("bob", Payload(requests=(one, two)), 10)
    assert node.types("bob") == [RecordType.MESSAGE, RecordType.MESSAGE]


def test_a_page_that_came_is_acknowledged_when_it_is_offered_again() -> None:
    pages = Pages(GROUP, b"secret", Now(0, 0))
    pages.deal_with({"bob"})
    pages.take()
    page = message(b"page")
    pages.receive("bob", Payload(offers=id_of(page)), Now(0, 0))
    assert carried(pages, 200).requests == id_of(page)
    pages.receive("bob", Payload(messages=(page,)), Now(400, 400))
    assert carried(pages, 400).acks == id_of(page)
    pages.receive("bob", Payload(offers=id_of(page)), Now(600, 600))
    assert carried(pages, 600) == Payload(acks=id_of(page))


def test_a_page_that_was_offered_goes_out_when_it_is_asked_for_and_again_when_that_is_lost() -> None:
    pages = Pages(GROUP, b"secret", Now(0, 0))
    pages.deal_with({"bob"})
    given = pages.give("bob", b"a page of history", Now(0, 0))
    assert carried(pages, 400).offers == (given,)
    for asked in (600, 60_000):
        pages.receive("bob", Payload(requests=(given,)), Now(asked, asked))
        (sent,) = carried(pages, asked + 400).messages
        assert sent.body == b"a page of history"


def carried(pages: Pages, ms: int) -> Payload:
    pages.advance(Now(ms, ms))
    ready = pages.take()
    assert ready.came in ((), (Came("bob", b"page"),))
    (packet,) = ready.packets
    return packet.payload


def test_a_message_that_is_gone_holds_up_no_other() -> None:
    node = Node("alice", ["bob"])
    gone = node.engine.send(GROUP, b"gone", at(0), mode=Mode.BATCH)
    stays = node.engine.send(GROUP, b"stays", at(5), mode=Mode.BATCH)
    node.take()
    del node.store.messages[gone]
    node.restart(0)
    (packet,) = node.step(0)
    assert id_of(*packet.payload.messages) == (stays,)


@pytest.mark.parametrize(
    ("ahead", "dated"),
    [(-1, 0), (0, 1), (500, 501), (MAX_AHEAD_MS - 1, MAX_AHEAD_MS), (MAX_AHEAD_MS, 0)],
)
def test_a_message_is_dated_right_behind_its_parents_unless_they_are_far_ahead(ahead: int, dated: int) -> None:
    node = Node("alice", ["bob"], Config(timestamp_unit="ms"))
    node.receive("bob", Payload(messages=(message(b"x", stamp=START.wall + ahead),)), 0)
    mid = node.engine.send(GROUP, b"mine", at(0))
    node.take()
    assert node.store.messages[mid].message.timestamp == START.wall + dated


def test_who_waits_for_two_that_wait_gives_up_after_the_later_one() -> None:
    node = Node("alice", ["bob"], Config(lost_after=60_000))
    early, late = message(b"early", bytes(32)), message(b"late", b"\1" * 32)
    child = message(b"child", *id_of(early, late))
    for one, ms in ((child, 0), (early, 10_000), (late, 30_000)):
        node.receive("bob", Payload(messages=(one,)), ms)
    epoch = {row.message_id: row.give_up_epoch for row in node.engine.snapshot().waiting}
    node.step(60_000)
    waiting = {row.message_id: row.give_up_epoch for row in node.engine.snapshot().waiting}
    assert waiting[id_of(child)[0]] == epoch[id_of(late)[0]]
    assert waiting.keys() == epoch.keys()


def test_partners_are_those_that_were_named_last() -> None:
    pages = Pages(GROUP, b"secret", Now(0, 0))
    for partners in ({"bob"}, {"bob", "carol"}, set()):
        pages.deal_with(partners)
        assert pages.partners == partners


def test_all_that_expire_in_one_epoch_do_and_hold_up_nothing() -> None:
    node = Node("alice", ["bob"], Config(expire_after=1, jitter=0))
    mids = {node.engine.send(GROUP, text, at(0), mode=Mode.BATCH) for text in (b"one", b"two", b"three")}
    node.step(0)
    late = node.engine.send(GROUP, b"late", at(1000), mode=Mode.BATCH)
    (packet,) = node.step(2000)
    assert id_of(*packet.payload.messages) == (late,)
    assert {event.message_id for event in node.reported(Expired)} == mids


def test_of_several_who_were_asked_one_leaves_and_the_others_are_told_that_it_came() -> None:
    node = Node("alice", ["bob", "carol", "dan"], Config(mode=Mode.INTERACTIVE))
    one = message(b"one")
    for peer in ("bob", "carol", "dan"):
        node.receive(peer, Payload(offers=id_of(one)), 0)
        node.step(3000)
        assert node.types(peer) == [RecordType.REQUEST]
    node.engine.join(GROUP, ("carol", "dan"))
    node.take()
    node.receive("carol", Payload(messages=(one,)), 3010)
    told = {packet.peer: packet.payload for packet in node.step(9000)}
    assert told == {"carol": Payload(acks=id_of(one)), "dan": Payload(acks=id_of(one))}
    assert not node.engine.snapshot().records


def test_what_waits_may_fill_the_room_of_its_sender_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message takes its body, 512 bytes, and 128 for each parent."""
    monkeypatch.setattr(limits, "WAITING_BYTES_PER_PEER", 2 * (512 + 128 + 100))
    for size, refused in ((100, []), (101, [Reason.BUFFER_QUOTA])):
        node = Node("alice", ["bob"])
        for body in (bytes(100), b"x" * size):
            node.receive("bob", Payload(messages=(message(body, b"p" * 32),)), 0)
        assert [event.reason for event in node.reported(Rejected)] == refused


def test_parents_that_are_absent_are_noted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "AHEAD_TOTAL", 2)
    node = Node("alice", ["bob"], Config(ordering="eventual"))
    for number in range(4):
        node.receive("bob", Payload(messages=(message(b"%d" % number, bytes([number // 2]) * 32),)), 0)
    assert {row.message_id for row in node.engine.snapshot().ahead} == {bytes(32), b"\1" * 32}
    node.receive("bob", Payload(messages=(message(b"one more", b"\2" * 32),)), 0)
    assert len(node.engine.snapshot().ahead) == 2


def test_a_message_may_fill_a_packet_and_packets_may_fill_a_payload() -> None:
    """A byte more does not fit."""
    config = Config(packet_bytes=1024, payload_bytes=2048, metadata=False)
    node = Node("alice", ["bob"], config)
    around = message_cost(message(bytes(900), stamp=START.wall * 10**6)._replace(metadata=None)) - 900
    with pytest.raises(ValueError, match="does not fit"):
        node.engine.send(GROUP, bytes(1025 - around), at(0), mode=Mode.BATCH)
    bodies = [bytes([number]) * (1024 - around) for number in range(3)]
    for body in bodies:
        node.engine.send(GROUP, body, at(0), mode=Mode.BATCH)
    node.take()
    sent = [[one.body for packet in node.step(ms) for one in packet.payload.messages] for ms in (0, 1000)]
    assert [len(each) for each in sent] == [2, 1]


def test_the_same_text_in_one_second_is_dated_a_second_later() -> None:
    node = Node("alice", ["bob"], Config(timestamp_unit="s", metadata=False))
    for _ in range(3):
        node.engine.send(GROUP, b"ok", at(0))
    dated = [event.message.timestamp for event in node.take().events if isinstance(event, Delivered)]
    assert dated == [START.wall // 1000 + later for later in range(3)]
