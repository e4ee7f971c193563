"""The trials of a run, several at a time, each worker with a copy of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue

from tests.mutation import suites
from tests.mutation.draw import Mutation
from tests.mutation.suites import Suite
from tests.mutation.trial import LIMIT, Copy, Outcome

Told = Callable[[Mutation, Outcome], None]


class Unsound(Exception):
    """The tests fail without any mutation."""


def run(
    root: Path, chosen: Sequence[Suite], untried: Sequence[Mutation], jobs: int, told: Told, say: Callable[[str], None]
) -> None:
    """Try each mutation, and report its outcome. Nothing is left behind, also if it is interrupted."""
    with tempfile.TemporaryDirectory(prefix="sdschat-mutation-") as folder:
        Path(folder).chmod(0o755)  # some tests look at files as another user
        copies = [Copy(root, Path(folder) / str(number)) for number in range(max(1, min(jobs, len(untried))))]
        try:
            with ThreadPoolExecutor(len(copies)) as pool:
                try:
                    _try_all(pool, copies, chosen, untried, told, say)
                except BaseException:
                    for one in copies:
                        one.stop()
                    pool.shutdown(cancel_futures=True)
                    raise
        finally:
            for one in copies:
                one.stop()


def _try_all(
    pool: ThreadPoolExecutor,
    copies: Sequence[Copy],
    chosen: Sequence[Suite],
    untried: Sequence[Mutation],
    told: Told,
    say: Callable[[str], None],
) -> None:
    needed = [suite for suite in chosen if any(suites.suite_of(chosen, one.path) == suite for one in untried)]
    free: SimpleQueue[Copy] = SimpleQueue()
    for one in copies:
        free.put(one)

    def sound(suite: Suite) -> dict[str, float]:
        copy = free.get()
        try:
            say(f"{suite.package}: its tests without a mutation")
            return _sound(copy, suite)
        finally:
            free.put(copy)

    seconds: dict[str, float] = {}
    for found in [pool.submit(sound, suite) for suite in needed]:
        seconds |= found.result()

    def attempt(mutation: Mutation) -> Outcome:
        copy = free.get()
        try:
            suite = suites.suite_of(chosen, mutation.path)
            paths = suites.files(copy.root, suite)
            return copy.trial(mutation, suites.ordered(paths, seconds, suite, mutation.path))
        finally:
            free.put(copy)

    waiting: dict[Future[Outcome], Mutation] = {pool.submit(attempt, mutation): mutation for mutation in untried}
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            told(waiting.pop(future), future.result())


def _sound(copy: Copy, suite: Suite) -> dict[str, float]:
    """The time that each file of tests takes. Raises Unsound if one fails without a mutation."""
    report = copy.root / "report.xml"
    outcome = copy.run_tests([*suites.files(copy.root, suite), f"--junitxml={report}"], 4 * LIMIT)
    if outcome.result != "survived":
        raise Unsound(f"{suite.package}: {outcome.by or 'its tests'} fails, or ends too late, without any mutation")
    return suites.seconds_of(report)
