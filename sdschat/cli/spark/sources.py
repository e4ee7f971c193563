"""The sources that the user named, and the messages about them before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.options import say
from sdschat.cli.text import safe

_NAMED: Final = 3


def sources_in(sources: Sequence[Path]) -> list[Path]:
    """Return the files to read. Raises Problem for a missing path, and for a folder with nothing to read."""
    from sdschat.lake.sources.files import SUFFIXES
    from sdschat.lake.sources.folders import find

    try:
        found = find(sources)
    except FileNotFoundError as error:
        path = Path(str(error))
        wrong = f"{path} is a link to nothing" if path.is_symlink() else f"There is no {path}"
        raise CommandProblem(f"{safe(wrong)}. Name databases, journals, captures, or folders.", WRONG_USE) from error
    taken = ", ".join(SUFFIXES[:-1])
    if found.empty:
        folder = found.empty[0]
        skipped = "".join(f" {line}." for line in skipped_lines(find([folder]).skipped))
        raise CommandProblem(
            f"Nothing in {safe(str(folder))} can be taken in: no file there ends in {taken} or {SUFFIXES[-1]}."
            f"{skipped} Name another folder, or the files themselves.",
            WRONG_USE,
        )
    for line in skipped_lines(found.skipped):
        say(
            f"warning: {line}. Of a folder, {taken} and {SUFFIXES[-1]} are taken; what is named itself is, whatever "
            "its name."
        )
    return found.files


def skipped_lines(skipped: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    if not skipped:
        return
    told = []
    for why, paths in skipped.items():
        names = ", ".join(safe(str(path)) for path in paths[:_NAMED])
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        told.append(f"{len(paths):,} {'is' if len(paths) == 1 else 'are'} {why} ({names}{more})")
    count = sum(map(len, skipped.values()))
    yield f"{count:,} {'file is' if count == 1 else 'files are'} passed over: {'; '.join(told)}"
