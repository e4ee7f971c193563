"""Recorded packets: complete, and each once, even if the process is killed."""

from __future__ import annotations

import base64
import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdschat.transport import segments
from sdschat.transport.segments import SPOOL, DuplicateFilter, Recorded, Spool, recover
from tests.cli.processes import ROOT


def heard(number: int) -> Recorded:
    return Recorded(1_000 + number, "sds/1/lobby/msg", "lobby", False, b"\x00\xff" + bytes([number]))


def recorded(folder: Path) -> list[tuple[str, int, bytes]]:
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [(row["tap"], row["seq"], base64.b64decode(row["raw"])) for row in rows]


def test_segments_hold_every_packet_in_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "tap1")
    for number in range(5):
        spool.take(heard(number))
        spool.flush()
        if number == 2:
            spool.seal()
    spool.close()
    assert recorded(tmp_path) == [("tap1", number + 1, heard(number).payload) for number in range(5)]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name[:31] for name in names] == ["tap1-000000000001-000000000003-", "tap1-000000000004-000000000005-"]


def test_nothing_is_seen_before_it_is_sealed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "tap1")
    spool.take(heard(1))
    spool.flush()
    assert recorded(tmp_path) == []
    spool.seal()
    assert len(recorded(tmp_path)) == 1


def test_a_large_segment_is_sealed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_BYTES", 200)
    spool = Spool(tmp_path, "tap1")
    for number in range(4):
        spool.take(heard(number))
        spool.flush()
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_what_a_killed_run_had_is_taken_over_without_its_torn_line(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from tests.transport.test_segments import heard\n"
        "from sdschat.transport.segments import Spool\n"
        "spool = Spool(Path(sys.argv[1]), 'killed')\n"
        "for number in range(3): spool.take(heard(number))\n"
        "spool.flush(); os.pwrite(spool._descriptor, b'{\"torn', spool._size)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == -9
    assert recorded(tmp_path) == []
    spool = Spool(tmp_path, "tap2")
    assert [path.name[:6] for path in spool.recovered] == ["killed"]
    spool.close()
    assert [seq for _, seq, _ in recorded(tmp_path)] == [1, 2, 3]
    assert not (tmp_path / SPOOL).exists()


def test_the_spool_of_a_run_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    running = Spool(tmp_path, "tap1")
    running.take(heard(1))
    running.flush()
    assert Spool(tmp_path, "tap2").recovered == []
    running.close()
    assert len(recorded(tmp_path)) == 1


def test_a_recorder_that_starts_takes_no_new_spool_for_one_that_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked between the making of the file and its lock, and removed the file: all of that segment was lost."""
    lock, others = fcntl.flock, iter([1])

    def lock_late(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX and next(others, 0):
            Spool(tmp_path, "tap2")
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    spool = Spool(tmp_path, "tap1")
    spool.take(heard(1))
    spool.flush()
    spool.close()
    assert recorded(tmp_path) == [("tap1", 1, heard(1).payload)]


def test_a_recorder_goes_on_where_another_one_removed_the_empty_folder_of_spools(tmp_path: Path) -> None:
    """Each later flush failed, so that nothing was recorded any more."""
    spool, other = Spool(tmp_path, "tap1"), Spool(tmp_path, "tap2")
    other.close()
    spool.take(heard(1))
    spool.close()
    assert recorded(tmp_path) == [("tap1", 1, heard(1).payload)]


def test_a_spool_that_its_run_seals_meanwhile_is_no_error(tmp_path: Path) -> None:
    """A recorder that started at this moment was told that the folder cannot be written."""
    spool = Spool(tmp_path, "tap1")
    spool.take(heard(1))
    spool.flush()
    (path,) = (tmp_path / SPOOL).iterdir()
    spool.close()
    assert recover(path) is None
    assert len(recorded(tmp_path)) == 1


def test_a_repeated_packet_is_known_as_long_as_it_is_among_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "WINDOW", 3)
    last = DuplicateFilter()
    last.add(1, "topic", b"one")
    last.add(2, "topic", b"two")
    last.add(1, "topic", b"one")
    last.add(3, "topic", b"three")
    assert last.has(1, "topic", b"one"), "the first of both went, the second is there"
    for number in (4, 5):
        last.add(number, "topic", b"more")
    assert not last.has(1, "topic", b"one")
    assert not last.has(2, "topic", b"two")
    assert last.has(5, "topic", b"more")
