"""Letting go of old packets: oldest first, never an id or a message of our own, and nothing looks damaged for it."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from sdschat.catchup.values import HIGHEST, LOWEST, LogKey, summarise
from sdschat.sds.values import Append, HistoryEntry, Put, Table, Write
from sdschat.store import dropped_packets
from sdschat.store.archive import ArchiveRange, LogArchive
from sdschat.store.dropped_packets import BYTES_EACH
from sdschat.store.reader import Reader
from sdschat.store.retention import (
    compact,
    drop_oldest,
    forget_oldest,
    give_back,
    make_compact,
    merge_search,
    space,
)
from sdschat.store.retention_floor import RetentionFloor, floor_name, floor_of
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from tests.store.samples import CODEC, START, log_row, packet_of, state_row

EVERYTHING = ArchiveRange(0, 2**43, None, False, 1000, 10**9)


def _say(store: Store, number: int, text: str = "", own: bool = False) -> str:
    message = packet_of("lobby", "me" if own else "ann", START + number, text or f"number {number}")
    writes: list[Write] = [Append(log_row(message, own=own)), Put(Table.CHANNEL, "", state_row(START + number))]
    said = IndexedText("lobby", message.message_id, "Ann", text or f"number {number}", "known", START)
    store.commit([("lobby", writes)], (), [said])
    return message.message_id


def _words(number: int) -> str:
    return f"{number} {sha256(b'%d' % number).hexdigest() * 3}"


def _open(folder: Path) -> Store:
    return Store.open(folder / "p" / "sdschat.db", CODEC)


def _kept(store: Store) -> list[int]:
    return [kept.lamport - START for kept in LogArchive(store).page("lobby", EVERYTHING)[0]]


def test_the_oldest_packets_go_and_their_ids_stay(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        ids = [_say(store, number) for number in range(10)]
        assert drop_oldest(store, "lobby", START + 4, 100, 7) == RetentionFloor(START + 4, 4, 7)
        assert _kept(store) == [4, 5, 6, 7, 8, 9]
        history = store.channel("lobby").history
        assert all(history.entry(message_id) is not None for message_id in ids)
        assert history.row(ids[0]) is None


def test_an_id_that_is_no_digest_stays_in_the_log_and_holds_up_no_other(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        message = packet_of("lobby", "ann", START, "of another program")
        message.message_id = "no digest"
        store.commit([("lobby", [Append(log_row(message)), Put(Table.CHANNEL, "", state_row(START))])])
        ids = [_say(store, number) for number in range(1, 6)]
        drop_oldest(store, "lobby", START + 4, 100, 7)
        number = store.number("lobby")
        assert number is not None
        past = [name for _, name in dropped_packets.keys(store.connection, number, 0, START + 9)]
        assert past == ids[:3]
        history = store.channel("lobby").history
        assert all(history.entry(message_id) is not None for message_id in ("no digest", *ids))


def test_no_more_go_at_once_than_asked_for(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(10):
            _say(store, number)
        assert drop_oldest(store, "lobby", START + 9, 3, 0).packets == 3
        assert drop_oldest(store, "lobby", START + 9, 3, 0).packets == 6
        assert _kept(store) == [6, 7, 8, 9]


def test_many_messages_of_one_millisecond_do_not_stop_it(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(5):
            _say(store, 1, f"text {number}")
        _say(store, 2)
        dropped = [drop_oldest(store, "lobby", START + 9, 2, 0).packets for _ in range(4)]
        assert _kept(store) == []
        assert dropped == [0, 5, 6, 6], "those of one millisecond go together, and nothing with them"


def test_what_is_said_after_everything_was_dropped_is_kept(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(3):
            _say(store, number)
        assert drop_oldest(store, "lobby", 2**43, 100, 0) == RetentionFloor(START + 3, 3, 0)
        _say(store, 3)
        assert _kept(store) == [3]
        assert drop_oldest(store, "lobby", START + 3, 100, 0).packets == 3


def test_own_messages_stay(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(4):
            _say(store, number, own=number == 1)
        assert drop_oldest(store, "lobby", START + 3, 100, 0).packets == 3 - 1
        assert _kept(store) == [1, 3]


def test_what_comes_in_below_the_floor_later_goes_too(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(5, 9):
            _say(store, number)
        drop_oldest(store, "lobby", START + 7, 100, 0)
        late = _say(store, 2)
        assert _kept(store) == [2, 7, 8]
        assert drop_oldest(store, "lobby", START + 7, 100, 0, (late,)).packets == 3
        assert _kept(store) == [7, 8]


def test_texts_go_with_their_packets_and_are_not_found_any_more(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _say(store, 1, "a secret of old")
        _say(store, 2, "a secret of late")
        drop_oldest(store, "lobby", START + 2, 100, 0)
        with Reader.open(store.path, CODEC) as reader:
            assert [found.lamport - START for found in reader.messages("lobby", search="secret")] == [2]
            assert [found.lamport - START for found in reader.messages("lobby")] == [2]


@pytest.mark.parametrize("thorough", [False, True])
def test_a_database_with_dropped_packets_opens_without_losses(tmp_path: Path, thorough: bool) -> None:
    with _open(tmp_path) as store:
        ids = [_say(store, number) for number in range(6)]
        drop_oldest(store, "lobby", START + 3, 100, 0)
        path = store.path
    with Store.open(path, CODEC, thorough=thorough) as store:
        assert store.losses == []
        assert all(store.channel("lobby").history.entry(message_id) is not None for message_id in ids)
        assert _kept(store) == [3, 4, 5]


def test_a_packet_that_is_gone_above_the_floor_is_a_loss(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(6):
            _say(store, number)
        drop_oldest(store, "lobby", START + 3, 100, 0)
        store.connection.execute("DELETE FROM body WHERE place = (SELECT max(place) FROM body)")
        path = store.path
    with Store.open(path, CODEC) as store:
        assert [loss.what for loss in store.losses] == ["a message was altered: to be fetched again"]


def test_a_new_database_gives_its_empty_pages_back(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(300):
            _say(store, number, "long " * 500)
        full = space(store.connection)
        drop_oldest(store, "lobby", START + 290, 1000, 0)
        assert space(store.connection).used < full.used / 2
        while give_back(store, 50):
            pass
        assert space(store.connection).file < full.file / 2


def _as_before(store: Store) -> None:
    """Make a database like those of versions that did not give pages back."""
    store.connection.execute("PRAGMA auto_vacuum = NONE")
    store.connection.execute("VACUUM")


def test_every_new_database_gives_pages_back_from_its_first_message_on(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _say(store, 0)
        assert space(store.connection).shrinks


def test_an_old_database_is_compacted_as_a_whole(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _as_before(store)
        for number in range(100):
            _say(store, number, "long " * 500)
        assert not space(store.connection).shrinks
        drop_oldest(store, "lobby", START + 99, 1000, 0)
        before = space(store.connection)
        compact(store)
        after = space(store.connection)
        assert after.shrinks
        assert after.file < before.file / 2
        assert _kept(store) == [99]


def _many(store: Store, count: int, first: int = 0) -> None:
    writes: list[Write] = []
    for number in range(first, first + count):
        message = packet_of("lobby", f"{number % 9:032x}", START + number, f"number {number}")
        ids = [sha256(b"%d" % other).hexdigest() for other in (number, number - 1, number - 3)]
        named = replace(message, message_id=ids[0], causal_history=tuple(map(HistoryEntry, ids[1:])))
        writes.append(Append(log_row(named)))
    store.commit([("lobby", [*writes, Put(Table.CHANNEL, "", state_row(START + first + count))])])


def _drop_all(store: Store, before: int) -> None:
    while drop_oldest(store, "lobby", before, 500, 0).lamport < before:
        pass


def test_an_id_without_its_packet_takes_at_most_160_bytes(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _many(store, 20)
        empty = space(store.connection).used
        _many(store, 20_000, 20)
        _drop_all(store, START + 20_000)
        each = (space(store.connection).used - empty) / 20_000
        assert BYTES_EACH * 0.8 < each < 160


def test_what_the_engine_and_comparisons_see_is_the_same_after_dropping(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _many(store, 700)

        def seen() -> list[object]:
            history, log = store.channel("lobby").history, store.log("lobby")
            entries = [
                *history.newest(300),
                *history.before(START + 200, 50),
                *history.between(START + 80, START + 130, 20),
            ]
            keys = [log.keys(LogKey(START + 90, ""), HIGHEST, limit) for limit in (-1, 30)]
            sums = [log.summary(LogKey(START + low, ""), HIGHEST) for low in (0, 77, 300)]
            return [[one[:4] for one in entries], *keys, *sums]

        before = seen()
        _drop_all(store, START + 450)
        assert seen() == before
        path = store.path
    with Store.open(path, CODEC, thorough=True) as store:
        assert store.losses == []
        assert seen() == before
        store.connection.execute("DELETE FROM range_bucket")
    with Store.open(path, CODEC) as store:
        assert seen() == before


def test_deleted_texts_leave_the_search_index(tmp_path: Path) -> None:
    with _open(tmp_path) as store:

        def size() -> int:
            return int(store.connection.execute("SELECT sum(length(block)) FROM search_data").fetchone()[0])

        for number in range(100):
            _say(store, number, _words(number))
        small = size()
        for number in range(100, 620):
            _say(store, number, _words(number))
            if number % 100 == 99:
                drop_oldest(store, "lobby", START + number - 99, 1000, 0)
        assert size() > 4 * small
        while merge_search(store, 64):
            pass
        assert size() < 2 * small
        with Reader.open(store.path, CODEC) as reader:
            assert [found.lamport - START for found in reader.messages("lobby", search=_words(600).split()[1])] == [600]
            assert not list(reader.messages("lobby", search=_words(10).split()[1]))


def test_ids_of_packets_that_an_earlier_version_dropped_are_made_compact(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _many(store, 500)
        dropped = "(SELECT place FROM log WHERE lamport < ?)"
        store.connection.execute(f"DELETE FROM body WHERE place IN {dropped}", (START + 400,))
        with store.transaction() as transaction:
            transaction.set_value(floor_name("lobby"), json.dumps([START + 400, 400, 0]).encode())
        history = store.channel("lobby").history
        before = [one[:4] for one in history.between(START, START + 500, 500)]
        while make_compact(store, "lobby", 150):
            pass
        assert store.connection.execute("SELECT count(*) FROM past").fetchone()[0] == 400
        assert [one[:4] for one in history.between(START, START + 500, 500)] == before


def test_the_oldest_ids_go_and_the_log_begins_later(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        _many(store, 500)
        _drop_all(store, START + 400)
        floor = forget_oldest(store, "lobby", 150, 7)
        assert (floor.ids_from, floor.ids, floor.lamport) == (START + 150, 250, START + 400)
        assert floor_of(store, "lobby") == floor
        keys = store.log("lobby").keys(LOWEST, HIGHEST, -1)
        assert [lamport - START for lamport, _ in keys] == list(range(150, 500))
        assert store.log("lobby").summary(LOWEST, HIGHEST) == summarise(keys)
        path = store.path
    with Store.open(path, CODEC, thorough=True) as store:
        assert store.losses == []
        assert store.log("lobby").summary(LOWEST, HIGHEST) == summarise(keys)


def test_a_floor_never_moves_down(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(10):
            _say(store, number)
        floor = drop_oldest(store, "lobby", START + 6, 100, 0)
        assert drop_oldest(store, "lobby", START + 2, 100, 0) == floor
        assert drop_oldest(store, "lobby", START + 2, 100, 0, ("late",)).lamport == START + 6


def test_a_page_that_is_cut_says_that_there_is_more(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        for number in range(6):
            _say(store, number)
        for limit, more in ((3, True), (5, True), (6, False), (7, False)):
            found, goes_on = LogArchive(store).page("lobby", EVERYTHING._replace(limit=limit))
            assert (len(found), goes_on) == (min(6, limit), more)
        size = len(LogArchive(store).page("lobby", EVERYTHING)[0][0].raw)
        found, goes_on = LogArchive(store).page("lobby", EVERYTHING._replace(max_bytes=2 * size + 5))
        assert (len(found), goes_on) == (2, True)
