"""`sdschat pipeline warmup`."""

from __future__ import annotations

import time

import click

from sdschat.cli.errors import say
from sdschat.cli.spark.common import target_options
from sdschat.pipeline.session import SparkTarget


@click.command("warmup")
@target_options
def command(target: SparkTarget) -> None:
    """Make the class archive, with which Spark starts in about half the time.

    Once for each Java and each version of Spark; it takes a minute, and about 190 MiB of the cache folder. It is
    for Spark that is started here: by itself, or as the driver of a cluster.
    """
    from sdschat.pipeline.session.spark_target import TargetKind

    if target.resolved().kind is TargetKind.CONNECT:
        raise click.UsageError(
            f"Spark at {target.resolved().shown} is started there, not here: nothing is to be made for it. Leave out "
            "--remote (and unset SPARK_REMOTE) to make the archive for Spark that is started here."
        )
    if target.conf:
        raise click.UsageError("--conf does nothing here: the archive is the same for all settings of Spark.")
    from sdschat.pipeline.session.java import warm_up

    say("a training run of Spark; this takes a while")
    began = time.monotonic()
    archive = warm_up(target)
    click.echo(f"{archive} ({archive.stat().st_size >> 20} MiB, {time.monotonic() - began:.0f} s)")
