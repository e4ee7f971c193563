"""The completion scripts in the shells that they are for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.audit.field import talk
from tests.cli.processes import run
from tests.needs import needs_program
from tests.tui.terminal import Terminal

SHELLS = {
    "bash": ("--norc", "-i"),
    "zsh": ("-f", "-i"),
    "fish": ("--no-config", "--private"),
}


@pytest.mark.parametrize("shell", list(SHELLS))
def test_a_shell_completes_values_and_leaves_no_space_behind_the_name_of_a_setting(tmp_path: Path, shell: str) -> None:
    path = needs_program(shell)
    talked, home = talk(tmp_path / "talked", ("ann", "bob"), ("hello",)), tmp_path / "home"
    home.mkdir()
    (home / "script").write_text(run(home, "completions", shell).stdout)
    program = home / "sdschat"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sdschat "$@"\n')
    program.chmod(0o755)
    env = {"PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "SDSCHAT_DATA_DIR": str(talked)}
    with Terminal([path, *SHELLS[shell]], home, env=env, controlling=True) as terminal:
        if shell == "zsh":
            terminal.enter("autoload -Uz compinit; compinit -u -D")
        terminal.enter(". ./script; echo rea''dy")
        terminal.until_text("ready")
        terminal.press("sdschat join --set repair.t_ma\t")
        terminal.until_text("repair.t_max=")
        terminal.press("5s lo\t--na\tan\t.")
        terminal.until_text("sdschat join --set repair.t_max=5s lobby --name ann .")
        terminal.press("\x15sdschat join --theme=da\t--set=repair.t_ma\t")  # Ctrl+U: an empty line
        terminal.until_text("sdschat join --theme=dark --set=repair.t_max=")
        terminal.press("5s lo\t.")
        terminal.until_text("--set=repair.t_max=5s lobby .")
        if shell == "fish":
            terminal.press("\x15complete -C 'sdschat doct'\r")
            terminal.until_text("Check files, settings and the broker.")
