"""The commands. Starting the program loads only this module; each command loads its own imports when it runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the program `sdschat`."""
    from sdschat.cli.program import run

    sys.exit(run(sys.argv[1:]))
