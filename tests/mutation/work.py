"""The trials of a run, several at a time, each worker with a copy of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue

from tests.mutation import suites
from tests.mutation.draw import Mutation
from tests.mutation.killers import Killers
from tests.mutation.suites import Suite
from tests.mutation.trial import LIMIT, Copy, Outcome

Told = Callable[[Mutation, Outcome], None]


def run(
    root: Path,
    chosen: Sequence[Suite],
    untried: Sequence[Mutation],
    jobs: int,
    told: Told,
    say: Callable[[str], None],
    killers: Killers,
    patience: int,
) -> None:
    """Try each mutation, and report its outcome. Nothing is left behind, also if it is interrupted.

    A test that kills is run without the mutation too, the first time. If it fails then, it kills nothing."""
    with tempfile.TemporaryDirectory(prefix="sdschat-mutation-") as folder:
        Path(folder).chmod(0o755)  # some tests look at files as another user
        copies = [Copy(root, Path(folder) / str(number), patience) for number in range(max(1, min(jobs, len(untried))))]
        try:
            with ThreadPoolExecutor(len(copies)) as pool:
                try:
                    _try_all(pool, copies, chosen, untried, told, say, killers)
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
    killers: Killers,
) -> None:
    free: SimpleQueue[Copy] = SimpleQueue()
    for one in copies:
        free.put(one)
    sound: set[str] = set()
    failing: set[str] = set()

    def attempt(mutation: Mutation) -> Outcome:
        copy = free.get()
        try:
            suite = suites.suite_of(chosen, mutation.path)
            paths = suites.ordered(copy.root, suites.files(copy.root, suite), suite, mutation.path)
            while True:
                likely = [test for test in killers.of(mutation.path) if test not in failing]
                outcome = copy.trial(mutation, paths, LIMIT, likely=likely, without=sorted(failing))
                test = outcome.test
                if "::" not in test or test in sound:
                    return outcome
                if copy.run_tests([test]).result == "survived":
                    sound.add(test)
                    return outcome
                say(f"{test} fails without a mutation: it does not count")
                failing.add(test)
        finally:
            free.put(copy)

    # Those of files whose killers are known take little time, so they go first.
    order = sorted(untried, key=lambda mutation: not killers.of(mutation.path))
    waiting: dict[Future[Outcome], Mutation] = {pool.submit(attempt, mutation): mutation for mutation in order}
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            mutation = waiting.pop(future)
            killers.add(mutation.path, future.result().test)
            told(mutation, future.result())
