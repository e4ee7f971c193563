"""The table of features names only what is there."""

from __future__ import annotations

import re
from pathlib import Path

from sdschat.cli.program import COMMANDS
from sdschat.tui.commands.loader import load

PAGE = (Path(__file__).parents[2] / "sdschat" / "tui" / "features.md").read_text("utf-8")


def test_every_command_of_the_table_is_there() -> None:
    registry = load()
    named = set(re.findall(r"`/(\w+)", PAGE))
    assert len(named) > 40
    assert {name for name in named if registry.get(name) is None} == set()
    assert set(re.findall(r"`sdschat (\w+)", PAGE)) <= set(COMMANDS)


def test_the_table_has_all_rows() -> None:
    assert re.findall(r"(?m)^\| (\d+) \|", PAGE) == [str(number) for number in range(1, 78)]
