"""Options, helper functions, and the choices of Spark and of the engine, shared by the commands of the pipeline."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sdschat.audit.schemas import FIELD
from sdschat.cli.audit_report import refused_where, refused_why
from sdschat.cli.errors import WRONG_USE, CommandProblem, say
from sdschat.cli.logs import log_folder
from sdschat.cli.output import safe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.audit.schemas import Quarantine
    from sdschat.audit.verdict import Rules
    from sdschat.lake.engine import LakeEngine
    from sdschat.lake.ingest import Added
    from sdschat.lake.tables import Tables
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.session import SparkTarget


F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option("--master", metavar="URL", default="", help="local[N], spark://, yarn or k8s://. Default: local[*]."),
    click.option("--remote", metavar="URL", default="", help="A Spark Connect server: sc://host:port."),
    click.option("--conf", "pairs", metavar="KEY=VALUE", multiple=True, help="A setting of Spark; repeatable."),
)


def target_options(command: F) -> F:
    """Add these options; the command gets one argument `target` in place of them."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        target = chosen_target(given.pop("master"), given.pop("remote"), given.pop("pairs"))
        return command(target=target, **given)

    decorated: Any = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def chosen_target(master: str, remote: str, pairs: tuple[str, ...]) -> SparkTarget:
    from sdschat.pipeline.session.spark_target import SparkTarget

    conf: list[tuple[str, str]] = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--conf {pair!r} is not KEY=VALUE, as in spark.driver.memory=4g.")
        conf.append((key.strip(), value.strip()))
    target = SparkTarget(master, remote, tuple(conf), cache_folder(), log_folder() / "spark.log")
    if problem := target.problem():
        raise click.UsageError(problem)
    return target


def cache_folder(of: str = "pipeline") -> Path:
    """Return the folder of files kept between runs, which can be deleted at any time."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("sdschat", appauthor=False)) / of


_SHOWN: Final = 10


def _some_lake(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("is empty. Name the folder where the tables are, or are to be.")
    return value


lake_option: Final = click.option(
    "--lake", metavar="DIR", required=True, callback=_some_lake, help="Folder of the tables."
)
run_option: Final = click.option(
    "--run", "run_id", metavar="NAME", default=FIELD, help="Keeps campaigns apart. Default: field."
)
settle_option: Final = click.option(
    "--settle", metavar="TIME", default="2m", help="For how long a node may lag behind. Default: 2m."
)


@contextmanager
def open_lake(target: SparkTarget, root: str) -> Iterator[Lake]:
    from sdschat.lake.tables import has_few_rows

    with open_spark(replace(target, few=has_few_rows(tables_of(root)))) as session:
        from sdschat.pipeline.lake import Lake

        there = Lake(session, root)
        try:
            yield there
        finally:
            there.forget()


def new_or_old_lake(root: str) -> Tables:
    """Return the tables of a lake that is there, or is to be. Raises CommandProblem if it cannot be written."""
    from sdschat.lake.tables import Tables

    tables = Tables(root)
    if tables.folder is not None:
        must_be_folder(tables.folder, "--lake")
    return tables


def tables_of(root: str) -> Tables:
    """Return the tables of a lake. Raises CommandProblem if there is none, or nothing was taken in: before the work."""
    from sdschat.lake.tables import OF_BRONZE, Tables

    tables = Tables(root)
    if tables.folder is not None and not tables.folder.is_dir():
        raise CommandProblem(
            f"There is no lake in {root}. Make one with `sdschat pipeline ingest SOURCE… --lake {root}`.", WRONG_USE
        )
    if not any(table in tables for table in OF_BRONZE):
        raise CommandProblem(
            f"Nothing was taken in here: {root}. `sdschat pipeline ingest SOURCE… --lake {root}` does that.", WRONG_USE
        )
    return tables


@contextmanager
def open_spark(target: SparkTarget) -> Iterator[SparkSession]:
    """Open a working session. If this takes long, tell the user the reason for the wait."""
    from sdschat.pipeline.session import spark
    from sdschat.pipeline.session.start import told_what_for, until_it_works

    chosen = target.resolved()
    with ExitStack() as stack:
        with shown_meanwhile("starting Spark"), told_what_for(f"still waiting for Spark at {chosen.shown}", say):
            session = stack.enter_context(spark(target))
            until_it_works(session, chosen, say)
        yield session


def must_be_folder(folder: Path, option: str) -> None:
    """Make the folder, or raise CommandProblem: before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be a folder to write to: {error.strerror}. Choose another {option}.", WRONG_USE
        ) from error
    if not os.access(folder, os.W_OK):
        raise CommandProblem(f"{folder} cannot be written: permission denied. Choose another {option}.", WRONG_USE)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Tell the user the name of the step, and afterwards how long it took."""
    began = time.monotonic()
    with shown_meanwhile(name):
        yield
    say(f"{name}: {time.monotonic() - began:.1f} s")


@contextmanager
def shown_meanwhile(name: str) -> Iterator[None]:
    """Show the name of the step on a terminal while it runs, because Spark may take minutes."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    if watched:
        sys.stderr.write(f"{name} …\r")
        sys.stderr.flush()
    try:
        yield
    finally:
        if watched:
            sys.stderr.write("\x1b[K")
            sys.stderr.flush()


