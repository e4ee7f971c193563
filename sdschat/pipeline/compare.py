"""A handful of databases, compared without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sdschat.pipeline.problem import PipelineProblem
from sdschat.pipeline.reference.audit import Audit, audit
from sdschat.pipeline.reference.conform import Silver, conform
from sdschat.pipeline.reference.consolidate import consolidate
from sdschat.pipeline.reference.taken import Taken
from sdschat.pipeline.rules import Rules
from sdschat.pipeline.schemas import FIELD, Log
from sdschat.pipeline.sources.databases import MAGIC, PacketMemory, Reading, read_database

_WRONG_USE = 2


class Comparison(NamedTuple):
    taken: Taken
    silver: Silver
    log: list[Log]
    audit: Audit
    paths: dict[str, Path]  # node: where its database is


def compare(paths: Iterable[Path], read_ms: int, rules: Rules) -> Comparison:
    taken = Taken()
    memory = PacketMemory()
    for path in paths:
        taken.take(read_database(Reading(FIELD, path, read_ms, memory)))
    silver = conform(taken, rules)
    log = consolidate(silver.copies)
    where = {node.node: Path(node.source) for node in silver.nodes}
    return Comparison(taken, silver, log, audit(silver, log, rules), where)


def databases(sources: Iterable[Path]) -> list[Path]:
    """Files as they are; of a folder all databases of profiles in it."""
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(path for path in source.rglob("*.db") if is_database(path))
            if not inside:
                raise PipelineProblem(
                    f"There is no database of a profile in {source}. Name another folder.", _WRONG_USE
                )
            found += inside
        elif not source.exists():
            raise PipelineProblem(f"There is no {source}. Name databases of profiles, or folders.", _WRONG_USE)
        else:
            found.append(source)
    return list(dict.fromkeys(found))


def is_database(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
