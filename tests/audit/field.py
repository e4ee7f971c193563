"""Databases of real nodes that talked over a network in memory, and ways to alter them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sdschat.store.columns import row_sum
from tests.node.worlds import World

NAMES = ("ann", "bob", "cleo")
WORDS = tuple(f"word {index}" for index in range(12))


async def _talk(folder: Path, names: Sequence[str], words: Sequence[str]) -> None:
    world = World(folder)
    members = [world.start(name) for name in names]
    for index, text in enumerate(words):
        members[index % len(members)].node.send("lobby", text)
        for member in members:
            await member.until_texts(*words[: index + 1])
    for member in members:
        await member.node.close()


def talk(folder: Path, names: Sequence[str] = NAMES, words: Sequence[str] = WORDS) -> Path:
    """Let nodes talk until everybody has everything. Return the folder of their profiles."""
    asyncio.run(_talk(folder, names, words))
    return folder


def database(folder: Path, name: str) -> Path:
    return next(folder.rglob(f"{name}/sdschat.db"))


def change(folder: Path, name: str, statement: str, *values: object) -> None:
    """Alter a database like a person with an SQL tool."""
    with closing(sqlite3.connect(database(folder, name))) as connection, connection:
        connection.execute(statement, values)
    connection.close()


def forge(folder: Path, name: str, table: str, place: int, /, **values: object) -> None:
    """Alter a database like `change`, but with right checksums. For the tables log, outgoing and journal."""
    with closing(sqlite3.connect(database(folder, name))) as connection, connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute(f"SELECT * FROM {table} WHERE place = ?", (place,)).fetchone()) | values
        summed = [value for key, value in row.items() if key != "sum" and (key != "place" or table != "outgoing")]
        row["sum"] = row_sum(summed)
        names = ", ".join(f"{key} = ?" for key in row)
        connection.execute(f"UPDATE {table} SET {names} WHERE place = ?", (*row.values(), place))
    connection.close()


def nth(folder: Path, name: str, index: int) -> tuple[int, str]:
    """Return place and id of a message in the log of a node."""
    with closing(sqlite3.connect(database(folder, name))) as connection, connection:
        query = "SELECT place, message_id FROM log ORDER BY lamport, message_id LIMIT 1 OFFSET ?"
        place, message_id = connection.execute(query, (index,)).fetchone()
    connection.close()
    return place, message_id


def one(folder: Path, name: str, query: str) -> str:
    """Return the single value of a query."""
    with closing(sqlite3.connect(database(folder, name))) as connection, connection:
        found = connection.execute(query).fetchone()[0]
    connection.close()
    return str(found)
