"""The files of SQL statements, as lists."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

Statement = tuple[str, str, bool]  # name, query, and if it is a table: computed once
_MADE: Final = re.compile(r"CREATE (TABLE|VIEW) (\w+) AS\s+(.*)", re.DOTALL)


def statements(package: str, name: str) -> list[Statement]:
    text = files(package).joinpath(f"{name}.sql").read_text("utf-8")
    made = [_MADE.search(each) for each in text.strip().removesuffix(";").split(";\n")]
    return [(each[2], each[3], each[1] == "TABLE") for each in made if each is not None]
