"""`sdschat completions`: print the completion script of a shell."""

from __future__ import annotations

import click


@click.command("completions")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      sdschat completions bash > ~/.local/share/bash-completion/completions/sdschat
      sdschat completions zsh > "${fpath[1]}/_sdschat"
      sdschat completions fish > ~/.config/fish/completions/sdschat.fish
    """
    from click.shell_completion import get_completion_class

    from sdschat.cli.lazy import COMPLETE
    from sdschat.cli.program import program

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(program, {}, "sdschat", COMPLETE).source())
