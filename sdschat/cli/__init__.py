"""The commands. This module is all that starting the program loads; a command loads what it needs when it runs."""

from __future__ import annotations

import sys


def main() -> None:
    """The program `sdschat`."""
    from sdschat.cli.program import run

    sys.exit(run(sys.argv[1:]))
