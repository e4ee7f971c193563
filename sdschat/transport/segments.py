"""Recorded packets in files that no reader sees half-written: a spool that survives a crash, sealed into segments.

A segment is a file of JSON lines, one packet per line. Its name holds the id of the recorder, the numbers of its
packets, and the beginning of its SHA-256. It appears under that name complete, and never changes. The spool is in a
folder whose name starts with a dot; the next run seals a spool that an earlier run left there.

    {"v":1,"tap":"…","seq":1,"ts_ms":…,"topic":"sds/1/lobby/msg","channel":"lobby","retained":false,
     "packet_id":7,"raw":"<base64>"}
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
from collections import deque
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

SPOOL: Final = ".spool"
SUFFIX: Final = ".jsonl"
MAX_BYTES: Final = 4 * 1024 * 1024  # of a segment
_VERSION: Final = 1


class Recorded(NamedTuple):
    """A packet as it was received."""

    ts_ms: int
    topic: str
    channel: str
    retained: bool
    payload: bytes
    packet_id: int = 0  # the broker's id, if the broker repeats the packet until it is acknowledged; else 0


class Spool:
    """The spool of one run. `tap` is the run's id: with the gapless packet numbers it identifies each packet."""

    def __init__(self, folder: Path, tap: str) -> None:
        """Seal the spools left by earlier runs. Raises OSError if the folder cannot be written."""
        self.folder = folder
        self.tap = tap
        self.seq = 0
        self.segments = 0
        self._spool = folder / SPOOL
        self._spool.mkdir(parents=True, exist_ok=True)
        self.recovered = [path for path in (recover(left) for left in sorted(self._spool.glob(f"*{SUFFIX}"))) if path]
        self._descriptor = -1
        self._path = Path()
        self._first = 0
        self._size = 0
        self._waiting: list[bytes] = []

    def take(self, heard: Recorded) -> None:
        """Add a packet. It is not on disk before `flush`."""
        self.seq += 1
        line = {
            "v": _VERSION,
            "tap": self.tap,
            "seq": self.seq,
            "ts_ms": heard.ts_ms,
            "topic": heard.topic,
            "channel": heard.channel,
            "retained": heard.retained,
            "packet_id": heard.packet_id,
            "raw": base64.b64encode(heard.payload).decode(),
        }
        self._waiting.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def flush(self) -> None:
        """Write the added packets to disk. Raises OSError, and can then be called again."""
        if not self._waiting:
            return
        if self._descriptor < 0:
            self._begin()
        whole = b"".join(self._waiting)
        written = os.pwrite(self._descriptor, whole, self._size)
        if written < len(whole):
            os.ftruncate(self._descriptor, self._size)
            raise OSError(28, "the disk took only a part of it")
        os.fdatasync(self._descriptor)
        self._size += len(whole)
        self._waiting.clear()
        if self._size >= MAX_BYTES:
            self.seal()

    def _begin(self) -> None:
        self._first = self.seq - len(self._waiting) + 1
        self._spool.mkdir(exist_ok=True)  # another recorder that ended may have removed it
        self._path = self._spool / f"{self.tap}-{self._first:012}{SUFFIX}"
        self._descriptor = _locked(self._path)
        self._size = 0

    def seal(self) -> Path | None:
        """Make a segment of all that was flushed since the last one. Return its path, or None if there is nothing."""
        if self._descriptor < 0:
            return None
        try:
            sealed = _publish(self._path)
        finally:
            os.close(self._descriptor)
            self._descriptor = -1
        self.segments += 1
        return sealed

    def close(self) -> None:
        self.flush()
        self.seal()
        with contextlib.suppress(OSError):
            self._spool.rmdir()  # fails, and the folder stays, if another recorder has a spool there


def _locked(path: Path) -> int:
    """Return the descriptor of a new file with a lock. Another recorder that starts at this moment may have taken the
    empty file for one that was left, and removed it: then make it again."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def recover(path: Path) -> Path | None:
    """Seal the spool of a run that ended without doing so. None if that run is still active, or sealed it meanwhile, or
    left no whole line."""
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole = path.read_bytes()
            end = whole.rfind(b"\n") + 1
            if end:
                os.ftruncate(descriptor, end)
                os.fsync(descriptor)
                return _publish(path)
            path.unlink()
        finally:
            os.close(descriptor)
    return None


def _publish(path: Path) -> Path:
    """Rename a finished spool file to the name of a segment. Both are on one file system, so the rename is atomic."""
    body = path.read_bytes()
    lines = body.splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    digest = hashlib.sha256(body).hexdigest()[:8]
    target = path.parent.parent / f"{first['tap']}-{first['seq']:012}-{last['seq']:012}-{digest}{SUFFIX}"
    path.rename(target)
    for folder in (target.parent, path.parent):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return target


# A broker has at most this many unacknowledged packets for a client, so a repeated packet is among the last so many.
WINDOW: Final = 65_535


class DuplicateFilter:
    """The last packets that are on disk. A repeated packet has the same id, topic and bytes."""

    def __init__(self) -> None:
        self._order: deque[bytes] = deque()
        self._counts: dict[bytes, int] = {}

    def add(self, packet_id: int, topic: str, payload: bytes) -> None:
        key = _key(packet_id, topic, payload)
        self._order.append(key)
        self._counts[key] = self._counts.get(key, 0) + 1
        if len(self._order) > WINDOW:
            oldest = self._order.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]

    def has(self, packet_id: int, topic: str, payload: bytes) -> bool:
        return _key(packet_id, topic, payload) in self._counts

    def __len__(self) -> int:
        return len(self._order)


def known_in(folder: Path) -> DuplicateFilter:
    """Return the packets in the newest segments of the folder, as an earlier run left them."""
    lines: deque[bytes] = deque()
    for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
        lines.extendleft(reversed(path.read_bytes().splitlines()))
        if len(lines) >= WINDOW:
            break
    known = DuplicateFilter()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # not a line of ours
            found = json.loads(line)
            if found["packet_id"]:
                known.add(found["packet_id"], found["topic"], base64.b64decode(found["raw"]))
    return known


def _key(packet_id: int, topic: str, payload: bytes) -> bytes:
    return blake2b(b"%d %s\0" % (packet_id, topic.encode()) + payload, digest_size=16).digest()
