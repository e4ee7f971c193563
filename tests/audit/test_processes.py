"""Work in copies of this process gives the same result as work in this process."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sdschat.audit import compare as comparing
from sdschat.audit.compare import compare
from sdschat.audit.processes import Busy, alone, side_by_side
from sdschat.audit.sources.databases import databases
from sdschat.audit.verdict import DEFAULT
from tests.audit.field import change, nth

HERE = os.getpid()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")


def where(numbers: Sequence[int]) -> tuple[list[int], bool]:
    return [number * 10 for number in numbers], os.getpid() == HERE


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def children() -> set[str]:
    return set(Path(f"/proc/{HERE}/task/{HERE}/children").read_text().split())


def test_the_first_portion_is_done_here_and_the_others_beside() -> None:
    assert side_by_side(where, [[1, 2], [], [3]]) == [([10, 20], True), ([], False), ([30], False)]


@pytest.mark.parametrize("end", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3), lambda: 1 / 0])
def test_what_another_process_does_not_come_to_is_done_here(end: object) -> None:
    def work(numbers: Sequence[int]) -> tuple[list[int], bool]:
        if os.getpid() != HERE:
            assert callable(end)
            end()
        return where(numbers)

    assert side_by_side(work, [[1], [2]]) == [([10], True), ([20], True)]


def test_an_error_here_ends_the_others() -> None:
    def work(numbers: Sequence[int]) -> int:
        if os.getpid() == HERE:
            raise KeyboardInterrupt
        signal.pause()
        return 0

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, [[1], [2], [3]])


def test_databases_that_are_read_side_by_side_give_the_same(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(field, "cleo", "UPDATE log SET lamport = lamport + 9000 WHERE place = ?", nth(field, "cleo", 2)[0])
    change(field, "bob", "DELETE FROM log WHERE place = ?", nth(field, "bob", 5)[0])
    alone = compare(databases([field]), 1, DEFAULT)
    monkeypatch.setattr(comparing, "_ENOUGH", 1)
    monkeypatch.setattr(comparing, "processors", lambda: 3)
    assert compare(databases([field]), 1, DEFAULT) == alone


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("why", [errno.EACCES, errno.EROFS])
def test_who_may_only_read_holds_a_lock_too(
    why: int, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of a lake on a read-only file system, or of a copy without the lock, ended with a traceback."""
    file, opened = tmp_path / ".audit.lock", os.open
    if made:
        file.touch()

    def for_reading_alone(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(why, os.strerror(why), str(path))
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", for_reading_alone)
    with alone(file, "another one"), pytest.raises(Busy, match="another one"), alone(file, "another one"):
        pytest.fail("both hold it")
    with alone(file, "another one"):
        assert file.exists() == made


def test_a_lock_that_cannot_be_opened_for_another_reason_is_not_held(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), alone(tmp_path / "gone" / "lock", "another one"):
        pytest.fail("it is held")
