"""`sdschat version`: the same as `--version`."""

from __future__ import annotations

import click


@click.command("version")
def command() -> None:
    """Print the version.

    \b
    Examples:
      sdschat version
      sdschat -V
    """
    from sdschat import __version__

    click.echo(f"sdschat, version {__version__}")
