"""The journal: every event has its row, numbers have no gap, checkpoints prove the log, old rows are deleted."""

from __future__ import annotations

import json
import sqlite3
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from sdschat.sds import events as ev
from sdschat.sds.config import Config
from sdschat.sds.state import Ready
from sdschat.sds.values import AckState, Evidence, HistoryEntry, Message, Now, Reason
from sdschat.store.errors import StoreError
from sdschat.store.journal import JournalRow, journal_of, journal_rows, json_lines
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.store import Store
from tests.fingerprints import fingerprint_of
from tests.sds.group import Group
from tests.store.samples import CODEC, START, Talk

LIVELY = Config(
    sync_interval=4000,
    resend_unacked=3000,
    resend_possibly_acked=5000,
    resend_max=8000,
    t_min=500,
    t_max=2000,
    push_grace=300,
    push_delay_min=100,
    push_delay_max=900,
    id_rule="text",
)
NOW = Now(START, 5000)
MESSAGE = Message("anna", "m1", "lobby", 7, (HistoryEntry("m0"),), b"bloom", (), b"hello")
PROOF = Evidence("bert", "filter", "p1", START, 1e-6)
EVENTS: list[tuple[ev.Event, dict[str, object] | None]] = [
    (
        ev.Delivered(MESSAGE, False, False, (), "repair"),
        {
            "event": "delivered",
            "message_id": "m1",
            "sender": "anna",
            "lamport": 7,
            "bytes": 90,
            "payload_bytes": 5,
            "overhead_bytes": 85,
            "deps": ("m0",),
            "cause": "repair",
        },
    ),
    (ev.KeptAsId(MESSAGE), {"event": "kept_as_id", "sender": "anna", "message_id": None}),
    (ev.EphemeralReceived(MESSAGE), {"event": "ephemeral", "message_id": "m1", "sender": "anna"}),
    (
        ev.StateChanged("m1", AckState.POSSIBLY_ACKED, ("bert",), 2, PROOF),
        {"event": "possibly_acked", "message_id": "m1", "peer": "bert", "attempt": 2, "cause": "filter"},
    ),
    (ev.StateChanged("m1", AckState.UNACKED, (), 0, None), None),
    (ev.MessageRetired("m1"), {"event": "left_outgoing", "message_id": "m1"}),
    (ev.DependenciesMissing("m1", ("m0",)), {"event": "missing", "message_id": "m1", "deps": ("m0",)}),
    (ev.DependenciesLost(("m0",)), {"event": "lost", "deps": ("m0",)}),
    (ev.GapClosed("m0"), {"event": "gap_closed", "message_id": "m0"}),
    (ev.MessageDeferred("m1", "anna", 99), {"event": "parked", "message_id": "m1", "sender": "anna", "attempt": 99}),
    (ev.DuplicateReceived("m1", "anna"), {"event": "duplicate", "message_id": "m1", "sender": "anna"}),
    (ev.SyncSent("s1"), None),
    (ev.SyncReceived("anna"), {"event": "sync_received", "peer": "anna"}),
    (ev.MessageResent("m1", AckState.UNACKED, 2), None),
    (ev.RepairWanted("m0", 99), {"event": "repair_wanted", "message_id": "m0", "attempt": 99}),
    (ev.RepairRequested(("m0",), "s1"), {"event": "repair_requested", "message_id": "s1", "deps": ("m0",)}),
    (
        ev.RepairScheduled("m0", 99, "bert"),
        {"event": "repair_scheduled", "message_id": "m0", "peer": "bert", "attempt": 99},
    ),
    (ev.RepairResponded("m0"), {"event": "repair_responded", "message_id": "m0"}),
    (ev.RepairCancelled("m0", "received"), {"event": "repair_cancelled", "message_id": "m0", "cause": "received"}),
    (ev.PushScheduled("m0", 99, "bert"), {"event": "push_scheduled", "message_id": "m0", "peer": "bert"}),
    (ev.Pushed("m0"), {"event": "pushed", "message_id": "m0"}),
    (ev.PushCancelled("m0", "no_body"), {"event": "push_cancelled", "message_id": "m0", "cause": "no_body"}),
    (ev.RangeDiffered("bert", 3, 9), {"event": "range_differed", "peer": "bert", "lamport": 3}),
    (ev.FilterIgnored("bert", "full"), {"event": "filter_ignored", "peer": "bert", "cause": "full"}),
    (ev.FilterRolled(2, 7), {"event": "filter_rolled", "attempt": 2, "lamport": 7}),
    (ev.FilterFormatChanged("waku"), {"event": "layout_changed", "cause": "waku"}),
    (ev.ClockAhead(99, 7), {"event": "clock_ahead", "lamport": 99, "attempt": 7}),
    (
        ev.Rejected(Reason.NO_KIND, "anna", "m1", ""),
        {"event": "rejected", "sender": "anna", "message_id": "m1", "cause": "no_kind"},
    ),
]


