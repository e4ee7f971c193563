"""Progress of long work, on standard error, only if a person watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
_EVERY: Final = 512  # items between two updates, so that showing costs next to nothing


def wanted() -> bool:
    """True if a person watches. Results that scroll by on the same terminal are progress enough."""
    return _terminal(sys.stderr) and not _terminal(sys.stdout)


def shown(work: Iterable[T], what: str, total: int | None) -> Iterator[T]:
    """Yield the items of `work`, and show their count meanwhile."""
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
