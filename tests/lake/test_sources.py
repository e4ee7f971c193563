"""The rows read from files, and the parts that are refused."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.schemas import FIELD, Declared, Journal, Message, Node, Packet, Quarantine
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.catchup.values import Frame, Nudge
from sdschat.lake.sources.files import file_batches, packet_row
from sdschat.mvds.values import Payload
from sdschat.sds.values import Message as Said
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from sdschat.wire.catchup_codec import DIRECT, PAGES, SyncCodec
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import WORDS, change, database, talk
from tests.audit.worlds import with_filter
from tests.lake.by_row import read_file


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"))


def read(path: Path) -> list[Any]:
    return list(read_file(Reading(FIELD, path, 1, Memory(sized=True))))


def refused(path: Path) -> list[tuple[str, str]]:
    return [(row.place, row.reason) for row in read(path) if isinstance(row, Quarantine)]


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


EVENT: dict[str, Any] = {"v": 1, "node": "ann", "boot": "b", "seq": 1, "ts_ms": 5, "event": "delivered"}


def test_a_database_gives_its_log_its_journal_and_how_it_stands(field: Path) -> None:
    found = Counter(type(row) for row in read(database(field, "ann")))
    assert found[Message] == len(WORDS)
    assert found[Node] == 1
    assert found[Journal] >= len(WORDS)
    assert found.keys() <= {Message, Node, Journal, Declared}


def test_the_journal_of_a_database_is_that_of_its_export(field: Path, tmp_path: Path) -> None:
    path = database(field, "bob")
    with Reader.open(path, SdsCodec()) as reader:
        exported = lines(tmp_path / "bob.jsonl", *json_lines(reader.journal()))
    assert read(exported) == [row for row in read(path) if isinstance(row, Journal)]


def recorded_as(topic: str, raw: bytes) -> str:
    return packet_row(("run", "tap", 1, 5, f"sds/1/lobby/{topic}", "lobby"), raw).kind


def test_what_is_not_on_the_topic_of_messages_is_told_apart_by_topic_and_by_what_is_in_it() -> None:
    codec, nothing = SyncCodec(), Payload(acks=(bytes(32),))
    assert {
        "presence": recorded_as("who/ann", b"here"),
        "store_query": recorded_as("store/query/ann", b""),
        "store_answer": recorded_as("store/answer/ann", b""),
        "comparison": recorded_as("sync/ann/bob", codec.encode_frame(Frame(1, 1, Nudge(3)))),
        "page": recorded_as("sync/ann/bob", codec.encode_records(nothing, PAGES)),
        "direct": recorded_as("sync/ann/bob", codec.encode_records(nothing, DIRECT)),
    } == {kind: kind for kind in ("presence", "store_query", "store_answer", "comparison", "page", "direct")}
    assert recorded_as("timber/ann/bob", b"") == "other"


@pytest.mark.parametrize("lamport", [2**43, 2**63, 2**64 - 1])
def test_a_recorded_packet_dated_beyond_the_bound_is_refused_and_the_others_are_taken(
    tmp_path: Path, lamport: int
) -> None:
    head = {"tap": "t", "ts_ms": 1, "topic": "sds/1/lobby/msg", "channel": "lobby"}
    packets = [SdsCodec().encode(Said("eve", "m", "lobby", each, (), None, (), b"text")) for each in (lamport, 5)]
    path = lines(
        tmp_path / "capture.jsonl",
        *(head | {"seq": at, "raw": base64.b64encode(raw).decode()} for at, raw in enumerate(packets)),
    )
    (batch,) = file_batches(Reading(FIELD, path, 1, Memory(sized=True)), {Packet})
    found = batch.rows.select(["kind", "reason", "sender", "lamport"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("refused", "clock_too_large", "eve", None),
        ("message", None, "eve", 5),
    ]


def test_the_parts_of_a_packet_add_up_to_less_than_it(field: Path) -> None:
    for row in read(database(field, "cleo")):
        if isinstance(row, Message):
            assert row.bytes is not None
            sizes = (row.content_bytes, row.filter_bytes, row.history_bytes, row.request_bytes)
            assert 0 < sum(size or 0 for size in sizes) < row.bytes
            assert row.raw is not None
            assert len(row.raw) == row.bytes


def test_the_canonical_journal_row_keeps_what_a_newer_program_adds(tmp_path: Path) -> None:
    (row,) = read(lines(tmp_path / "new.jsonl", EVENT | {"v": 2, "mood": "good"}))
    assert (row.v, row.extra) == (2, '{"mood":"good"}')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"v":1,', "is not JSON"),
        ("[1]", "is no JSON object"),
        (json.dumps({**EVENT, "seq": None}), "has no seq"),
        (json.dumps({**EVENT, "seq": "1"}), "seq is '1'"),
        (json.dumps({**EVENT, "seq": 2**63}), f"seq is '{2**63}'"),
        (json.dumps({**EVENT, "node": "\ud800"}), "node is "),
        (json.dumps({"tap": "t", "seq": 1, "ts_ms": 1, "topic": "x", "channel": "c", "raw": "?"}), ""),
    ],
)
def test_a_damaged_line_goes_to_quarantine_and_the_others_are_taken(tmp_path: Path, line: str, reason: str) -> None:
    path = lines(tmp_path / "odd.jsonl", EVENT, line, EVENT | {"seq": 2})
    found = read(path)
    assert [row.seq for row in found if isinstance(row, Journal)] == [1, 2]
    (bad,) = refused(path)
    assert bad[0] == "line 2"
    assert bad[1].startswith(reason)


def test_a_line_that_is_still_being_written_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_text(json.dumps(EVENT)[:-4])
    assert refused(path) == [("line 1", "is not JSON and ends in the middle")]


def test_an_altered_row_of_a_journal_goes_to_quarantine_and_the_others_are_taken(field: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cleo"
    copy.mkdir()
    target = copy / "sdschat.db"
    with (
        closing(sqlite3.connect(database(field, "cleo"))) as source,
        closing(sqlite3.connect(target)) as there,
    ):
        source.backup(there)
    change(tmp_path, "cleo", "UPDATE journal SET cause = 'forged' WHERE place = (SELECT min(place) + 2 FROM journal)")
    assert [reason for _, reason in refused(target)] == ["a row of the journal does not match its checksum"]


def test_a_cut_database_goes_to_quarantine_as_a_whole(field: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    path.write_bytes(database(field, "ann").read_bytes()[:5000])
    ((place, reason),) = refused(path)
    assert place == ""
    assert "cut.db" in reason


def test_a_captured_packet_is_taken_apart(tmp_path: Path) -> None:
    raw = with_filter("m1", "ann", 77, 5)
    segment = {"v": 1, "tap": "t", "seq": 3, "ts_ms": 9, "topic": "sds/1/lobby/msg", "channel": "lobby"}
    path = lines(
        tmp_path / "t-3-4-x.jsonl",
        segment | {"raw": base64.b64encode(raw).decode()},
        segment | {"seq": 4, "raw": base64.b64encode(b"\xff").decode()},
        segment | {"seq": 5, "topic": "sds/1/lobby/who/x", "raw": ""},
    )
    whole, broken, other = read(path)
    assert isinstance(whole, Packet)
    assert (whole.kind, whole.message_id, whole.sender, whole.lamport) == ("message", "m1", "ann", 77)
    assert (whole.bytes, whole.content_bytes) == (len(raw), len(b"content"))
    assert (broken.kind, broken.reason) == ("refused", "unreadable")
    assert other.kind == "presence"
