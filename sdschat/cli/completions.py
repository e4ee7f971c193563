"""`sdschat completions`: print the completion script of a shell."""

from __future__ import annotations

from typing import Final

import click

# In the scripts of Click: no space behind a value such as NAME=, which goes on. Fish adds none by itself.
_NO_SPACE: Final = {
    "COMPREPLY+=($value)": "COMPREPLY+=($value); [[ $value == *= ]] && compopt -o nospace",
    "compadd -U": 'local -a end; [[ "$completions[1]" == *= ]] && end=(-S ""); compadd "${end[@]}" -U',
}


@click.command("completions")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      cd ~/.local/share/bash-completion/completions
      sdschat completions bash > sdschat
      sdschat completions zsh > "${fpath[1]}/_sdschat"
      sdschat completions fish > ~/.config/fish/completions/sdschat.fish
    """
    from click.shell_completion import get_completion_class

    from sdschat.cli.lazy import COMPLETE
    from sdschat.cli.program import program

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(program, {}, "sdschat", COMPLETE).source()
    for before, after in _NO_SPACE.items():
        script = script.replace(before, after)
    click.echo(script)
