"""One byte of the file is altered: repaired, or refused with a clear error. Never another error, never wrong text."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from sdschat.sds.values import Entry, Snapshot
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.errors import StoreError
from sdschat.store.journal import JournalRow
from sdschat.store.store import Store
from tests.store.samples import CODEC, Talk

FLIPS = int(os.environ.get("SDSCHAT_TEST_FLIPS", "200"))
ROOMS = ("lobby", "kitchen")
REFUSALS = {"StoreDamaged", "StoreUnavailable", "SchemaNewer", "SchemaOlder"}


class Truth(NamedTuple):
    """The saved messages, rows and texts."""

    image: bytes
    messages: dict[str, list[DisplayMessage]]
    entries: dict[str, list[Entry]]
    snapshots: dict[str, Snapshot]
    journal: list[JournalRow]


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    path = tmp_path_factory.mktemp("truth") / "p" / "sdschat.db"
    talks = [Talk(room) for room in ROOMS]
    with Store.open(path, CODEC) as store:
        for _ in range(40):
            steps = [talk.step() for talk in talks]
            store.commit(
                [(talk.channel, step[0]) for talk, step in zip(talks, steps, strict=True)],
                [row for step in steps for row in step[1]],
                [said for step in steps for said in step[2]],
            )
        entries = {room: store.channel(room).history.newest(1000) for room in ROOMS}
    with Store.open_read_only(path, CODEC) as reader:
        messages = {room: list(reader.messages(room, with_raw=True)) for room in ROOMS}
        snapshots = {room: snapshot for room in ROOMS if (snapshot := reader.snapshot(room)[0]) is not None}
        journal = list(reader.journal())
    return Truth(path.read_bytes(), messages, entries, snapshots, journal)


def _flipped(truth: Truth, path: Path, random: Random) -> None:
    image = bytearray(truth.image)
    at = random.randrange(len(image))
    image[at] ^= random.randrange(1, 256)
    for file in path.parent.iterdir() if path.parent.exists() else ():
        file.unlink()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(image)


def _check_shown(truth: Truth, room: str, found: list[DisplayMessage]) -> bool:
    """Compare with the saved data: everything shown is right and in order, or marked as damaged. True if nothing is
    absent."""
    known = {message.message_id: message for message in truth.messages[room]}
    assert [message.key for message in found] == sorted(message.key for message in found)
    whole = len(found) == len(known)
    for message in found:
        right = known[message.message_id]
        assert (message.lamport, message.sender_id, message.dependencies) == (
            right.lamport,
            right.sender_id,
            right.dependencies,
        )
        assert message.text in (right.text, None)
        assert message.nick in (right.nick, None)
        assert message.raw in (right.raw, None)
        whole = whole and (message.text, message.raw) == (right.text, right.raw)
        assert message.damaged or (message.verdict, message.sent_at) in (
            (right.verdict, right.sent_at),
            (None, None),
        )
    return whole


def _check_snapshot(expected: Snapshot, found: Snapshot | None) -> bool:
    """Every row is unchanged; an outgoing row may also start again from nothing."""
    assert found is not None
    assert found.channel == expected.channel
    whole = True
    for name in ("incoming", "missing", "gaps", "answers", "pushes", "peers", "hints"):
        assert set(map(repr, getattr(found, name))) <= set(map(repr, getattr(expected, name)))
        whole = whole and getattr(found, name) == getattr(expected, name)
    open_ids = {row.message_id for row in expected.outgoing if row.state < 2}
    assert {row.message_id for row in found.outgoing} <= {row.message_id for row in expected.outgoing}
    return whole and open_ids <= {row.message_id for row in found.outgoing}


def _in_words(error: StoreError) -> str:
    """Every error names the file and the problem."""
    assert "sdschat.db" in str(error)
    assert str(error).endswith((" --salvage NEW", ")", "up to date", "program"))
    return type(error).__name__


def _read_all(truth: Truth, path: Path, thorough: bool) -> str:
    """Open the database as a node does, and read everything: "whole", "mended" or the name of the error."""
    try:
        with Store.open(path, CODEC, thorough=thorough) as store:
            snapshots = {room: store.channel(room).snapshot() for room in ROOMS}
            for room in ROOMS:
                history = store.channel(room).history
                entries = history.newest(1000)
                known = {(entry.message_id, entry[:4]) for entry in truth.entries[room]}
                assert {(entry.message_id, entry[:4]) for entry in entries} <= known
                for entry in entries:
                    assert history.entry(entry.message_id) in (entry, None)
                    history.row(entry.message_id)
            told = bool(store.losses) or any(store.channel(room).history.lost for room in ROOMS)
        with Store.open_read_only(path, CODEC) as reader:
            shown = {room: list(reader.messages(room, with_raw=True)) for room in ROOMS}
            told = told or any(message.damaged for found in shown.values() for message in found)
            for room in ROOMS:
                list(reader.messages(room, search="river"))
            reader.channels()
    except StoreError as error:
        return _in_words(error)
    whole = all([_check_shown(truth, room, shown[room]) for room in ROOMS])
    whole = all([_check_snapshot(truth.snapshots[room], snapshots[room]) for room in ROOMS]) and whole
    if thorough:
        assert whole or told, "something is gone, and nobody was told"
    return "whole" if whole else "mended"


@pytest.mark.parametrize("thorough", [True, False], ids=["small", "large"])
def test_a_flipped_byte_is_mended_or_refused(truth: Truth, tmp_path: Path, thorough: bool) -> None:
    """Alter bytes of the file. `large`: as for a database too large to be checked as a whole at every opening."""
    random = Random(f"rot {thorough}")
    seen: Counter[str] = Counter()
    for _ in range(FLIPS):
        path = tmp_path / "p" / "sdschat.db"
        _flipped(truth, path, random)
        seen[_read_all(truth, path, thorough)] += 1
    assert set(seen) <= {"whole", "mended", *REFUSALS}
    assert seen["mended"] > 0
    assert seen["StoreDamaged"] > 0


def test_a_flipped_byte_under_a_reader_is_never_shown_as_text(truth: Truth, tmp_path: Path) -> None:
    random = Random("reader")
    refused: set[str] = set()
    path = tmp_path / "p" / "sdschat.db"
    for _ in range(FLIPS):
        _flipped(truth, path, random)
        try:
            with Store.open_read_only(path, CODEC) as reader:
                for room in ROOMS:
                    _check_shown(truth, room, list(reader.messages(room, with_raw=True)))
                    for message in reader.messages(room, search="lantern"):
                        assert message.text is None or "lantern" in message.text
                assert set(reader.journal()) <= set(truth.journal)
        except StoreError as error:
            refused.add(_in_words(error))
    assert refused <= REFUSALS
