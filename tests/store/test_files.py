"""Permissions of the files, access to the profile, and the errors if access fails."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sdschat.sds.values import Codec
from sdschat.store.errors import ProfileInUse, StoreReadOnly, StoreUnavailable
from sdschat.store.files import RESERVE_BYTES
from sdschat.store.store import Store
from tests.store.samples import CODEC, Talk

_HOLD = """
import sys
from sdschat.store.store import Store
from tests.store.samples import CODEC
store = Store.open(sys.argv[1], CODEC)
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "profiles" / "anna" / "sdschat.db"


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _modes(directory: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in directory.iterdir()}


@pytest.mark.usefixtures("no_umask")
def test_files_are_for_their_owner_whatever_the_umask(path: Path) -> None:
    with Store.open(path, CODEC) as store:
        writes, rows, texts = Talk().step()
        store.commit([("lobby", writes)], rows, texts)
        modes = _modes(path.parent)
    expected = {"sdschat.db", "sdschat.db-wal", "sdschat.db-shm", "sdschat.db.lock", "sdschat.db.reserve"}
    assert modes == dict.fromkeys(expected, 0o600)
    for directory in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("no_umask")
def test_files_that_were_opened_to_others_are_closed_again(path: Path) -> None:
    Store.open(path, CODEC).close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    Store.open(path, CODEC).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_strict_umask_does_not_lock_the_owner_out(path: Path) -> None:
    before = os.umask(0o777)
    try:
        Store.open(path, CODEC).close()
        Store.open(path, CODEC).close()
    finally:
        os.umask(before)
    assert _modes(path.parent)["sdschat.db"] == 0o600


def test_a_second_opener_is_told_who_holds_the_profile(path: Path) -> None:
    with Store.open(path, CODEC), pytest.raises(ProfileInUse, match=f"process {os.getpid()}") as caught:
        Store.open(path, CODEC)
    assert caught.value.pid == os.getpid()
    assert caught.value.exit_code == 5
    Store.open(path, CODEC).close()


def test_the_lock_dies_with_its_process(path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(ProfileInUse) as caught:
            Store.open(path, CODEC)
        assert caught.value.pid == holder.pid
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        Store.open(path, CODEC).close()


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Run the test as an ordinary user, because permissions do not bind the superuser, and tests may run as
    superuser."""
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)
    yield
    if superuser:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that another user can reach, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def test_files_that_cannot_be_written_are_refused_in_words(
    open_directory: Path, request: pytest.FixtureRequest
) -> None:
    path = open_directory / "sdschat.db"
    Store.open(path, CODEC).close()
    before = path.read_bytes()
    for file in open_directory.iterdir():
        file.chmod(0o444)
    open_directory.chmod(0o555)
    request.getfixturevalue("ordinary_user")
    with pytest.raises(StoreReadOnly, match="no permission"):
        Store.open(path, CODEC)
    with Store.open_read_only(path, CODEC) as reader:
        assert reader.channels() == []
    assert path.read_bytes() == before


def test_a_file_that_turns_read_only_refuses_and_keeps_what_it_has(path: Path) -> None:
    talk = Talk()
    with Store.open(path, CODEC) as store:
        first = talk.step()
        store.commit([("lobby", first[0])], first[1], first[2])
        store.connection.execute("PRAGMA query_only = ON")
        writes, rows, texts = talk.step()
        with pytest.raises(StoreReadOnly, match="cannot be written"):
            store.commit([("lobby", writes)], rows, texts)
        store.connection.execute("PRAGMA query_only = OFF")
        assert len(store.channel("lobby").history.newest(9)) == 1
        store.commit([("lobby", writes)], rows, texts)
        assert len(store.channel("lobby").history.newest(9)) == 2


def test_what_is_not_our_database_is_not_touched(tmp_path: Path) -> None:
    foreign = tmp_path / "p" / "sdschat.db"
    foreign.parent.mkdir()
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreUnavailable, match="not a database of sdschat"):
        Store.open(foreign, CODEC)
    with pytest.raises(StoreUnavailable, match="not a database of sdschat"):
        Store.open_read_only(foreign, CODEC)


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="cannot be made: Not a directory"):
        Store.open(tmp_path / "file" / "p" / "sdschat.db", CODEC)


@pytest.mark.parametrize("target", ["itself", "gone/away"])
def test_a_link_that_leads_to_nothing_is_told(tmp_path: Path, target: str) -> None:
    link = tmp_path / "itself"
    link.symlink_to(target)
    with pytest.raises(StoreUnavailable, match=r"cannot be made: .*itself is a link that leads to nothing"):
        Store.open(link / "p" / "sdschat.db", CODEC)
    with pytest.raises(StoreUnavailable, match=r"it is a link that leads to nothing; move it away"):
        Store.open(link, CODEC)


def test_the_reserve_is_really_written(path: Path) -> None:
    with Store.open(path, CODEC) as store:
        assert store.reserve.held()
        file = path.with_name("sdschat.db.reserve")
        assert file.stat().st_size == RESERVE_BYTES
        assert file.stat().st_blocks * 512 >= RESERVE_BYTES
        store.reserve.free()
        assert not store.reserve.held()
        assert store.reserve.take()


def test_readers_look_while_a_node_writes_and_after_it_was_killed(path: Path, tmp_path: Path) -> None:
    talk = Talk()
    with Store.open(path, CODEC) as store, Store.open_read_only(path, CODEC) as reader:
        for count in range(1, 6):
            writes, rows, texts = talk.step()
            store.commit([("lobby", writes)], rows, texts)
            assert len(list(reader.messages("lobby"))) == count
        # What a killed node leaves: everything is still in the write-ahead log.
        left = tmp_path / "left" / "sdschat.db"
        left.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    with Store.open_read_only(left, CODEC) as reader:
        assert [message.message_id for message in reader.messages("lobby")] == [m.message_id for m in talk.messages]


def test_a_reader_finds_no_file(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no such file"):
        Store.open_read_only(path, CODEC)


@pytest.mark.parametrize("opening", [Store.open, Store.open_read_only])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_told_and_not_waited_for(
    path: Path, make: Callable[[Path], None], opening: Callable[[Path, Codec], object]
) -> None:
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(StoreUnavailable, match="it is no file; move it away"):
        opening(path, CODEC)


def test_a_database_that_another_program_works_on_is_told_with_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(path, CODEC).close()
    monkeypatch.setattr("sdschat.store.connection._BUSY_MS", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="another program works on it; end that one, and try again"):
            Store.open(path, CODEC)
