"""The engine that answers: DuckDB for a lake in a folder of this machine, Spark for all others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from sdschat.cli.spark.common import must_be_lake, must_have_rows, open_lake

if TYPE_CHECKING:
    from pathlib import Path

    from sdschat.lake.asked import Asked
    from sdschat.pipeline.session import Where

SPARK: Final = "spark"
DUCKDB: Final = "duckdb"
_LOCK: Final = ".audit.lock"

engine_option: Final = click.option(
    "--engine",
    type=click.Choice([SPARK, DUCKDB]),
    help="Default: duckdb for a folder of this machine, spark where --master, --remote or --conf is given.",
)


def chosen_engine(engine: str | None, where: Where, root: str) -> str:
    """Return the engine. Raises UsageError if the one that was named cannot read this lake."""
    from sdschat.lake.places import folder_of

    if engine == SPARK:
        return SPARK
    named = bool(where.master or where.remote or where.conf)
    if engine == DUCKDB:
        if named:
            raise click.UsageError("--engine duckdb runs without Spark. Leave out --master, --remote and --conf.")
        if folder_of(root) is None:
            raise click.UsageError(f"--engine duckdb reads folders of this machine, not {root}. Use --engine spark.")
        import duckdb  # noqa: F401 - before the work, not in the middle of it

        return DUCKDB
    elsewhere = named or not where.resolved().master.startswith("local") or folder_of(root) is None
    return SPARK if elsewhere or find_spec("duckdb") is None else DUCKDB


@contextmanager
def open_asked(where: Where, root: str, engine: str) -> Iterator[Asked]:
    """Open a lake with the chosen engine."""
    from sdschat.lake.duck import open_duck
    from sdschat.lake.places import folder_of

    must_be_lake(root)
    folder = folder_of(root)
    if engine == SPARK or folder is None:
        with _alone(folder), open_lake(where, root) as there:
            yield there
        return
    with _alone(folder), open_duck(folder) as asked:
        must_have_rows(asked, root)
        yield asked


@contextmanager
def _alone(folder: Path | None) -> Iterator[None]:
    """Lock the answers of a lake in a folder: of two audits at once, one would remove what the other wrote."""
    from sdschat.audit.lock import alone

    if folder is None:
        yield
        return
    with alone(folder / _LOCK, f"another audit is writing to {folder}; wait for it to end, and start this one again."):
        yield
