"""`sdschat simulate`: groups of participants without a network, one seed each."""

from __future__ import annotations

import click


@click.command(
    "simulate", context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)  # fmt: skip
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Simulate groups of participants; see `sdschat simulate --help`."""
    from sdschat.sim.runner import main

    try:
        return main(list(arguments))
    except SystemExit as ended:  # its own parser of options: 0 for --help, 2 for wrong use
        return ended.code if isinstance(ended.code, int) else 2