@pytest.mark.parametrize(("event", "expected"), EVENTS, ids=lambda value: type(value).__name__)
def test_every_event_has_its_row(event: ev.Event, expected: dict[str, object] | None) -> None:
    row = journal_rows(event, channel="lobby", now=NOW, size=90)
    if expected is None:
        assert row is None
        return
    assert row is not None
    assert (row.channel, row.ts_ms, row.mono_us) == ("lobby", START, 5_000_000)
    assert {name: getattr(row, name) for name in expected} == expected


def test_no_event_of_the_engine_is_forgotten_here() -> None:
    assert {type(event) for event, _ in EVENTS} == set(typing.get_args(ev.Event))


class Journaling(Group):
    """A group in which one node writes a journal, as the driver of an engine does."""

    def __init__(self, store: Store) -> None:
        self.told: list[JournalRow] = []
        self.on_air = 0
        self._store = store
        super().__init__("a", "b", "c", config=LIVELY)

    def collect(self, name: str) -> Ready:
        ready = super().collect(name)
        if name == "a":
            rows = journal_of("lobby", ready, self.now)
            self._store.commit([("lobby", ready.writes)], rows)
            self.told += rows
            self.on_air += len(ready.packets)
        return ready


def test_what_an_engine_did_can_be_read_from_its_journal(tmp_path: Path) -> None:
    """Three engines that lose every third packet."""
    settings = JournalSettings("a", "boot 1", checkpoint_every=10)
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=settings) as store:
        group = Journaling(store)
        lost = cycle([True, True, False])
        group.passes = lambda flight: next(lost)
        for step in range(40):
            group.send("abc"[step % 3], f"message {step}")
            group.tick(500)
        group.passes = lambda flight: False  # no packet arrives, so that the last message is sent again
        group.send("a", "unheard")
        group.tick(20_000)
        group.passes = lambda flight: next(lost)
        group.tick(60_000)
        with Store.open_read_only(store.path, CODEC) as reader:
            saved = [row for row in reader.journal() if row.event != "checkpoint"]
            checkpoints = [row for row in reader.journal("lobby") if row.event == "checkpoint"]
            log = [message.key for message in reader.messages("lobby")]
    assert [row._replace(node="", boot="", seq=0) for row in saved] == group.told
    sent = [row for row in group.told if row.event == "sent"]
    assert len(sent) == group.on_air
    assert {"message", "sync", "resend"} <= {row.cause for row in sent}
    whole = [row for row in sent if row.payload_bytes is not None]
    assert whole
    assert all(row.bytes == (row.payload_bytes or 0) + (row.overhead_bytes or 0) for row in whole)
    assert any((row.attempt or 0) > 1 for row in sent)
    delivered = [(row.lamport or 0, row.message_id or "") for row in group.told if row.event == "delivered"]
    assert sorted(delivered) == log
    assert len(log) == 41
    # After the commit in which the tenth came; a commit may bring several.
    assert [(row.messages or 0) // 10 for row in checkpoints] == [1, 2, 3, 4]
    for row in checkpoints:
        assert row.messages is not None
        assert row.fingerprint == fingerprint_of(delivered[: row.messages])
        assert row.lamport == max(lamport for lamport, _ in delivered[: row.messages])


def _rows(count: int, at: int = START) -> list[JournalRow]:
    return [JournalRow("duplicate", "lobby", at + step, step, f"m{step}") for step in range(count)]


def test_numbers_have_no_gap_within_a_boot(tmp_path: Path) -> None:
    path = tmp_path / "p" / "sdschat.db"
    for boot in ("one", "two"):
        with Store.open(path, CODEC, journal=JournalSettings("me", boot)) as store:
            store.commit([], _rows(3))
            with pytest.raises(LookupError), store.transaction() as transaction:  # noqa: PT012
                transaction.journal(_rows(5))
                transaction.index_text("lobby", "not there", "", "", "", 0)
            store.commit([], _rows(2))
    with Store.open_read_only(path, CODEC) as reader:
        found = [(row.node, row.boot, row.seq) for row in reader.journal()]
        assert [row.channel for row in reader.journal("lobby")] == ["lobby"] * 10
        assert list(reader.journal("nowhere")) == []
    assert found == [("me", boot, seq) for boot in ("one", "two") for seq in range(1, 6)]


def test_old_rows_go_a_few_at_a_time(tmp_path: Path) -> None:
    day = 24 * 3600 * 1000
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=JournalSettings(keep_ms=30 * day)) as store:
        store.commit([], _rows(100))
        store.commit([], _rows(1, START + 29 * day))
        with Store.open_read_only(store.path, CODEC) as reader:
            assert len(list(reader.journal())) == 101
            for commits in range(1, 11):
                store.commit([], _rows(10, START + 31 * day))
                assert len(list(reader.journal())) == max(101 + 10 * commits - 20 * commits, 1 + 10 * commits)


def test_the_number_of_rows_is_bounded_over_restarts(tmp_path: Path) -> None:
    settings = JournalSettings(max_rows=50)
    for number in range(1, 6):
        with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=settings) as store:
            for _ in range(4):
                store.commit([], _rows(10))
            with Store.open_read_only(store.path, CODEC) as reader:
                assert len(list(reader.journal())) == min(50, 40 * number)
    assert len(settings) == 5


