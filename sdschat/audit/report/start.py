"""The start of every page that this program makes of an audit, a lake or simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PAGE_START: Final = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="sdschat">'
)


def is_report(path: Path) -> bool:
    """True if the file begins as such a page does."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PAGE_START)) == PAGE_START.encode()
    except OSError:
        return False
