"""Write all pictures anew into screenshots/, or into the given folder."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from functools import partial
from pathlib import Path

from tests.screenshots.pictures import write
from tests.screenshots.scenes import take_all

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    asked.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = asked.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profiles:
        asyncio.run(take_all(Path(profiles), partial(write, folder)))
    print("\n".join(str(path) for path in sorted(folder.iterdir())))


if __name__ == "__main__":
    main()
