"""The key file: made once, closed to others, never replaced, and damage is detected."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.identity.keyfile import KEY_FILE, KeyFileError, load, load_or_create
from sdschat.identity.signing import Identity

SEED = bytes(range(32))


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fixed(_: int) -> bytes:
    return SEED


@pytest.mark.usefixtures("umask")
def test_file_and_directory_are_private_whatever_the_umask(tmp_path: Path) -> None:
    directory = tmp_path / "alice"
    load_or_create(directory)
    assert mode(directory) == 0o700
    assert mode(directory / KEY_FILE) == 0o600


def test_a_profile_keeps_its_key(tmp_path: Path) -> None:
    first = load_or_create(tmp_path / "p" / "alice")
    again = load_or_create(tmp_path / "p" / "alice")
    assert first.public_key == again.public_key
    assert len(first.sender_id) == 32
    assert load_or_create(tmp_path / "bob").sender_id != first.sender_id
    assert os.listdir(tmp_path / "p" / "alice") == [KEY_FILE]


def test_an_open_file_and_directory_are_closed_to_others(tmp_path: Path) -> None:
    load_or_create(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / KEY_FILE).chmod(0o644)
    load_or_create(tmp_path)
    assert mode(tmp_path) == 0o700
    assert mode(tmp_path / KEY_FILE) == 0o600


def test_two_that_make_the_key_at_once_agree(tmp_path: Path) -> None:
    start = threading.Barrier(8)
    found: list[str] = []

    def make() -> None:
        start.wait()
        found.append(load_or_create(tmp_path).sender_id)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert os.listdir(tmp_path) == [KEY_FILE]


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    identity = load_or_create(tmp_path, fixed)
    path = tmp_path / KEY_FILE
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(KeyFileError, match="damaged"):
            load(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(KeyFileError, match="damaged"):
            load(path)
    path.write_bytes(whole)
    assert load(path).public_key == identity.public_key


def test_on_a_full_disk_no_leave_to_write_is_asked_for(tmp_path: Path) -> None:
    def full(_size: int) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(KeyFileError, match=r"left on device\. Free some space, or choose another"):
        load_or_create(tmp_path / "alice", full)


def test_what_is_not_a_file_of_ours_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "directory" / KEY_FILE).mkdir(parents=True)
    with pytest.raises(KeyFileError, match="not a file"):
        load_or_create(tmp_path / "directory")
    load_or_create(tmp_path / "other")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / KEY_FILE).symlink_to(tmp_path / "other" / KEY_FILE)
    with pytest.raises(KeyFileError, match=r"identity\.key is a link, and is not followed"):
        load_or_create(tmp_path / "link")
    (tmp_path / "plain").write_text("in the way")
    with pytest.raises(KeyFileError, match="--data-dir"):
        load_or_create(tmp_path / "plain" / "alice")


def test_the_secret_shows_up_nowhere_else(tmp_path: Path) -> None:
    identity = load_or_create(tmp_path, fixed)
    for text in (repr(identity), str(identity), f"{identity!s}"):
        assert SEED.hex() not in text
        assert repr(SEED) not in text
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(identity)
    assert identity.public_key == Identity(SEED).public_key


def test_a_seed_of_another_length_is_a_wrong_call() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Identity(b"short")
