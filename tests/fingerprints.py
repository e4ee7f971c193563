"""The fingerprint of a whole log, as a checkpoint of the journal has it."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.store.journal import fingerprint_step, fingerprint_text


def fingerprint_of(log: Iterable[tuple[int, str]]) -> str:
    """Return the fingerprint of (Lamport time, id) pairs, each once, as hex digits."""
    fingerprint = 0
    for lamport, message_id in log:
        fingerprint = fingerprint_step(fingerprint, lamport, message_id)
    return fingerprint_text(fingerprint)
