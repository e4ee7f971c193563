"""`sdschat simulate`: groups of participants without a network, one seed each, or whole grids of settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from sdschat.cli.errors import FILE, FilePath

EXAMPLES = """\b
Examples:
  sdschat simulate --seeds 1000                 are all promises kept?
  sdschat simulate --first 57 --seeds 1 --show  the conversation of one seed
  sdschat simulate --grid loss --lake lake      how settings fare: a report
  sdschat simulate --grid loss --lake lake --seeds 2  with fewer seeds: faster
  sdschat simulate --with participants=1000 --with loss=0.1 --seed 3
  sdschat simulate --compare                    do model and engine agree?
  sdschat simulate --compare --participants 30 --with loss=0.4

Exit code 0: all is well; 1: a promise was broken, a run failed, or model and engine differ; 2: wrong use.
"""

_PROFILES: Final = ("mixed", "plain", "varied", "equivalence")
_OF: Final = {  # the options of each way to use this command
    "--grid": {"grid", "lake", "on_spark", "master", "remote", "pairs", "pictures", "seeds", "jobs"},
    "--compare": {"comparing", "participants", "changes", "seeds", "jobs", "lake", "pictures"},
    "--with": {"changes", "seed", "lake"},
    "checking promises": {"seeds", "first", "profile", "show", "jobs", "reach"},
}


_MOST: Final = 1_000_000_000  # seeds


@click.command("simulate", help=f"Simulate groups of participants: every run follows from its seed.\n\n{EXAMPLES}")
@click.option("--seeds", type=click.IntRange(1, _MOST), metavar="N", help="Seeds. Default: 200, or what the grid says.")
@click.option("--first", type=click.IntRange(0, _MOST), default=0, metavar="N", help="The first of them. Default: 0.")
@click.option("--profile", type=click.Choice(_PROFILES), default="mixed", help="Kind of stories and checks.")
@click.option("--show", is_flag=True, help="Print the conversations of the seeds instead of running them.")
@click.option("--reach", is_flag=True, help="Print how many seeds met each rare situation.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes. Default: one a core.")
@click.option("--grid", type=FILE, help="A grid of settings: a TOML file, or ci, groups, loss or timers.")
@click.option(
    "--lake", metavar="DIR", type=FilePath(), help="Keep runs here. A second start does only the missing ones."
)
@click.option("--on-spark", is_flag=True, help="Spread the runs of a grid with Spark rather than processes.")
@click.option("--master", metavar="URL", default="", help="With Spark: local[N], spark://, yarn or k8s://.")
@click.option("--remote", metavar="URL", default="", help="With Spark: a Connect server, sc://host:port.")
@click.option("--conf", "pairs", metavar="KEY=VALUE", multiple=True, help="A setting of Spark; repeatable.")
@click.option("--pictures", metavar="DIR", type=FilePath(), help="Folder of page and plots. Default: beside the runs.")
@click.option(
    "--with",
    "changes",
    metavar="NAME=VALUE",
    multiple=True,
    help="One run: what differs from the defaults, which it prints. A time is 30s or 500ms.",
)
@click.option("--seed", type=click.IntRange(0), default=0, metavar="N", help="One run: its seed. Default: 0.")
@click.option("--compare", "comparing", is_flag=True, help="Compare the model with the engine, figure by figure.")
@click.option("--participants", metavar="N,…", default="10,100", help="Compare: groups of so many. Default: 10,100.")
@click.pass_context
def command(
    context: click.Context,
    seeds: int | None,
    first: int,
    profile: str,
    show: bool,
    reach: bool,
    jobs: int | None,
    grid: str | None,
    lake: Path | None,
    on_spark: bool,
    master: str,
    remote: str,
    pairs: tuple[str, ...],
    pictures: Path | None,
    changes: tuple[str, ...],
    seed: int,
    comparing: bool,
    participants: str,
) -> int:
    jobs = jobs or os.cpu_count() or 1
    if grid is not None:
        _only(context, "--grid")
        from sdschat.cli import simulate_grid
        from sdschat.cli.spark.common import chosen_target

        if not lake:
            raise click.UsageError("--grid needs --lake DIR, where the runs are kept.")
        target = chosen_target(master, remote, pairs) if on_spark or master or remote or pairs else None
        return simulate_grid.run_grid(grid, seeds, lake, pictures, jobs, target)
    if comparing:
        _only(context, "--compare")
        from sdschat.cli import simulate_grid

        return simulate_grid.run_comparison(_numbers(participants), seeds, changes, lake, pictures, jobs)
    if changes:
        _only(context, "--with")
        from sdschat.cli import simulate_grid

        return simulate_grid.run_one(changes, seed, lake)
    _only(context, "checking promises")
    from sdschat.sim.runner import tell_seeds

    return tell_seeds(range(first, first + (seeds or 200)), jobs, profile, show=show, reach=reach)


def _only(context: click.Context, way: str) -> None:
    """Raise UsageError for an option that has no effect in this use: the user meant something else."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _OF[way] and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            others = " or ".join(other for other, names in _OF.items() if name in names)
            raise click.UsageError(f"{parameter.opts[0]} is for {others}, and does nothing with {way}.")


def _numbers(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--participants {text!r} is not numbers with commas between, as in 10,100.") from None
    if any(number < 2 for number in found):
        raise click.UsageError("--participants: a group has two or more.")
    return list(dict.fromkeys(found))
