"""The files that a lake knows: those that were taken in to their end, and those with a part that could not be read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sdschat.audit.schemas import Whole
from sdschat.lake.sources.survey import Seen


class Standing(NamedTuple):
    """A file with a part that still counts as unreadable."""

    source: str
    node: str | None
    as_of: int | None


def taken_already(files: Iterable[Seen], taken: Iterable[Whole]) -> set[str]:
    """Return the paths of files that would add nothing.

    For events the order of files does not matter. For logs the last reading counts: a database adds nothing if it is
    older than that reading, or is the very same file.
    """
    last: dict[str, tuple[int, int]] = {}
    by_node: dict[str, set[Whole]] = {}
    for whole in taken:
        last[whole.node] = max(last.get(whole.node, (0, 0)), (whole.as_of, whole.read_ms))
        by_node.setdefault(whole.node, set()).add(whole)
    found = set()
    for file in files:
        same = [whole for whole in by_node.get(file.node, ()) if whole.digest == file.digest]
        if not file.digest or not same:
            continue
        newest = {whole.digest for whole in by_node[file.node] if (whole.as_of, whole.read_ms) == last[file.node]}
        if not file.node or file.as_of < last[file.node][0] or newest == {file.digest}:
            found.add(file.path)
    return found


def maybe_mended(files: Iterable[Seen], bad: Iterable[Standing]) -> set[str]:
    """Return the paths of files that may be repaired versions of damaged files."""
    damaged = {(each.source, each.node or "") for each in bad}
    return {file.path for file in files if not damaged.isdisjoint({(file.path, ""), (file.path, file.node)})}


def stands_in_for(file: Seen, bad: Standing) -> bool:
    """Return True if this sound database has everything that the damaged one could have had."""
    return bool(file.node) and file.node == bad.node and bad.as_of is not None and file.as_of >= bad.as_of


def newest_of(files: Iterable[Seen]) -> list[Seen]:
    """Return the furthest database of each node, of equally far ones the first by path.

    A log in any other copy is ignored.
    """
    found: dict[str, Seen] = {}
    for file in sorted(files):
        if file.node and (file.node not in found or file.as_of > found[file.node].as_of):
            found[file.node] = file
    return list(found.values())
