"""What terminals send for keys, where Textual has it otherwise.

Most terminals send an escape and a digit for Alt and that digit. Textual takes these for the signs that one
terminal on macOS means by them, so that Alt+1 would write an inverted exclamation mark.
"""

from __future__ import annotations

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


def alt_and_digits() -> None:
    """From now on they are Alt and a digit: `alt+1`."""
    sequences = dict[str, object](ANSI_SEQUENCES_KEYS)
    for digit in "0123456789":
        if f"\x1b{digit}" in sequences:
            del ANSI_SEQUENCES_KEYS[f"\x1b{digit}"]  # type: ignore[attr-defined]
