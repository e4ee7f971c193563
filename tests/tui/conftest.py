"""Shorter waits for the tests of the terminal application."""

from __future__ import annotations

from textual import _wait

# The pilot looks every 20 ms if the application still works. Most of the time of these tests was spent there.
_wait.SLEEP_GRANULARITY = 0.004
_wait.SLEEP_IDLE = 0.0004
