"""Segments that were written down for a batch, and are not there any more: Spark says nothing of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from sdschat.pipeline.lake import folder_of
from sdschat.pipeline.stream.parts import FOLDER

CHECKPOINT: Final = f"{FOLDER}/_checkpoint"
_HERE: Final = "file:/"


def gone(lake: str, batch: int) -> list[str]:
    """Of a checkpoint in a folder here, and of segments here. Whoever tidied them away, or did before a batch that was
    broken off was done again, is to be told of it."""
    folder = folder_of(lake)
    if folder is None:
        return []
    try:
        return [path for path in _of_batch(folder / CHECKPOINT, batch) if not Path(path).exists()]
    except (OSError, ValueError, LookupError, TypeError):
        return []  # Spark writes these files for itself, and of what it has not put there nothing is known


def _of_batch(checkpoint: Path, batch: int) -> Iterator[str]:
    """Spark numbers what its source found by itself, and writes every tenth together with all before."""
    at = json.loads((checkpoint / "offsets" / str(batch)).read_text().splitlines()[-1])["logOffset"]
    plain = checkpoint / "sources" / "0" / str(at)
    with (plain if plain.exists() else plain.with_name(f"{at}.compact")).open() as lines:
        for line in lines:
            if f'"batchId":{at}}}' in line and (uri := json.loads(line)["path"]).startswith(_HERE):
                yield "/" + unquote(uri.removeprefix("file:")).lstrip("/")
