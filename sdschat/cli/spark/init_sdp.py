"""`sdschat pipeline init-sdp`."""

from __future__ import annotations

from pathlib import Path

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, FilePath, say
from sdschat.cli.spark.common import lake_option


@click.command("init-sdp")
@click.argument("folder", metavar="DIR", type=FilePath())
@lake_option
def command(folder: Path, lake: str) -> None:
    """Write a project for Spark Declarative Pipelines over a lake.

    \b
    Example:
      sdschat pipeline init-sdp nightly --lake /data/lake
      cd nightly
      spark-pipelines run --conf spark.sql.catalogImplementation=hive
    """
    from sdschat.pipeline.sdp import init_sdp

    root = lake if "://" in lake else str(Path(lake).absolute())
    try:
        written = init_sdp(folder, root)
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be written: {error.strerror}. Name another folder.", WRONG_USE
        ) from error
    for path in written:
        click.echo(str(path))
    say("it needs pip install 'pyspark[pipelines]'; spark-pipelines dry-run checks it")
