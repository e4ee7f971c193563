"""Transcripts of simulated runs: everything that the engines did and when, in lines that are kept in files.

A test runs the same world again and compares. So a change of any time, order, packet, event or row is seen, also where
no other test says what it should be. After a deliberate change, `python -m tests.transcripts` writes the files anew.
With `--full PACKAGE/NAME` it prints one with all values in place of their digests: to compare two revisions.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

PACKAGES = (
    "sds",
    "mvds",
    "catchup",
    "store",
)  # each has `tests.NAME.transcripts` with `WORLDS`, and the files beside it
_FRACTION: Final = re.compile(r"\d+\.\d+(e[-+]?\d+)?")  # its last digits depend on the processor
Say = Callable[..., None]
World = Callable[[Say], None]


def transcript(world: World, *, full: bool = False) -> list[str]:
    """Run a world. It says lines: a time, who, and values of which a digest is kept."""
    lines: list[str] = []

    def say(at: int, who: str, *values: object) -> None:
        text = _FRACTION.sub(lambda found: f"{float(found[0]):.6g}", " ".join(map(repr, values)))
        lines.append(f"{at} {who} {text if full else hashlib.sha256(text.encode()).hexdigest()[:8]}")

    world(say)
    return lines


def worlds(package: str) -> Mapping[str, World]:
    found: Mapping[str, World] = importlib.import_module(f"tests.{package}.transcripts").WORLDS
    return found


def path_of(package: str, name: str) -> Path:
    return Path(__file__).parent / package / "transcripts" / f"{name}.txt"


def first_difference(kept: Iterable[str], now: Iterable[str]) -> str:
    """Return the first line that differs, with those before it; an empty text if there is none."""
    old, new = list(kept), list(now)
    for at in range(max(len(old), len(new))):
        one, other = old[at : at + 1], new[at : at + 1]
        if one != other:
            return "\n".join([*(f"  {line}" for line in old[max(0, at - 3) : at]), f"- {one}", f"+ {other}"])
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Write the transcripts anew. Look at the difference before you commit it."
    )
    parser.add_argument("--full", metavar="PACKAGE/NAME", help="print this one with all values")
    chosen = parser.parse_args()
    if chosen.full:
        package, _, name = chosen.full.partition("/")
        print("\n".join(transcript(worlds(package)[name], full=True)))
        return 0
    for package in PACKAGES:
        for name, world in worlds(package).items():
            path = path_of(package, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(transcript(world)) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
