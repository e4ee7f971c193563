"""One mutation and the tests, in a copy of the tree."""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutation.draw import Mutation

LIMIT: Final = 300.0  # seconds of processor time for all tests of one mutation
_LONGEST: Final = 30  # seconds that a single test may take; one that never ends is a test that fails
_PATIENCE: Final = 4  # seconds by the clock for each of them: other programs may have the processor
_FIRST: Final = 4  # files of tests that are run before the others are collected
_NO_TESTS: Final = 5  # the status of pytest where it found none
_MEMORY: Final = 6 * 1024**3
_NOT_COPIED: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "node_modules", "screenshots", "snapshots", "build", "dist", "*.egg-info"
)
_ENVIRONMENT: Final = {"SDSCHAT_SIM_SEEDS": "40", "PYTHONHASHSEED": "0"}
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Outcome(NamedTuple):
    result: str  # killed, survived, timed out
    by: str  # the test that failed, where one did
    seconds: float

    @property
    def test(self) -> str:
        """The test that failed, with all its parameters."""
        return self.by.partition("[")[0]


class Copy:
    """A copy of the tree for one worker. `stop` from another thread ends the running tests."""

    def __init__(self, root: Path, folder: Path, patience: int = _PATIENCE) -> None:
        """`patience`: seconds by the clock for each second of processor time that the limit allows."""
        self.root = folder / "tree"
        self._temporary = folder / "tmp"
        shutil.copytree(root, self.root, ignore=_NOT_COPIED)
        self._running: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._changes = 0
        self._patience = patience

    def trial(
        self,
        mutation: Mutation,
        tests: Sequence[str],
        limit: float = LIMIT,
        *,
        likely: Sequence[str] = (),
        without: Collection[str] = (),
    ) -> Outcome:
        """Put the mutation in, run the tests but for some (`without`), and take it out again. `likely` go first."""
        path = self.root / mutation.path
        source, kept = path.read_bytes(), path.stat()
        path.write_bytes(mutation.of(source))
        # Python tells changed code by size and date, in whole seconds: no two changes may have the same.
        self._changes += 1
        os.utime(path, (kept.st_mtime, kept.st_mtime + 10 * self._changes))
        try:
            # To collect all tests takes longer than most mutations live.
            left_out = [f"--deselect={test}" for test in without]
            soonest = self.run_tests([*likely, *left_out], limit) if likely else None
            if soonest is not None and soonest.test in likely:
                return soonest
            first = self.run_tests([*tests[:_FIRST], *left_out], limit)
            if first.result != "survived" or len(tests) <= _FIRST:
                return first
            outcome = self.run_tests([*tests[_FIRST:], *left_out], limit)
            return outcome._replace(seconds=first.seconds + outcome.seconds)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))

    def run_tests(self, arguments: Sequence[str], limit: float = LIMIT) -> Outcome:
        began = time.monotonic()
        self._clean()
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-rfE",
            f"--timeout={_LONGEST * _PATIENCE}",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--hypothesis-seed=0",
            *arguments,
        ]
        output = self._run(command, limit)
        seconds = time.monotonic() - began
        if output is None:
            return Outcome("timed out", "", seconds)
        code, text = output
        if code in (0, _NO_TESTS):
            return Outcome("survived", "", seconds)
        failed = _FAILED.search(text)
        return Outcome("killed", failed[1] if failed else f"pytest ended with {code}", seconds)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._running is not None:
                _kill(self._running)

    def _run(self, command: Sequence[str], limit: float) -> tuple[int, str] | None:
        environment = os.environ | _ENVIRONMENT | {"PYTHONPATH": str(self.root), "TMPDIR": str(self._temporary)}
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            running = self._running = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(running.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            processor = math.ceil(limit)
            resource.prlimit(running.pid, resource.RLIMIT_CPU, (processor, processor))
        try:
            text, _ = running.communicate(timeout=self._patience * limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _kill(running)  # also what the tests have left behind
            running.communicate()
            self._running = None
        if self._stopped:
            raise KeyboardInterrupt
        if running.returncode == -signal.SIGKILL:  # by the system, at the limit of processor time
            return None
        return running.returncode, text

    def _clean(self) -> None:
        """Delete the files that tests leave between runs, because they would change the next run."""
        for folder in (self.root / ".hypothesis", self._temporary):
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary.mkdir()


def _kill(running: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, signal.SIGKILL)
