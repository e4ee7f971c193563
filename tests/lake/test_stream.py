"""Segments that arrive: each is taken in once, however the stream ends, and an audit finds them at once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.schemas import FIELD, Journal, Whole
from sdschat.store.journal import JournalRow, json_lines
from tests.needs import needs_module

for module in ("pyarrow", "duckdb", "deltalake"):
    needs_module(module)

from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from sdschat.lake.ingest import (
    ChannelNow,
    SegmentStream,
    channels_now,
)
from sdschat.lake.judge import audit_of
from sdschat.lake.tables import Tables
from tests.lake.bronze import rows_in
from tests.lake.dying import Dying, Killed

AT = 1_750_000_000_000


def delivered(node: str, *messages: int) -> str:
    """Return the lines of a journal in which these messages were delivered."""
    rows = [
        JournalRow(
            "delivered",
            "lobby",
            AT + at,
            at,
            f"{at:064x}",
            "ann",
            AT + at,
            deps=(),
            cause="live",
            node=node,
            boot=f"of {node}",
            seq=at,
        )
        for at in messages
    ]
    return "".join(f"{line}\n" for line in json_lines(rows))


def put(folder: Path, name: str, text: str, changed: int) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    os.utime(path, (changed, changed))
    return path


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    """Five segments of two nodes. Each repeats the last line of the one before."""
    folder = tmp_path / "segments"
    for at in range(4):
        put(folder, f"{9 - at}.jsonl", delivered("bob", *range(max(1, 3 * at), 3 * at + 4)), at)
    put(folder, "0.jsonl", delivered("ann", *range(1, 13)), 9)
    return folder


def stream(tables: Tables, segments: Path, most: int = 2) -> SegmentStream:
    return SegmentStream(tables, segments, FIELD, most)


def lake(tmp_path: Path, name: str = "lake") -> Tables:
    return Tables(str(tmp_path / name))


def journal(tables: Tables) -> Counter[Any]:
    tables.refresh()
    return Counter((row.node, row.seq) for row in rows_in(tables, Journal))


EVERYTHING = Counter([*(("bob", at) for at in range(1, 13)), *(("ann", at) for at in range(1, 13))])


def test_segments_are_taken_the_oldest_first_and_each_row_once(segments: Path, tmp_path: Path) -> None:
    tables = lake(tmp_path)
    running = stream(tables, segments)
    first = running.batch()
    assert first is not None
    assert (first.number, first.segments, first.events, first.packets, first.refused) == (0, 2, 6, 0, 0)
    assert journal(tables) == Counter(("bob", at) for at in range(1, 7))
    batches = []
    while (batch := running.batch()) is not None:
        batches.append((batch.number, batch.segments, batch.events))
    assert batches == [(1, 2, 6), (2, 1, 12)]
    assert journal(tables) == EVERYTHING


def test_what_was_taken_is_not_read_again_by_the_next_stream(segments: Path, tmp_path: Path) -> None:
    tables = lake(tmp_path)
    while stream(tables, segments, most=9).batch() is None:
        pass
    again = stream(tables, segments, most=9).batch()
    assert again is not None
    assert (again.segments, again.events) == (0, 0)


def test_a_segment_that_is_still_being_written_is_left_alone_until_it_has_its_name(tmp_path: Path) -> None:
    folder, tables = tmp_path / "segments", lake(tmp_path)
    hidden = put(folder, ".1.jsonl", delivered("bob", 1), 1)
    put(folder, "notes.txt", "no segment", 1)
    put(folder / "_spool", "2.jsonl", delivered("bob", 2), 1)
    running = stream(tables, folder)
    assert running.batch() is None
    hidden.rename(folder / "1.jsonl")
    assert running.batch() is not None
    assert journal(tables) == Counter([("bob", 1)])


def test_a_file_that_grew_is_taken_once_more(tmp_path: Path) -> None:
    folder, tables = tmp_path / "segments", lake(tmp_path)
    put(folder, "1.jsonl", delivered("bob", 1) + "half a li", 1)
    running = stream(tables, folder)
    first = running.batch()
    assert first is not None
    assert (first.events, first.refused) == (1, 1)
    assert [(row.source, row.place) for row in first.unread] == [(str(folder / "1.jsonl"), "line 2")]
    assert running.batch() is None
    put(folder, "1.jsonl", delivered("bob", 1, 2), 2)
    second = running.batch()
    assert second is not None
    assert (second.events, second.refused, second.unread) == (1, 0, ())


def test_a_stream_that_was_killed_within_a_batch_goes_on(segments: Path, tmp_path: Path) -> None:
    for lives in range(3):
        dying = Dying(str(tmp_path / "lake"), lives)
        running = stream(dying, segments)
        with pytest.raises(Killed):
            [running.batch() for _ in segments.iterdir()]
    tables = lake(tmp_path)
    running = stream(tables, segments)
    while running.batch() is not None:
        pass
    assert journal(tables) == EVERYTHING
    assert len(rows_in(tables, Whole)) == 5


def test_two_streams_into_one_lake_add_nothing_twice(segments: Path, tmp_path: Path) -> None:
    one, other = stream(lake(tmp_path), segments, 1), stream(lake(tmp_path), segments, 3)
    while {one.batch(), other.batch()} != {None}:
        pass
    assert journal(lake(tmp_path)) == EVERYTHING


def test_an_audit_finds_what_was_streamed(segments: Path, tmp_path: Path) -> None:
    tables = lake(tmp_path)
    put(segments, "cleo.jsonl", delivered("cleo", *range(1, 12)), 10)
    running = stream(tables, segments)
    while running.batch() is not None:
        pass
    with open_duck(tmp_path / "lake") as there:
        judge.refine(there)
        judge.consolidate(there)
        judge.audit(there)
        found = audit_of(there)
    assert {row.node: row.messages for row in found.nodes} == {"ann": 12, "bob": 12, "cleo": 11}


def test_the_totals_are_those_of_each_channel(segments: Path, tmp_path: Path) -> None:
    tables = lake(tmp_path)
    running = stream(tables, segments)
    assert channels_now(tables) == []
    while running.batch() is not None:
        pass
    assert channels_now(tables) == [ChannelNow("lobby", 0, 0, 2, 12, 12, True)]
    put(segments, "cleo.jsonl", delivered("cleo", *range(1, 12)), 10)
    running.batch()
    assert channels_now(tables) == [ChannelNow("lobby", 0, 0, 3, 11, 12, False)]


def test_the_totals_of_another_campaign_are_beside_them(segments: Path, tmp_path: Path) -> None:
    tables = lake(tmp_path)
    for name in (FIELD, "berlin"):
        running = SegmentStream(tables, segments, name, 9)
        while running.batch() is not None:
            pass
    assert channels_now(tables) == [
        ChannelNow("lobby", 0, 0, 2, 12, 12, True),
        ChannelNow("lobby of berlin", 0, 0, 2, 12, 12, True),
    ]
