"""Segments that were recorded for a batch but do not exist any more: Spark does not report them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from sdschat.lake.places import folder_of
from sdschat.pipeline.stream.parts import FOLDER

CHECKPOINT: Final = f"{FOLDER}/_checkpoint"
_HERE: Final = "file:/"


def gone(lake: str, batch: int) -> list[str]:
    """Return the missing segments, if checkpoint and segments are on this machine.

    The user must be told if somebody removed segments, also before an interrupted batch was repeated.
    """
    folder = folder_of(lake)
    if folder is None:
        return []
    try:
        return [path for path in _of_batch(folder / CHECKPOINT, batch) if not Path(path).exists()]
    except (OSError, ValueError, LookupError, TypeError):
        return []  # these files are internal to Spark; without them nothing is known


def _of_batch(checkpoint: Path, batch: int) -> Iterator[str]:
    """Yield the segments of a batch. Spark numbers them separately, and merges every tenth file with all before."""
    at = json.loads((checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1])["logOffset"]
    plain = checkpoint / "sources" / "0" / str(at)
    with (plain if plain.exists() else plain.with_name(f"{at}.compact")).open() as lines:
        for line in lines:
            if f'"batchId":{at}}}' in line and (uri := json.loads(line)["path"]).startswith(_HERE):
                yield "/" + unquote(uri.removeprefix("file:")).lstrip("/")
