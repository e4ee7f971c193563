"""The files of SQL statements, as lists."""

from __future__ import annotations

import re
from pkgutil import get_data  # importlib.resources takes ten times as long to import
from typing import Final

Statement = tuple[str, str, bool]  # name, query, and if it is a table: computed once
_MADE: Final = re.compile(r"CREATE (TABLE|VIEW) (\w+) AS\s+(.*)", re.DOTALL)


def statements(package: str, name: str) -> list[Statement]:
    text = (get_data(package, f"{name}.sql") or b"").decode()
    made = [_MADE.search(each) for each in text.strip().removesuffix(";").split(";\n")]
    return [(each[2], each[3], each[1] == "TABLE") for each in made if each is not None]
