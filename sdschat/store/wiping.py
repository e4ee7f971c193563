"""Removal of deleted texts from all files of a database.

`secure_delete` overwrites what a statement deletes. It does not overwrite copies that SQLite left in unused parts of
pages when it moved rows from one page to another. So the tables that hold such texts are written anew: their pages
become free as a whole, which does overwrite them. The write-ahead log still has the old pages; it is cut after the
commit (`Store.wipe`). The cost is that of writing what is alive.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_TABLES: Final = ("timber_row", "timber_post", "timber_operation")


def rewrite_tables(connection: sqlite3.Connection) -> None:
    """Write the tables of members' channels anew, inside a transaction."""
    for table in _TABLES:
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
        connection.execute(f"DELETE FROM {table}")
        if rows:
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
