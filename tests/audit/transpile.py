"""Write the statements in the words of the embedded engines: `python -m tests.audit.transpile`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import sqlglot
from sqlglot import ErrorLevel

import sdschat.audit
import sdschat.lake

AUDIT: Final = Path(sdschat.audit.__file__).parent
LAKE: Final = Path(sdschat.lake.__file__).parent
WRITTEN: Final = (
    (AUDIT / "holding.sql", "sqlite"),
    (AUDIT / "holding.sql", "duckdb"),
    (AUDIT / "views.sql", "sqlite"),
    (AUDIT / "views.sql", "duckdb"),
    (AUDIT / "figures.sql", "sqlite"),
    (AUDIT / "figures.sql", "duckdb"),
    (LAKE / "touched.sql", "duckdb"),
    (LAKE / "silver.sql", "duckdb"),
    (LAKE / "copies.sql", "duckdb"),
    (LAKE / "evidence.sql", "duckdb"),
    (LAKE / "presence.sql", "duckdb"),
    (LAKE / "gold.sql", "duckdb"),
    (LAKE / "figures.sql", "duckdb"),
    (LAKE / "refused.sql", "duckdb"),
    (LAKE / "stream.sql", "duckdb"),
)


def transpiled() -> Iterator[tuple[Path, str]]:
    """Yield each file that is written, and its text."""
    for source, words in WRITTEN:
        found = sqlglot.transpile(
            source.read_text("utf-8"), read="spark", write=words, comments=False, unsupported_level=ErrorLevel.IGNORE
        )
        heading = (
            f"-- Written from {source.name} by `python -m tests.audit.transpile`: change that file, not this one.\n\n"
        )
        # Spark's PERCENTILE lies between two values; QUANTILE of DuckDB is one of them. Hashes are not kept,
        # so they may differ.
        text = ";\n\n".join(found).replace("QUANTILE(", "QUANTILE_CONT(").replace("XXHASH64(", "HASH(")
        yield source.with_name(f"{source.stem}_{words}.sql"), f"{heading}{text};\n"


if __name__ == "__main__":
    for file, text in transpiled():
        file.write_text(text, "utf-8")
