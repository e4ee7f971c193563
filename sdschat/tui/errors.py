"""The error with which a command ends."""

from __future__ import annotations


class CommandError(Exception):
    """The command cannot be done. The text says what, why and what to do; the typed line stays in the input."""
