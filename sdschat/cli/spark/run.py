"""`sdschat pipeline run`: all stages."""

from __future__ import annotations

from pathlib import Path

import click

from sdschat.cli.audit_report import all_option
from sdschat.cli.errors import FilePath, say
from sdschat.cli.spark import common
from sdschat.cli.spark.audit import judge, tell_verdict
from sdschat.cli.spark.ingest import sources_in, take_in
from sdschat.cli.spark.report import output_option, write_report
from sdschat.pipeline.session import SparkTarget


@click.command("run")
@click.argument("sources", nargs=-1, metavar="[SOURCE…]", type=FilePath())
@common.lake_option
@output_option
@common.settle_option
@common.run_option
@click.option("--json", "as_json", is_flag=True, help="The verdict as one JSON object.")
@all_option
@common.engine_option
@common.target_options
def command(
    sources: tuple[Path, ...],
    lake: str,
    output: Path,
    settle: str,
    run_id: str,
    as_json: bool,
    everything: bool,
    engine: str,
    target: SparkTarget,
) -> int:
    """Ingest what is named, consolidate, audit, figures, report: one after the other.

    \b
    Examples:
      sdschat pipeline run ~/.local/share/sdschat/profiles --lake lake
      sdschat pipeline run --lake lake -o report.html

    Exit code 0: the nodes agree; 1: they do not; 2: there is nothing to compare; 5: an input could not be read.
    """
    from sdschat.lake.figures import measure

    rules = common.rules_of(settle)
    common.check_engine(engine, target, lake)
    paths = sources_in(sources)
    if paths:
        added, bad = take_in(paths, lake, run_id)
        for line in common.added_lines(added):
            say(line)
        common.tell_refused(bad)
    with common.open_lake_engine(target, lake, engine) as there:
        judge(there, rules)
        with common.step("metrics"):
            grain = measure(there, keep=True)
        code = tell_verdict(there, None, as_json, everything)
        write_report(there, lake, grain, output)
    return code
