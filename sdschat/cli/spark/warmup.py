"""`sdschat pipeline warmup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sdschat.cli.options import say
from sdschat.cli.where import where_options

if TYPE_CHECKING:
    from sdschat.pipeline.session import Where


@click.command("warmup")
@where_options
def command(where: Where) -> None:
    """Make the class archive, with which Spark starts in about half the time.

    Once for each Java and each version of Spark; it takes half a minute, and about 180 MiB of the cache folder.
    """
    from sdschat.pipeline.session.warm import warm_up

    say("a training run of Spark; this takes a while")
    found = warm_up(where)
    click.echo(f"{found.archive} ({found.size >> 20} MiB, {found.seconds:.0f} s)")
