"""Write the views in SQLite's words: `python -m tests.audit.transpile`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlglot
from sqlglot import ErrorLevel

import sdschat.audit

FOLDER: Final = Path(sdschat.audit.__file__).parent
SOURCE: Final = FOLDER / "views.sql"
FILE: Final = FOLDER / "views_sqlite.sql"
_HEADING: Final = "-- Written from views.sql by `python -m tests.audit.transpile`: change that file, not this one.\n\n"


def transpiled() -> str:
    found = sqlglot.transpile(
        SOURCE.read_text("utf-8"), read="spark", write="sqlite", comments=False, unsupported_level=ErrorLevel.IGNORE
    )
    return _HEADING + ";\n\n".join(found) + ";\n"


if __name__ == "__main__":
    FILE.write_text(transpiled(), "utf-8")
