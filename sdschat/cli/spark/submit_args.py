"""`sdschat pipeline submit-args`."""

from __future__ import annotations

import shlex
from typing import Final

import click

from sdschat.cli.errors import say
from sdschat.cli.spark.common import target_options
from sdschat.identity.handwritten import did_you_mean
from sdschat.pipeline.session import SparkTarget

WITHOUT_SPARK: Final = frozenset({"get", "doctor", "warmup", "submit-args", "init-sdp"})
_WHERE: Final = {"master": "--master", "remote": "--remote", "pairs": "--conf"}


@click.command("submit-args", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND…")
@target_options
def command(arguments: tuple[str, ...], target: SparkTarget) -> None:
    """Print the spark-submit command that runs a command of the pipeline on a cluster.

    \b
    Example:
      sdschat pipeline submit-args --master yarn -- audit --lake s3a://a/lake

    Files are named as they are on the machine that submits it. A Connect client is not submitted: with --remote, the
    command that runs it there is printed.
    """
    from sdschat.pipeline.session.package_files import connect_command, submit_command
    from sdschat.pipeline.session.spark_target import TargetKind

    must_be_right(arguments)
    chosen = target.resolved()
    if chosen.kind is TargetKind.CONNECT:
        say(
            f"{chosen.shown} is a Connect server, which has its own Spark: nothing is submitted to it, and its client "
            "runs here as it is."
        )
        click.echo(connect_command(chosen, arguments))
        return
    assert chosen.cache is not None
    click.echo(submit_command(chosen, arguments, chosen.cache))


def must_be_right(arguments: tuple[str, ...]) -> None:
    """Raise UsageError for arguments that would be refused: a cluster would report it only after a long wait."""
    from sdschat.cli.pipeline import COMMANDS
    from sdschat.cli.pipeline import command as group

    name, *rest = arguments
    name = name.strip()
    with_spark = [each for each in COMMANDS if each not in WITHOUT_SPARK]
    if name in WITHOUT_SPARK:
        here = shlex.join(["sdschat", "pipeline", *arguments])
        raise click.UsageError(f"{name} needs no Spark, so there is nothing to submit. Run it here: {here}")
    context = click.get_current_context()
    found = group.get_command(context, name)
    if found is None:
        hint = did_you_mean(name, with_spark, f"There are: {', '.join(with_spark)}.")
        raise click.UsageError(f"There is no command {name!r} of the pipeline. {hint}")
    with found.make_context(f"sdschat pipeline {name}", list(rest)) as asked:
        given = [option for parameter, option in _WHERE.items() if asked.params.get(parameter)]
    if given:
        raise click.UsageError(f"{given[0]} is about where {name} runs: it stands before the --, or leave that out.")