def test_the_newest_events_since_a_moment_are_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=JournalSettings()) as store:
        store.commit([], _rows(10))
        store.commit([], [row._replace(channel="kitchen") for row in _rows(10, START + 10)])
        store.commit([], _rows(10, START + 20))
        with Store.open_read_only(store.path, CODEC) as reader:
            times = {
                limit: [row.ts_ms - START for row in reader.journal_since("lobby", START + 5, limit)]
                for limit in (3, 15, 100)
            }
            assert reader.journal_since("nowhere", 0, 9) == []
    assert times == {3: [27, 28, 29], 15: [*range(5, 10), *range(20, 30)], 100: [*range(5, 10), *range(20, 30)]}


def test_events_of_a_minute_may_have_been_saved_in_another_order(tmp_path: Path) -> None:
    day = 24 * 3600 * 1000
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=JournalSettings()) as store:
        store.commit([], _rows(1, START + 2 * day))  # saved long before: a clock was set back
        store.commit([], _rows(1, START - day))
        store.commit([], _rows(1, START))
        store.commit([], _rows(1, START - 60_000))
        store.commit([], _rows(1, START + 1))
        with Store.open_read_only(store.path, CODEC) as reader:
            times = [row.ts_ms - START for row in reader.journal_since("lobby", START, 9)]
    assert times == [0, 1]


def test_rejections_are_counted_by_reason_for_good(tmp_path: Path) -> None:
    path = tmp_path / "p" / "sdschat.db"
    reasons = ("no_kind", "too_large", "no_kind")
    refused = [JournalRow("rejected", "lobby", START, 0, cause=reason) for reason in reasons]
    for _ in range(3):
        with Store.open(path, CODEC) as store:
            store.commit([], refused)
            store.commit([], [refused[0]._replace(channel="kitchen")])
    with Store.open_read_only(path, CODEC) as reader:
        assert reader.rejections() == {"kitchen": {"no_kind": 3}, "lobby": {"no_kind": 6, "too_large": 3}}
        assert reader.rejections("kitchen") == {"kitchen": {"no_kind": 3}}


def test_rejections_of_a_transaction_that_failed_are_not_counted(tmp_path: Path) -> None:
    refused = JournalRow("rejected", "lobby", START, 0, cause="no_kind")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit([], [refused])
        with pytest.raises(LookupError), store.transaction() as transaction:  # noqa: PT012
            transaction.journal([refused._replace(cause="too_large"), refused])
            transaction.index_text("lobby", "not there", "", "", "", 0)
        store.commit([], [refused])
        with Store.open_read_only(store.path, CODEC) as reader:
            assert reader.rejections() == {"lobby": {"no_kind": 2}}


@contextmanager
def refused_by_the_disk(store: Store, what: int, name: str) -> Iterator[None]:
    """Let one kind of statement fail."""
    store.connection.set_authorizer(
        lambda action, one, *more: sqlite3.SQLITE_DENY if (action, one) == (what, name) else sqlite3.SQLITE_OK
    )
    with pytest.raises(StoreError):
        yield
    store.connection.set_authorizer(None)


def test_rejections_of_a_commit_that_failed_are_not_counted_with_the_next_one(tmp_path: Path) -> None:
    """They were, where something without rejections was saved before the same was tried again."""
    refused = JournalRow("rejected", "lobby", START, 0, cause="no_kind")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        with refused_by_the_disk(store, sqlite3.SQLITE_TRANSACTION, "COMMIT"):
            store.commit([], [refused])
        with store.transaction() as transaction:
            transaction.set_draft("lobby", "half a", START)
        store.commit([], [refused])
        with Store.open_read_only(store.path, CODEC) as reader:
            assert reader.rejections() == {"lobby": {"no_kind": 1}}


def test_a_journal_that_cannot_be_trimmed_keeps_nobody_from_saving(tmp_path: Path) -> None:
    """The transaction stayed open, so that the next one could not begin: the database was called damaged."""
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit([], _rows(20))
        with refused_by_the_disk(store, sqlite3.SQLITE_DELETE, "journal"):
            store.trim_journal(5, 10)
        store.commit([], _rows(1))
        assert store.trim_journal(5, 100) == 16


def test_json_lines_hold_every_column(tmp_path: Path) -> None:
    talk = Talk()
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC, journal=JournalSettings("me", "b1")) as store:
        writes, rows, texts = talk.step()
        store.commit([("lobby", writes)], rows, texts)
        with Store.open_read_only(store.path, CODEC) as reader:
            line = json.loads(next(json_lines(reader.journal())))
    assert set(line) == set(JournalRow._fields)
    assert list(line)[:4] == ["v", "node", "boot", "seq"]
    assert (line["v"], line["node"], line["boot"], line["seq"], line["event"]) == (1, "me", "b1", 1, "delivered")
    assert line["deps"] == []
