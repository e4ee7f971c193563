"""Messages of strangers that are kept in full, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.store import senders
from sdschat.store.packets import ChannelLog
from sdschat.store.senders import bodies_of_strangers, count_strangers, keep_as_ids, log_bounds, strangers
from sdschat.store.store import Store
from tests.store.samples import CODEC, START, Talk

COUNT = 50
STRANGER = 16
STRANGERS = ("anna", "bert")


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Store, list[str]]]:
    """A store with a log of four, of whom two are strangers, and the ids of their messages in order of arrival."""
    talk = Talk()
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for _ in range(COUNT):
            store.commit([("lobby", talk.step(with_buffers=False)[0])])
        with store.transaction() as transaction:
            for at, name in enumerate(STRANGERS):
                transaction.put_standing(name, STRANGER | 32 * at, START + at)
            transaction.put_standing("carl", 1, START)
        yield store, [one.message_id for one in talk.messages if one.sender_id in STRANGERS]


def _all(store: Store, most: int) -> list[str]:
    after, end = log_bounds(store, "lobby")
    found: list[str] = []
    while after < end:
        page = bodies_of_strangers(store, after, end, most)
        assert len(page.bodies) <= most
        assert page.place > after
        found += [body.entry.message_id for body in page.bodies]
        after = page.place
    return found


@pytest.mark.parametrize("places", [3, 5_000])
@pytest.mark.parametrize("most", [1, 4, COUNT])
def test_pages_have_each_message_of_a_stranger_once(
    filled: tuple[Store, list[str]], monkeypatch: pytest.MonkeyPatch, places: int, most: int
) -> None:
    store, ids = filled
    monkeypatch.setattr(senders, "_PLACES", places)
    assert _all(store, most) == ids


def test_a_page_looks_no_further_than_its_places(
    filled: tuple[Store, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = filled
    monkeypatch.setattr(senders, "_PLACES", 10)
    after, end = log_bounds(store, "lobby")
    assert end - after >= COUNT
    assert bodies_of_strangers(store, after, end, COUNT).place == after + 10
    assert bodies_of_strangers(store, end - 4, end, COUNT).place == end


def test_a_page_says_how_large_each_packet_is(filled: tuple[Store, list[str]]) -> None:
    store, _ = filled
    page = bodies_of_strangers(store, *log_bounds(store, "lobby"), COUNT)
    log = ChannelLog(store, "lobby")
    for body in page.bodies:
        stored = log.message(body.entry.message_id)
        assert stored is not None
        assert body.size == len(stored.raw)
        assert not body.row.own


def test_a_message_that_is_kept_as_an_id_has_no_packet_and_stays_in_the_log(filled: tuple[Store, list[str]]) -> None:
    store, ids = filled
    page = bodies_of_strangers(store, *log_bounds(store, "lobby"), 5)
    with store.transaction() as transaction:
        keep_as_ids(transaction, "lobby", page.bodies)
    gone = [body.entry.message_id for body in page.bodies]
    assert gone == ids[:5]
    assert _all(store, COUNT) == ids[5:]
    log = ChannelLog(store, "lobby")
    for body in page.bodies:
        stored = log.message(body.entry.message_id)
        assert stored is not None
        assert (stored.raw, stored.sender_id) == (b"", body.entry.sender_id)
        assert (stored.key.lamport, stored.key.message_id) == (body.entry.lamport, body.entry.message_id)
    assert store.messages("lobby") == COUNT


def test_an_altered_row_is_left_out(filled: tuple[Store, list[str]]) -> None:
    store, ids = filled
    store.connection.execute("UPDATE log SET received_at = 1 WHERE message_id = ?", (ids[2],))
    assert _all(store, COUNT) == ids[:2] + ids[3:]


def test_strangers_are_counted_and_named_with_their_time(filled: tuple[Store, list[str]]) -> None:
    store, _ = filled
    assert count_strangers(store) == 2
    assert sorted(strangers(store)) == [("anna", START), ("bert", START + 1)]
    assert log_bounds(store, "nowhere") == (0, 0)
