"""Pages of a log with packets: for a Store node that serves, for nodes that catch up, for scroll bars."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.catchup.values import LogKey
from sdschat.sds.values import TOLD, Append, Entry, LogRow
from sdschat.store import archive
from sdschat.store.archive import ArchiveRange, LogArchive
from sdschat.store.packets import ChannelLog
from sdschat.store.positions import Positions
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from tests.store.samples import CODEC, START, Talk

COUNT = 60
DROPPED = 20
EVERYTHING = (LogKey(0, ""), LogKey(2**62, ""))
Key = tuple[int, str]


def _fill(path: Path) -> tuple[Store, list[Key]]:
    """Return a store with a log, of which every key is returned, and a second channel."""
    store, lobby, attic = Store.open(path, CODEC), Talk(), Talk("attic", 2)
    for _ in range(COUNT):
        store.commit([(talk.channel, talk.step(with_buffers=False)[0]) for talk in (lobby, attic)])
    return store, sorted((message.lamport_timestamp or 0, message.message_id) for message in lobby.messages)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Key]]]:
    store, keys = _fill(tmp_path_factory.mktemp("pages") / "p" / "sdschat.db")
    with store:
        yield store, keys


@pytest.fixture
def emptied(tmp_path: Path) -> Iterator[tuple[Store, list[Key], set[str]]]:
    """A store that dropped its oldest packets, all keys, and the ids of those without a packet."""
    store, keys = _fill(tmp_path / "p" / "sdschat.db")
    with store:
        drop_oldest(store, "lobby", keys[DROPPED][0], COUNT, START)
        log = ChannelLog(store, "lobby")
        yield store, keys, {one for _, one in keys if (found := log.message(one)) is None or not found.raw}


def _range(keys: list[Key], limit: int, **other: object) -> ArchiveRange:
    given = ArchiveRange(keys[0][0], keys[-1][0], None, False, limit, 1 << 30)
    return given._replace(**other)  # type: ignore[arg-type]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 7, COUNT, COUNT + 1])
def test_pages_one_after_the_other_are_the_log(filled: tuple[Store, list[Key]], limit: int, newest_first: bool) -> None:
    store, keys = filled
    served, found, more = LogArchive(store), list[Key](), True
    after: Key | None = None
    while more:
        page, more = served.page("lobby", _range(keys, limit, newest_first=newest_first, after=after))
        assert len(page) == limit or not more
        found += [(one.lamport, one.message_id) for one in page]
        after = found[-1]
    assert found == sorted(keys, reverse=newest_first)


def test_a_page_ends_at_its_dates(filled: tuple[Store, list[Key]]) -> None:
    store, keys = filled
    low, high = keys[10][0], keys[20][0]
    page, more = LogArchive(store).page("lobby", _range(keys, COUNT, low=low, high=high))
    assert [one.message_id for one in page] == [name for lamport, name in keys if low <= lamport <= high]
    assert not more


def test_a_page_ends_where_its_packets_take_too_much(filled: tuple[Store, list[Key]]) -> None:
    store, keys = filled
    archive = LogArchive(store)
    every, _ = archive.page("lobby", _range(keys, COUNT))
    two = len(every[0].raw) + len(every[1].raw)
    for most, count in ((1, 1), (two - 1, 1), (two, 2), (two + len(every[2].raw), 3)):
        page, more = archive.page("lobby", _range(keys, COUNT, max_bytes=most))
        assert ([one.message_id for one in page], more) == ([one.message_id for one in every[:count]], True)


@pytest.mark.parametrize("query", [archive._UP, archive._DOWN])
def test_a_page_enters_the_log_by_an_index(filled: tuple[Store, list[Key]], query: str) -> None:
    store, _ = filled
    rows = store.connection.execute(f"EXPLAIN QUERY PLAN {query}", (1, 0, 1, 0, "")).fetchall()
    steps = "; ".join(row[3] for row in rows)
    assert "SCAN" not in steps
    assert "TEMP B-TREE" not in steps
    assert "lamport>? AND lamport<?" in steps


def test_a_message_is_found_by_its_id_and_by_its_place(filled: tuple[Store, list[Key]]) -> None:
    store, keys = filled
    archive = LogArchive(store)
    found = archive.by_id("lobby", keys[5][1])
    assert found is not None
    assert (found.lamport, found.message_id) == keys[5]
    assert CODEC.decode(found.raw).message_id == keys[5][1]
    assert archive.place_of("lobby", keys[5][1]) == found.place
    assert archive.at("lobby", found.place) == found
    assert archive.at("attic", found.place) is None
    for channel in ("attic", "nowhere"):
        assert archive.by_id(channel, keys[5][1]) is None
        assert archive.place_of(channel, keys[5][1]) is None
    assert archive.page("nowhere", _range(keys, 1)) == ([], False)


def test_a_packet_that_the_disk_altered_is_not_served(tmp_path: Path) -> None:
    store, keys = _fill(tmp_path / "p" / "sdschat.db")
    with store:
        archive, log, name = LogArchive(store), ChannelLog(store, "lobby"), keys[3][1]
        place = archive.place_of("lobby", name)
        store.connection.execute("UPDATE body SET raw = x'00' WHERE place = ?", (place,))
        assert archive.by_id("lobby", name) is None
        page, _ = archive.page("lobby", _range(keys, COUNT))
        assert [one.message_id for one in page] == [one for _, one in keys if one != name]
        served = log.stored(*EVERYTHING, False, COUNT, 1 << 30)
        assert [one.key for one in served if not one.raw] == [LogKey(*keys[3])]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 9, COUNT, COUNT + 1])
def test_what_is_stored_comes_in_the_order_that_is_wanted(
    filled: tuple[Store, list[Key]], newest_first: bool, limit: int
) -> None:
    store, keys = filled
    log = ChannelLog(store, "lobby")
    found = log.stored(*EVERYTHING, newest_first, limit, 1 << 30)
    assert [tuple(one.key) for one in found] == sorted(keys, reverse=newest_first)[:limit]
    assert all(CODEC.decode(one.raw).message_id == one.key.message_id for one in found)
    low, high = LogKey(*keys[8]), LogKey(*keys[30])
    part = log.stored(low, high, newest_first, limit, 1 << 30)
    assert [tuple(one.key) for one in part] == sorted(keys[8:30], reverse=newest_first)[:limit]


def test_what_is_stored_ends_with_the_packet_that_uses_up_the_bytes(filled: tuple[Store, list[Key]]) -> None:
    store, _ = filled
    log = ChannelLog(store, "lobby")
    every = log.stored(*EVERYTHING, False, COUNT, 1 << 30)
    two = len(every[0].raw) + len(every[1].raw)
    for most, count in ((1, 1), (two, 2), (two + 1, 3)):
        assert log.stored(*EVERYTHING, False, COUNT, most) == every[:count]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, DROPPED, DROPPED + 3, COUNT])
def test_a_message_whose_packet_was_dropped_is_no_more_than_its_id(
    emptied: tuple[Store, list[Key], set[str]], newest_first: bool, limit: int
) -> None:
    store, keys, bare = emptied
    assert 0 < len(bare) <= DROPPED
    archive, log = LogArchive(store), ChannelLog(store, "lobby")
    kept = [key for key in sorted(keys, reverse=newest_first) if key[1] not in bare]
    found = log.stored(*EVERYTHING, newest_first, limit, 1 << 30)
    assert [tuple(one.key) for one in found if one.raw][: len(found)] == kept[: len([one for one in found if one.raw])]
    assert all(one.key.message_id not in bare or not one.raw for one in found)
    page, _ = archive.page("lobby", _range(keys, limit, newest_first=newest_first))
    assert [one.message_id for one in page] == [name for _, name in kept[:limit]]
    assert all(archive.place_of("lobby", name) is None for name in bare)


def test_a_log_says_its_keys_and_no_message_of_another_channel(filled: tuple[Store, list[Key]]) -> None:
    store, keys = filled
    log, other, none = ChannelLog(store, "lobby"), ChannelLog(store, "attic"), ChannelLog(store, "nowhere")
    assert log.keys(*EVERYTHING, COUNT + 1) == keys
    assert log.keys(LogKey(*keys[3]), LogKey(*keys[7]), 2) == keys[3:5]
    assert log.cut(*EVERYTHING, 3) == store.log("lobby").cut(*EVERYTHING, 3) != []
    assert other.message(keys[0][1]) is None
    assert none.message(keys[0][1]) is None
    assert none.stored(*EVERYTHING, False, COUNT, 1 << 30) == []
    found = log.message(keys[0][1])
    assert found is not None
    assert tuple(found.key) == keys[0]


def test_a_position_is_that_in_the_log_whenever_a_message_came(filled: tuple[Store, list[Key]]) -> None:
    store, keys = filled
    with Store.open_read_only(store.path, CODEC) as reader:
        positions = Positions(reader)
        assert positions.count("lobby") == COUNT
        assert positions.count("nowhere") == 0
        assert [positions.rank("lobby", name) for _, name in keys] == list(range(1, COUNT + 1))
        assert positions.rank("lobby", "no such id") == 0
        assert [positions.at_rank("lobby", rank) for rank in range(1, COUNT + 1)] == keys
        assert positions.at_rank("lobby", 0) == keys[0]
        assert positions.at_rank("lobby", COUNT + 1) is None
        assert positions.dated("lobby", keys[4][0]) == keys[4]
        assert positions.dated("lobby", keys[4][0] + 1) == keys[5]
        assert positions.dated("lobby", keys[-1][0] + 1) is None
        assert positions.dated("nowhere", 0) is None


def test_what_was_dropped_counts_as_the_oldest(emptied: tuple[Store, list[Key], set[str]]) -> None:
    """It was left out of positions, and not of the number: the scroll bar led nowhere in its lower part."""
    store, keys, dropped = emptied
    kept = [key for key in keys if key[1] not in dropped]
    assert 0 < len(kept) < COUNT
    with Store.open_read_only(store.path, CODEC) as reader:
        positions = Positions(reader)
        assert positions.count("lobby") == COUNT
        ranks = [positions.rank("lobby", name) for _, name in kept]
        assert ranks == list(range(len(dropped) + 1, COUNT + 1))
        assert [positions.at_rank("lobby", rank) for rank in ranks] == kept
        assert positions.at_rank("lobby", 1) == kept[0]


@pytest.mark.parametrize("counted", [0, COUNT])
def test_only_a_long_log_has_estimates_of_positions_by_the_order_of_arrival(tmp_path: Path, counted: int) -> None:
    """A newcomer has the newest messages first, and fetches the older ones."""
    talk = Talk()
    steps = [talk.step(with_buffers=False)[0] for _ in range(COUNT)]
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for step in steps[COUNT // 2 :] + steps[: COUNT // 2]:
            store.commit([("lobby", step)])
        keys = sorted((message.lamport_timestamp or 0, message.message_id) for message in talk.messages)
        ordered = keys if counted else keys[COUNT // 2 :] + keys[: COUNT // 2]
        with Store.open_read_only(store.path, CODEC) as reader:
            positions = Positions(reader, counted)
            assert [positions.rank("lobby", name) for _, name in ordered] == list(range(1, COUNT + 1))
            assert [positions.at_rank("lobby", rank) for rank in range(1, COUNT + 1)] == ordered


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 5, 100])
def test_what_is_kept_as_ids_is_stored_in_its_place(tmp_path: Path, newest_first: bool, limit: int) -> None:
    store, keys = _fill(tmp_path / "p" / "sdschat.db")
    told = [(lamport + 1, f"{place:064x}") for place, (lamport, _) in enumerate(keys[::3])]
    with store:
        rows = [Append(LogRow(Entry(*key, "eve", (), TOLD), b"", False, "sync", START)) for key in told]
        store.commit([("lobby", rows)])
        found = ChannelLog(store, "lobby").stored(*EVERYTHING, newest_first, limit, 1 << 30)
    assert [tuple(one.key) for one in found] == sorted([*keys, *told], reverse=newest_first)[:limit]
    assert {tuple(one.key) for one in found if not one.raw} == {tuple(one.key) for one in found} & set(told)
