"""What the commands of the pipeline share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sdschat.cli.options import say

if TYPE_CHECKING:
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.session import Where

F = TypeVar("F", bound=Callable[..., Any])

lake_option: Final = click.option("--lake", metavar="DIR", required=True, help="Where the tables are.")
settle_option: Final = click.option(
    "--settle", metavar="TIME", default="2m", help="For how long a node may lag behind. Default: 2m."
)


@contextmanager
def open_lake(where: Where, root: str) -> Iterator[Lake]:
    """A session and the lake in it."""
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.session import spark

    with spark(where) as session:
        yield Lake(session, root)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Tells the person what is being done, and how long it took."""
    began = time.monotonic()
    yield
    say(f"{name}: {time.monotonic() - began:.1f} s")


def milliseconds(text: str) -> int:
    """Raises BadParameter for what is no duration."""
    from sdschat.node.settings import duration

    try:
        return duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--settle") from error
