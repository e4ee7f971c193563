"""`sdschat version`: as `--version` prints it, or with the versions of what others have to agree on."""

from __future__ import annotations

import click


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="With the versions of topics, content and database, as JSON.")
def command(as_json: bool) -> None:
    """Print the version.

    \b
    Examples:
      sdschat version
      sdschat version --json
      sdschat -V
    """
    from sdschat import __version__

    if not as_json:
        click.echo(f"sdschat, version {__version__}")
        return
    import json
    import platform

    from sdschat.store.schema import MIGRATIONS, OLDEST_READ
    from sdschat.transport.base import DEFAULT_PREFIX
    from sdschat.wire.chat_codec import PLACED_MAGIC

    told = {
        "version": __version__,
        "topics": DEFAULT_PREFIX,
        "content": PLACED_MAGIC.decode(),
        "database": MIGRATIONS[-1].number,
        "oldest_database_read": OLDEST_READ,
        "python": platform.python_version(),
    }
    click.echo(json.dumps(told, separators=(",", ":")))
