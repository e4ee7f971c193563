"""Write the files of vectors: `python -m tests.vectors.make`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tests.vectors.cases import catchup, content, filters, mvds, names, sealing, store

HERE: Final = Path(__file__).parent
FILES: Final = {
    "filters": filters.file,
    "catchup": catchup.file,
    "content": content.file,
    "store": store.file,
    "names": names.file,
    "mvds": mvds.file,
    "sealing": sealing.file,
}


def text_of(name: str) -> str:
    return json.dumps(FILES[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in FILES:
        (HERE / f"{name}.json").write_text(text_of(name), encoding="utf-8")
