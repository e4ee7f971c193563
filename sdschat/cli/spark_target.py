"""The options of all pipeline commands that say on which Spark to run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sdschat.cli.logs import log_folder

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: Final = (
    click.option("--master", metavar="URL", default="", help="local[N], spark://, yarn or k8s://. Default: local[*]."),
    click.option("--remote", metavar="URL", default="", help="A Spark Connect server: sc://host:port."),
    click.option("--conf", "pairs", metavar="KEY=VALUE", multiple=True, help="A setting of Spark; repeatable."),
)


def where_options(command: F) -> F:
    """Add these options; the command gets one argument `where` in place of them."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        where = chosen_where(given.pop("master"), given.pop("remote"), given.pop("pairs"))
        return command(where=where, **given)

    decorated: Any = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def chosen_where(master: str, remote: str, pairs: tuple[str, ...]) -> Where:
    from sdschat.pipeline.session.where import Where

    conf: list[tuple[str, str]] = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--conf {pair!r} is not KEY=VALUE, as in spark.driver.memory=4g.")
        conf.append((key.strip(), value.strip()))
    where = Where(master, remote, tuple(conf), cache_folder(), log_folder() / "spark.log")
    if problem := where.problem():
        raise click.UsageError(problem)
    return where


def cache_folder(of: str = "pipeline") -> Path:
    """Return the folder of files kept between runs, which can be deleted at any time."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("sdschat", appauthor=False)) / of
