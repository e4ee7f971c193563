"""The channels that an audit has to judge: those that new rows touched, if a verdict on the others is there."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from importlib.resources import files
from typing import Final

from sdschat.audit import schemas
from sdschat.audit.schemas import AuditBase
from sdschat.lake.asked import READ_BY_AUDIT, Asked, versions_of
from sdschat.lake.places import BUCKET_OF, BUCKETS, PLACES

_STATEMENTS: Final = (("lake", "silver"), ("lake", "evidence"), ("audit", "views"), ("lake", "gold"))


def rules_digest(limits: str) -> str:
    """Return a digest of what makes a verdict out of rows. One that was made by other rules is made anew."""
    texts = [files(f"sdschat.{room}").joinpath(f"{name}.sql").read_bytes() for room, name in _STATEMENTS]
    return hashlib.sha256(b"\0".join((*texts, limits.encode(), str(schemas.VERSION).encode()))).hexdigest()


def touched_buckets(lake: Asked, rules: str) -> Collection[str]:
    """Return the buckets of channels that have to be judged: all, unless a whole verdict by these rules is there."""
    base = lake.whole_base()
    if base is None or base.rules != rules or not _came_since(lake, base):
        return BUCKETS
    lake.name(schemas.Event, "old_event")
    lake.name(schemas.Presence, "old_presence")
    lake.name(schemas.AuditJournal, "old_journal")
    for name, query, is_table in lake.statements("sdschat.lake", "touched"):
        lake.make(name, query, once=is_table)
    return {row[0] for row in lake.rows(f"SELECT DISTINCT {BUCKET_OF} FROM touched")}


def _came_since(lake: Asked, base: AuditBase) -> bool:
    """Name the rows that came in since this verdict. Return False if that cannot be known."""
    versions = versions_of(base)
    before = {table: lake.tables.files_at(table, versions.get(PLACES[table], -1)) for table in READ_BY_AUDIT}
    if lake.digest_of(file for known in before.values() for file in known) != base.bronze:
        return False
    for table, name in READ_BY_AUDIT.items():
        known = set(before[table])
        lake.name(table, f"new_{name}", [file for file in lake.tables.files(table) if file not in known])
    return True
