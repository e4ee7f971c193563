"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

# No deadline for a single example: two test processes on two slow cores make any wall-clock bound a coin toss.
settings.register_profile("quick", deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("SDSCHAT_HYPOTHESIS", "quick"))

# A shell that starts tests in the background has them ignore SIGINT, and so would all programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep thousands of collected tests out of garbage collection, and rarely collect: it took a tenth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.schedule import Schedule

    return Schedule(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from tests.schedule import longest_first

        longest_first(items)
