"""How far long work is: on standard error, for a person who waits there, and for nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
_EVERY: Final = 512  # so that showing costs nothing beside the work


def wanted() -> bool:
    """Whether somebody watches. Where results scroll by on the same terminal, they are the progress."""
    return _terminal(sys.stderr) and not _terminal(sys.stdout)


def shown(work: Iterable[T], what: str, total: int | None) -> Iterator[T]:
    """The same things one after the other, counted while they pass."""
    if not wanted():
        yield from work
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for count, thing in enumerate(work, 1):
            yield thing
            if count % _EVERY == 0:
                bar.update(task, completed=count)


def _terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return bool(isatty is not None and isatty())