def added_lines(found: Iterable[Added]) -> Iterator[str]:
    for row in found:
        if row.read or row.added:
            yield f"{row.table:10} {row.read:10,} read  {row.added:10,} added"


def tell_refused(bad: Sequence[Quarantine]) -> None:
    for each in bad[:_SHOWN]:
        say(f"not taken: {refused_where(each)}: {refused_why(each)}")
    if len(bad) > _SHOWN:
        say(f"… and {len(bad) - _SHOWN} more; the table quarantine has all of them")


def tell_cut_logs(paths: Iterable[Path], bad: Iterable[Quarantine]) -> None:
    """Warn of copies that could be read, and lack the latest writes of their node."""
    from sdschat.store.files import beside, log_fault

    unread = {row.source for row in bad}
    for path in paths:
        in_use = beside(path, ".lock").exists()  # its node may be writing just now
        if str(path) not in unread and not in_use and (fault := log_fault(path)):
            say(
                f"warning: {safe(str(path))}: its -wal file {fault}, so the latest writes of this node are not in the "
                "copy. Copy both files again, with the node stopped"
            )


def milliseconds(text: str, option: str = "--settle") -> int:
    """Return a duration in milliseconds. Raises BadParameter if the text is not a duration."""
    from sdschat.node.quantities import duration

    try:
        return duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def rules_of(settle: str) -> Rules:
    from sdschat.audit.verdict import DEFAULT

    return DEFAULT._replace(settle=milliseconds(settle))


SPARK: Final = "spark"
DUCKDB: Final = "duckdb"

engine_option: Final = click.option(
    "--engine",
    type=click.Choice([SPARK, DUCKDB]),
    default=SPARK,
    show_default=True,
    help="What computes the answers. duckdb: without Java, in seconds, on a lake in a folder of this machine.",
)


def check_engine(engine: str, target: SparkTarget, root: str) -> None:
    from sdschat.lake.tables import folder_of

    if engine == SPARK:
        return
    if target.named:
        raise click.UsageError("--engine duckdb runs without Spark. Leave out --master, --remote and --conf.")
    if folder_of(root) is None:
        raise click.UsageError(f"--engine duckdb reads folders of this machine, not {root}. Use --engine spark.")
    import duckdb  # noqa: F401 - before the work, not in the middle of it


@contextmanager
def open_lake_engine(target: SparkTarget, root: str, engine: str, *, writes: bool = True) -> Iterator[LakeEngine]:
    check_engine(engine, target, root)
    folder = tables_of(root).folder
    if writes and folder is not None:
        must_be_folder(folder, "--lake")
    with _alone(folder):
        if engine == DUCKDB and folder is not None:
            from sdschat.lake.duck import open_duck

            with open_duck(folder) as duck:
                yield duck
            return
        if folder is not None and not target.named and target.resolved().master.startswith("local"):
            say("Spark computes the answers; for a lake on this machine, --engine duckdb does so in seconds")
        with open_lake(target, root) as there:
            yield there


def _alone(folder: Path | None) -> AbstractContextManager[None]:
    """Lock the answers of a lake in a folder: of two audits at once, one would remove what the other wrote."""
    from sdschat.audit.processes import alone

    if folder is None:
        return nullcontext()
    busy = f"another audit is writing to {folder}; wait for it to end, and start this one again."
    return alone(folder / ".audit.lock", busy)
