"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline for a single example: two test processes on two slow cores make any wall-clock bound a coin toss.
settings.register_profile("quick", deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("SDSCHAT_HYPOTHESIS", "quick"))
