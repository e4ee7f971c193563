"""Power cuts at every operation of the disk: steps reported as saved are there, and nothing is torn.

The control is SQLite with `synchronous=NORMAL`, which must be seen to lose steps that it reported as saved: a
simulation that finds no loss there would find none anywhere. SDSCHAT_TEST_POWER_CUTS sets the number of states.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from random import Random

import pytest

from tests.needs import needs_module
from tests.store.samples import Talk

needs_module("apsw")

from tests.store.powercut import SYNC_DIRECTORY, Operation, State, recorded_store, states

STATES = int(os.environ.get("SDSCHAT_TEST_POWER_CUTS", "400"))
STEPS = 40


def _record(path: Path, synchronous: str) -> list[Operation]:
    """The operations of the disk while a node makes its database and saves a conversation."""
    store, record = recorded_store(path, synchronous)
    talk = Talk()
    for step in range(STEPS):
        writes, rows, texts = talk.step()
        store.commit([("lobby", writes)], rows, texts)
        record.append(Operation("said", "", step + 1))
    store.close()
    return record


class Lost(AssertionError):
    """A step reported as saved is not there."""


class Torn(AssertionError):
    """The content of the database is that of no moment of the node's life."""


def _judge(place: Path, state: State, talk: Talk) -> None:
    """Open the database from the content of the disk."""
    for file in place.iterdir():
        file.unlink()
    for name, image in state.files.items():
        (place / name).write_bytes(image)
    connection = sqlite3.connect(place / "sdschat.db", isolation_level=None)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema").fetchall():
            if state.said:
                raise Lost("not even the tables are there")
            return
        ids = [row[0] for row in connection.execute("SELECT message_id FROM log ORDER BY place")]
        bodies = connection.execute("SELECT count(*) FROM body JOIN text USING (place)").fetchone()[0]
        told = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
        tally = connection.execute("SELECT messages FROM channel").fetchall()
        clock = connection.execute("SELECT lamport FROM channel_state").fetchall()
        check = connection.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.DatabaseError as error:
        raise Torn(str(error)) from error
    finally:
        connection.close()
    count = len(ids)
    if check != [("ok",)]:
        raise Torn(str(check[0]))
    if ids != [message.message_id for message in talk.messages[:count]] or not bodies == told == count:
        raise Torn(f"{count} messages, {bodies} bodies and texts, {told} events")
    if count and (tally != [(count,)] or clock != [(talk.messages[count - 1].lamport_timestamp,)]):
        raise Torn("counts and clock are of another moment")
    if count < state.said:
        raise Lost(f"{count} messages are there and {state.said} were said to be saved (operation {state.at})")


def _talk() -> Talk:
    talk = Talk()
    for _ in range(STEPS):
        talk.step()
    return talk


def _look(path: Path, synchronous: str, wanted: int, with_directory: bool = True) -> tuple[int, int]:
    """Number of states examined, and number of those that had lost a step. A torn state fails at once."""
    record = _record(path / "life" / "sdschat.db", synchronous)
    if not with_directory:
        record = [operation for operation in record if operation != SYNC_DIRECTORY]
    place = path / "after"
    place.mkdir()
    talk = _talk()
    operations = sum(1 for operation in record if operation.what != "said")
    # Few states of many operations by skipping some; many states of each by drawing again.
    each, keep = max(3, -(-wanted // operations)), max(1, 3 * operations // wanted)
    looked = lost = 0
    for number, state in enumerate(states(record, Random(f"{synchronous} cut"), each)):
        if number // each % keep:
            continue
        looked += 1
        try:
            _judge(place, state, talk)
        except Lost:
            lost += 1
    return looked, lost


@pytest.mark.timeout(1800)
def test_a_power_cut_loses_nothing_that_was_said_to_be_saved(tmp_path: Path) -> None:
    looked, lost = _look(tmp_path, "FULL", STATES)
    assert looked >= STATES
    assert lost == 0, f"{lost} of {looked} states lost something"


def test_the_simulation_catches_a_database_that_says_saved_too_early(tmp_path: Path) -> None:
    looked, lost = _look(tmp_path, "NORMAL", 400)
    assert looked >= 400
    assert lost > 0


def test_the_simulation_catches_a_directory_that_was_not_synced(tmp_path: Path) -> None:
    """The rollback journal of the first transaction, if it is removed but there again after the power cut, undoes
    everything."""
    looked, lost = _look(tmp_path, "FULL", 400, with_directory=False)
    assert looked >= 400
    assert lost > 0
