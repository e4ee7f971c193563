"""`sdschat pipeline archive`."""

from __future__ import annotations

import click

from sdschat.cli.errors import CommandProblem, say
from sdschat.cli.output import counted
from sdschat.cli.spark.common import lake_option, open_lake, step, target_options
from sdschat.pipeline.session import SparkTarget


@click.command("archive")
@lake_option
@target_options
def command(lake: str, target: SparkTarget) -> None:
    """Sort the canonical log by id and by place, to be read from without Spark.

    \b
    Examples:
      sdschat pipeline archive --lake lake
      sdschat pipeline get --lake lake 3fa9…    a message, in milliseconds
    """
    from sdschat.audit.schemas import Log, Message
    from sdschat.pipeline.archive import write_archive

    with open_lake(target, lake) as there, step("archive"):
        log = there.read(Log)
        if log.isEmpty():
            raise CommandProblem(f"There is no canonical log in {lake}: `sdschat pipeline consolidate` makes it.")
        packets = there.read(Message).where("raw IS NOT NULL").select("run_id", "channel", "message_id", "raw")
        count = write_archive(log, packets.dropDuplicates(["run_id", "channel", "message_id"]), there.tables.root)
    say(counted(count, "message"))
