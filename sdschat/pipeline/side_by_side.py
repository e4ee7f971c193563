"""Tasks side by side, each after the earlier ones that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 2
_WORD: Final = re.compile(r"\w+")

Task = tuple[str, str, Callable[[], None]]  # its name, the text in which it names others, and what to do


def side_by_side(tasks: Iterable[Task]) -> None:
    """Do the tasks. Raises what the first of them raises; those that follow from it are not done."""
    begun: dict[str, Future[None]] = {}
    with _pool() as pool:
        for name, text, do in tasks:
            # Only earlier tasks are waited for, and these were begun before: so somebody always goes on.
            named = [begun[word] for word in sorted(words_of(text) & begun.keys())]
            begun[name] = pool.submit(_after, named, do)
        for each in begun.values():
            each.result()


def results(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """Return what each of the tasks returns, which name no others."""
    with _pool() as pool:
        return [each.result() for each in [pool.submit(do) for do in tasks]]


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads. After an error nobody waits for what goes on: Spark, which does it, is stopped."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _after(named: Iterable[Future[None]], do: Callable[[], None]) -> None:
    for each in named:
        each.result()
    do()
