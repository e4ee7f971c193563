"""`sdschat pipeline submit-args`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sdschat.cli.where import where_options

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where


@click.command("submit-args", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND…")
@where_options
def command(arguments: tuple[str, ...], where: Where) -> None:
    """Print the spark-submit command that runs a command of the pipeline on a cluster.

    \b
    Example:
      sdschat pipeline submit-args --master k8s://https://host:6443 -- audit --lake s3a://bucket/lake
    """
    from sdschat.pipeline.session.submit import submit_command

    assert where.cache is not None
    click.echo(submit_command(where, arguments, where.cache))
