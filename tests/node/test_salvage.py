"""A damaged database, and what comes of it in a new profile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sdschat.identity.keyfile import KEY_FILE
from sdschat.node.events import MessageDelivered
from sdschat.node.profile import open_profile
from sdschat.node.settings import make_settings
from sdschat.node.tools.salvage import salvage
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from sdschat.store.errors import DiskFull, ProfileInUse, StoreDamaged, StoreUnavailable
from sdschat.store.reader import Reader
from sdschat.store.salvage import SalvagedPacket
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.cli.processes import run
from tests.node.worlds import QUICK, world

CODEC = SdsCodec()
SETTINGS = make_settings(QUICK)
MESSAGES = 120


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Profiles of ann and bob, who said sixty things each; a folder to copy from."""
    folder = tmp_path_factory.mktemp("sound") / "sdschat"

    async def talk() -> None:
        async with world(folder) as w:
            ann, bob = w.start("ann"), w.start("bob")
            for number in range(MESSAGES // 2):
                for member in (ann, bob):
                    member.node.send("lobby", f"{member.node.nick} {number} {'x' * 300}")
            for member in (ann, bob):
                await member.until_texts(
                    *(f"{n} {k} {'x' * 300}" for n in ("ann", "bob") for k in range(MESSAGES // 2))
                )
            await ann.until(StateChanged, lambda told: told.state is AckState.ACKED)

    asyncio.run(talk())
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(sound, tmp_path / "data" / "sdschat"))


def database(folder: Path, profile: str) -> Path:
    return folder / "profiles" / profile / "sdschat.db"


def texts(path: Path) -> list[str | None]:
    with Reader.open(path, CODEC) as reader:
        return [message.text for message in reader.messages("lobby")]


def wipe_pages(path: Path, table: str, most: int) -> None:
    """Leaves of a table become noise, as where a disk has a bad spot."""
    connection = sqlite3.connect(path)
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    leaves = connection.execute("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)).fetchall()
    connection.close()
    with path.open("r+b") as file:
        for (page,) in leaves[1 : 1 + most]:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)


def has_dbstat() -> bool:
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT * FROM dbstat")
    except sqlite3.OperationalError:
        return False
    return True


def test_everything_comes_out_of_a_sound_one(folder: Path) -> None:
    ann, new = database(folder, "ann"), database(folder, "new")
    with Store.open(ann, CODEC) as store, store.transaction() as transaction:
        transaction.set_value("wire/hall", b"nim")
    rescued = salvage(ann, new, SETTINGS)
    assert rescued == ({"lobby": MESSAGES}, 0)
    assert texts(new) == texts(ann)
    with Store.open(ann, CODEC) as before, Store.open(new, CODEC) as after:
        assert after.losses == []
        for row in before.channel("lobby").history.newest(MESSAGES):
            mine, theirs = (store.channel("lobby").history.row(row.message_id) for store in (before, after))
            assert mine is not None
            assert theirs is not None
            assert (mine.raw, mine.own, mine.source, mine.received_at) == (
                theirs.raw,
                theirs.own,
                theirs.source,
                theirs.received_at,
            )
        assert before.keys() == after.keys()
        assert after.value("wire/hall") == b"nim"


def test_one_that_fails_leaves_nothing_and_replaces_no_key(folder: Path) -> None:
    """Half a profile was left, for which the second try was refused; a key alone was replaced."""
    ann, new = database(folder, "ann"), database(folder, "new")

    def full(packets: Iterable[SalvagedPacket]) -> Iterator[SalvagedPacket]:
        yield next(iter(packets))
        raise DiskFull(new)

    with pytest.raises(DiskFull):
        salvage(ann, new, SETTINGS, full)
    assert not new.parent.exists()
    new.parent.mkdir()
    (new.parent / KEY_FILE).write_text("of somebody else")
    with pytest.raises(StoreUnavailable, match="choose another name"):
        salvage(ann, new, SETTINGS)
    assert (new.parent / KEY_FILE).read_text() == "of somebody else"


@pytest.mark.skipif(not has_dbstat(), reason="this SQLite cannot tell which page is whose")
@pytest.mark.parametrize(("table", "most"), [("body", 3), ("log", 2), ("channel_state", 9), ("channel", 9)])
def test_a_bad_spot_takes_only_what_was_there(folder: Path, table: str, most: int) -> None:
    ann, new = database(folder, "ann"), database(folder, "new")
    whole = texts(ann)
    wipe_pages(ann, table, most)
    rescued = salvage(ann, new, SETTINGS)
    kept = texts(new)
    assert rescued.channels == {"lobby": len(kept)}
    assert MESSAGES - 15 * most <= len(kept) <= MESSAGES if table == "body" else len(kept) == MESSAGES
    assert [text for text in whole if text in set(kept)] == kept


def test_a_rescued_profile_goes_on_and_gets_the_rest_from_the_others(folder: Path) -> None:
    ann = database(folder, "ann")
    connection = sqlite3.connect(ann)
    connection.execute("PRAGMA foreign_keys = OFF")
    for statement in (
        "DELETE FROM channel_state",
        "DELETE FROM body WHERE place % 4 = 0",
        "DELETE FROM log WHERE place % 4 = 0",
    ):
        connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged), Store.open(ann, CODEC) as store:
        store.channel("lobby").snapshot()
    lost = MESSAGES - salvage(ann, database(folder, "new"), SETTINGS).channels["lobby"]
    assert lost == MESSAGES // 4

    async def story() -> None:
        async with world(folder) as w:
            again, bob = w.start("ann", profile="new"), w.start("bob")
            again.node.send("lobby", "back")
            while len(again.of(MessageDelivered)) < 1 + lost:
                await asyncio.sleep(0.05)
            assert "back" in again.texts()
            await bob.until(MessageDelivered)

    asyncio.run(story())
    assert len(texts(database(folder, "new"))) == MESSAGES + 1


def test_of_a_file_whose_end_is_missing_the_beginning_comes_out(folder: Path) -> None:
    """As where a disk was full while it was copied."""
    ann, new = database(folder, "ann"), database(folder, "new")
    whole = texts(ann)
    with contextlib.closing(sqlite3.connect(ann)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    cut = ann.stat().st_size * 2 // 3  # where about half of the texts are
    os.truncate(ann, cut)
    rescued = salvage(ann, new, SETTINGS)
    kept = texts(new)
    assert rescued.channels == {"lobby": len(kept)}
    assert 0 < len(kept) < MESSAGES
    assert [text for text in whole if text in set(kept)] == kept
    assert ann.stat().st_size == cut
    assert not [each for each in ann.parent.iterdir() if each.is_dir()]


def test_of_an_empty_file_no_profile_is_made(folder: Path) -> None:
    database(folder, "ann").write_bytes(b"")
    with pytest.raises(StoreDamaged, match="it is empty"):
        salvage(database(folder, "ann"), database(folder, "new"), SETTINGS)
    assert not database(folder, "new").parent.exists()


def test_a_profile_in_use_or_a_name_that_is_taken_is_refused(folder: Path) -> None:
    ann, bob = database(folder, "ann"), database(folder, "bob")
    with pytest.raises(StoreUnavailable, match="there already"):
        salvage(ann, bob, SETTINGS)
    with Store.open(ann, CODEC), pytest.raises(ProfileInUse):
        salvage(ann, database(folder, "new"), SETTINGS)


def test_doctor_says_what_was_rescued(folder: Path, tmp_path: Path) -> None:
    there = ("--data-dir", str(folder), "--name", "ann")
    done = run(tmp_path, "doctor", *there, "--salvage", "new")
    assert done.returncode == 0, done.stderr
    assert f"lobby: {MESSAGES} messages\n" in done.stdout
    assert "--name ann --profile new" in done.stdout
    assert run(tmp_path, "doctor", *there, "--salvage", "new").returncode != 0
    noise = database(folder, "ann")
    noise.write_bytes(b"\xa5" * 20_000)
    nothing = run(tmp_path, "doctor", *there, "--salvage", "newer")
    assert nothing.returncode == 5
    assert f"Nothing of {noise} can be read" in nothing.stderr
    assert "--salvage" not in nothing.stderr  # which is what was just done
    assert not database(folder, "newer").parent.exists()
    for file in noise.parent.glob("sdschat.db*"):  # as it advises
        file.unlink()
    open_profile(noise, SETTINGS).store.close()
    assert texts(noise) == []
