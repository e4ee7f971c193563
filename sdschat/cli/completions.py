"""`sdschat completions`: print the completion script of a shell."""

from __future__ import annotations

from typing import Final

import click

# In the scripts of Click. No space stands behind a value such as NAME=, which goes on; Fish adds none by itself.
# Values of --theme=da and the like: Bash takes = and : for ends of words, so that its words are put together again, and
# what it has already is cut off the value; in zsh and Fish the option is a part of the word.
_CHANGES: Final = {
    "    local response\n": r"""    local response completion type value word typed joins=
    local -a words=()

    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ -n $joins || $word == [=:]* ]]; then words[-1]+=$word; else words+=("$word"); fi
        [[ $word == *[=:] ]] && joins=1 || joins=
    done
    typed=${words[-1]#--*=}
    typed=${typed%"${typed##*[=:]}"}
""",
    'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD': 'COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]}-1))',
    "COMPREPLY+=($value)": 'COMPREPLY+=("${value#"$typed"}"); [[ $value == *= ]] && compopt -o nospace',
    "compadd -U": 'local -a more; [[ "$completions[1]" == *= ]] && more=(-S ""); '
    '[[ $PREFIX == --*=* ]] && more+=(-P "${PREFIX%%=*}="); compadd "${more[@]}" -U',
    'string split "," $completion': 'string split -m 1 "," $completion',  # a description has commas
    "echo $metadata[2];": "echo (string match -r -- '^--[^=]+=|^' (commandline -t))$metadata[2];",
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
    for before, after in _CHANGES.items():
        script = script.replace(before, after)
    click.echo(script)
