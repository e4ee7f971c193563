"""Reading: windows, searches, one message with its ancestors, lists of channels, state of the user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from sdschat.sds.values import AckState, Append, Drop, Evidence, GapRow, OutgoingRow, Put, Table
from sdschat.store.display_rows import UNREAD_COUNTED, Ancestor
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.store.transaction import IndexedText
from tests.fingerprints import fingerprint_of
from tests.store.samples import CODEC, START, Talk, log_row, packet_of, state_row

COUNT = 1300  # more than two windows


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk("lobby")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, talk: Talk) -> Path:
    file = tmp_path_factory.mktemp("reader") / "p" / "sdschat.db"
    other = Talk("kitchen")
    with Store.open(file, CODEC, journal=JournalSettings("me", "boot 1")) as store:
        for _ in range(COUNT // 100):
            steps = [talk.step() for _ in range(100)]
            store.commit(
                [("lobby", writes) for writes, _, _ in steps],
                [row for _, rows, _ in steps for row in rows],
                [said for _, _, texts in steps for said in texts],
            )
        for _ in range(5):
            writes, rows, texts = other.step()
            store.commit([("kitchen", writes)], rows, texts)
    return file


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    with Store.open_read_only(path, CODEC) as opened:
        yield opened


def _ids(messages: Iterator[object]) -> list[str]:
    return [message.message_id for message in messages]  # type: ignore[attr-defined]


def test_the_whole_log_comes_in_order(reader: Reader, talk: Talk) -> None:
    assert _ids(reader.messages("lobby")) == [message.message_id for message in talk.messages]
    for message in islice(reader.messages("lobby", with_raw=True), 5):
        sent = CODEC.decode(message.raw or b"")
        assert sent in talk.messages
        assert message.text == talk.texts[message.message_id]
        assert message.own == (message.sender_id == "me")
        assert (message.state is not None) == message.own
        assert (message.nick, message.verdict) == (message.sender_id.title(), "known")


@pytest.mark.parametrize("limit", [1, 3, 512, 513, COUNT, COUNT + 1])
def test_a_limit_gives_the_last_ones_and_after_a_key_the_first_ones(reader: Reader, talk: Talk, limit: int) -> None:
    every = [message.message_id for message in talk.messages]
    assert _ids(reader.messages("lobby", limit=limit)) == every[-limit:]
    middle = next(reader.messages("lobby", limit=700))
    at = every.index(middle.message_id)
    assert _ids(reader.messages("lobby", before=middle.key, limit=limit)) == every[max(0, at - limit) : at]
    assert _ids(reader.messages("lobby", after=middle.key, limit=limit)) == every[at + 1 : at + 1 + limit]
    assert list(reader.messages("lobby", limit=0)) == []


def test_dates_and_senders_narrow_it(reader: Reader, talk: Talk) -> None:
    low, high = talk.messages[10].lamport_timestamp, talk.messages[20].lamport_timestamp
    expected = [message.message_id for message in talk.messages[10:21]]
    assert _ids(reader.messages("lobby", since=low, until=high)) == expected
    found = list(reader.messages("lobby", sender_id="anna"))
    assert _ids(iter(found)) == [message.message_id for message in talk.messages if message.sender_id == "anna"]


@pytest.mark.parametrize("search", ["river stone", "RIVER", "stone rive", "lantern 12", "thunder velvet market"])
def test_a_search_finds_what_has_all_its_words(reader: Reader, talk: Talk, search: str) -> None:
    words = search.lower().split()

    def has_all(text: str) -> bool:
        there = text.split()
        return all(word in there for word in words[:-1]) and any(word.startswith(words[-1]) for word in there)

    expected = [message.message_id for message in talk.messages if has_all(talk.texts[message.message_id])]
    assert expected
    assert _ids(reader.messages("lobby", search=search)) == expected
    assert _ids(reader.messages("lobby", search=search, limit=3)) == expected[-3:]
    middle = talk.messages[600]
    key = (middle.lamport_timestamp or 0, middle.message_id)
    later = [message_id for message_id in expected if message_id in _ids(reader.messages("lobby", after=key))]
    assert _ids(reader.messages("lobby", search=search, after=key, limit=2)) == later[:2]


def test_words_of_a_long_search_count_to_the_last_one(reader: Reader, talk: Talk) -> None:
    """Those behind the sixteenth were left out, without a word."""
    text = next(iter(reader.messages("lobby", limit=1))).text
    assert text is not None
    words = text.split()
    long = " ".join(words * 20)
    assert _ids(reader.messages("lobby", search=long)) == _ids(reader.messages("lobby", search=text))
    assert _ids(reader.messages("lobby", search=f"{long} absent")) == []


@pytest.mark.parametrize(
    "search", ["'", '"', "NEAR(", "a AND", "*", "text:river", "-river", "(((", "%", "\\", "\x00", " ", "river OR", "^a"]
)
def test_nothing_a_person_types_is_an_error(reader: Reader, search: str) -> None:
    for message in reader.messages("lobby", search=search, limit=5):
        assert message.text is not None


def test_scripts_without_spaces_and_accents_are_found(tmp_path: Path) -> None:
    texts = ["今日は雨です", "Ça va bien", "สวัสดีครับ", "plain words", "C++ is a language"]
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for at, text in enumerate(texts):
            message = packet_of("lobby", "anna", START + at, text)
            said = IndexedText("lobby", message.message_id, "Anna", text, "known", START)
            store.commit([("lobby", [Append(log_row(message))])], (), [said])
        with Store.open_read_only(store.path, CODEC) as reader:
            found = {
                search: [message.text for message in reader.messages("lobby", search=search)]
                for search in ("雨", "ca va", "สวัสดี", "PLAIN", "++", "nothing of this")
            }
    assert found == {
        "雨": [texts[0]],
        "ca va": [texts[1]],
        "สวัสดี": [texts[2]],
        "PLAIN": [texts[3]],
        "++": [texts[4]],
        "nothing of this": [],
    }


def test_a_text_may_be_read_again(tmp_path: Path) -> None:
    """A text may be written again: with a key that is known by now, or after it was altered on disk."""
    message = packet_of("lobby", "anna", START, "hello")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit([("lobby", [Append(log_row(message))])])
        with Store.open_read_only(store.path, CODEC) as reader:
            assert reader.unindexed("lobby") == [message.message_id]
            for text, verdict in (("first words", "new"), ("other words", "known")):
                said = IndexedText("lobby", message.message_id, "Anna", text, verdict, START)
                store.commit([], (), [said])
                shown = next(reader.messages("lobby"))
                assert (shown.text, shown.verdict) == (text, verdict)
            assert list(reader.messages("lobby", search="first")) == []
            assert _ids(reader.messages("lobby", search="other")) == [message.message_id]
            assert reader.unindexed("lobby") == []
        store.connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")


def test_all_texts_are_read_again_however_many_were_altered(tmp_path: Path) -> None:
    """From the 1,001st on they stayed away: nothing is known to be altered at the next start."""
    packets = [packet_of("lobby", "anna", START + number, f"number {number}") for number in range(1001)]
    kept = replace(packet_of("lobby", "anna", START + 2000, "an id alone"), message_id="of another make")
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        rows = [log_row(kept, raw=b""), *map(log_row, packets)]
        store.commit([("lobby", [Append(row) for row in rows])])
        with Store.open_read_only(store.path, CODEC) as reader:
            assert reader.unindexed("lobby") == [packet.message_id for packet in packets]


def test_one_message_in_full(tmp_path: Path) -> None:
    first = packet_of("lobby", "anna", START, "first", ("gone", "known missing"))
    second = packet_of("lobby", "me", START + 1, "second", (first.message_id,))
    third = packet_of("lobby", "me", START + 2, "third", (second.message_id, first.message_id))
    proof = Evidence("anna", "mention", "p9", START, 0.0)
    row = OutgoingRow(third.message_id, START + 2, AckState.ACKED, 2, 0, (proof,))
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit(
            [
                (
                    "lobby",
                    [
                        *(Append(log_row(message, message.sender_id == "me")) for message in (first, second, third)),
                        Put(Table.OUTGOING, third.message_id, row),
                        Put(Table.GAP, "gone", GapRow("gone", "lost", None, START)),
                        Put(Table.CHANNEL, "", state_row(START)),
                    ],
                )
            ]
        )
        with Store.open_read_only(store.path, CODEC) as reader:
            detail = reader.message("lobby", third.message_id)
            assert detail is not None
            assert detail.message.raw == CODEC.encode(third)
            assert detail.outgoing == row
            assert [(ancestor.message_id, ancestor.status, ancestor.depth) for ancestor in detail.ancestors] == [
                (second.message_id, "delivered", 1),
                (first.message_id, "delivered", 1),
                ("gone", "lost", 2),
                ("known missing", "unknown", 2),
            ]
            assert not detail.truncated
            few = reader.message("lobby", third.message_id, ancestors=2)
            assert few is not None
            assert few.truncated
            assert len(few.ancestors) == 2
            assert reader.message("lobby", "nothing") is None
            assert reader.message("nowhere", third.message_id) is None
            assert reader.find_ids("lobby", third.message_id[:8]) == [third.message_id]
            assert len(reader.find_ids("lobby", "")) == 3


def test_channels_at_a_glance(reader: Reader, talk: Talk) -> None:
    kitchen, lobby = reader.channels()
    assert (kitchen.channel, kitchen.messages, lobby.channel, lobby.messages) == ("kitchen", 5, "lobby", COUNT)
    assert lobby.newest == talk.messages[-1].lamport_timestamp
    assert lobby.fingerprint == fingerprint_of((m.lamport_timestamp or 0, m.message_id) for m in talk.messages)
    snapshot, losses = reader.snapshot("lobby")
    assert snapshot is not None
    assert losses == []
    assert (lobby.held, lobby.missing, lobby.peers) == (
        len(snapshot.incoming),
        len(snapshot.missing),
        len(snapshot.peers),
    )
    assert lobby.lost == len(snapshot.gaps)
    assert lobby.open_outgoing == sum(1 for row in snapshot.outgoing if row.state < 2)
    assert reader.snapshot("nowhere") == (None, [])


def test_drafts_marks_keys_and_values_are_kept(tmp_path: Path) -> None:
    talk = Talk()
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for _ in range(5):
            store.commit([("lobby", talk.step()[0])])
        with store.transaction() as transaction:
            transaction.set_draft("lobby", "half a sent", 7)
            transaction.set_read_mark("lobby", 5, "m5", 9)
            transaction.put_key(b"k" * 32, "Anna", 3)
            transaction.put_nick("anna", "Anna", b"k" * 32, 3)
            transaction.set_value("secret", b"\x00\x01")
        others = 0
        for _ in range(6):
            store.commit([("lobby", talk.step()[0])])
            others += talk.messages[-1].sender_id != "me"
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        assert store.draft("lobby") == "half a sent"
        assert store.draft("nowhere") == ""
        mark = store.read_mark("lobby")
        assert mark is not None
        assert (mark.lamport, mark.message_id, mark.at) == (5, "m5", 9)
        assert store.read_mark("nowhere") is None
        assert store.unread("lobby") == others
        assert store.unread("nowhere") == 0
        assert store.keys() == [(b"k" * 32, "Anna", 3)]
        assert store.nicks() == [("anna", "Anna", b"k" * 32, 3)]
        assert store.value("secret") == b"\x00\x01"
        assert store.value("nothing") is None


def test_unread_counts_late_messages_and_stops_somewhere(reader: Reader, talk: Talk) -> None:
    others = sum(1 for message in talk.messages if message.sender_id != "me")
    assert others < UNREAD_COUNTED
    assert reader.unread("lobby") == others


def test_dropping_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit([("lobby", [Put(Table.CHANNEL, "", state_row(START)), Drop(Table.GAP, "x")])])
        assert store.channel("lobby").snapshot() is not None


def test_an_ancestor_of_which_only_the_id_is_kept_is_in_the_log(tmp_path: Path) -> None:
    parent = packet_of("lobby", "anna", START, "parent")
    child = packet_of("lobby", "anna", START + 1, "child", (parent.message_id,))
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        store.commit([("lobby", [Append(log_row(parent, raw=b"")), Append(log_row(child))])])
        with Store.open_read_only(store.path, CODEC) as reader:
            detail = reader.message("lobby", child.message_id)
            assert detail is not None
            assert detail.ancestors == (Ancestor(parent.message_id, "id_alone", None, 1),)


def test_a_folder_whose_name_is_no_text_in_utf_8_is_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"), "sdschat.db")
    Store.open(path, CODEC).close()
    with Store.open_read_only(path, CODEC) as reader:
        assert reader.channels() == []


def test_of_a_long_chain_fifty_ancestors_are_told_unless_more_are_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        named: tuple[str, ...] = ()
        for number in range(60):
            message = packet_of("lobby", "ann", START + number, f"number {number}", named)
            store.commit([("lobby", [Append(log_row(message)), Put(Table.CHANNEL, "", state_row(START + number))])])
            named = (message.message_id,)
        with Reader.open(store.path, CODEC) as reader:
            detail = reader.message("lobby", named[0])
            assert detail is not None
            assert (len(detail.ancestors), detail.truncated) == (50, True)


def test_channels_that_come_one_after_another_are_kept_apart(tmp_path: Path) -> None:
    path, names = tmp_path / "p" / "sdschat.db", ("lobby", "kitchen", "attic", "shed")
    messages = {name: packet_of(name, "anna", START, f"in the {name}") for name in names}
    with Store.open(path, CODEC) as store:
        for name in names:
            store.commit([(name, [Append(log_row(messages[name]))])])
    with Store.open_read_only(path, CODEC) as reader:
        found = {name: [one.message_id for one in reader.messages(name)] for name in names}
    assert found == {name: [messages[name].message_id] for name in names}
