"""Write the golden files anew: `python -m tests.golden`. Look at the difference before you commit it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.golden.cases import cases, make_home, output
from tests.golden.events import lines

FILES = Path(__file__).parent / "files"


def main() -> int:
    FILES.mkdir(exist_ok=True)
    for old in FILES.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        home = make_home(Path(folder).resolve())
        for case in cases():
            (FILES / f"{case.name}.txt").write_text(output(case, home), "utf-8")
    (FILES / "events.jsonl").write_text("\n".join(lines()) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
