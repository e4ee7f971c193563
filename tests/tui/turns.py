"""The program, with measurements of its event loop: `python -m tests.tui.turns FILE join CHANNEL …`.

When it ends, FILE has as JSON the duration of the turns of the loop, and the time from each typed letter until it was
drawn: both in milliseconds of processor time of the process, which do not depend on other programs on the machine. Only
the time after the first letter counts: the start is measured elsewhere.
"""

from __future__ import annotations

import asyncio.base_events
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual import events
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from sdschat.cli.program import run

_ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]")


class Watch:
    def __init__(self) -> None:
        self.turns: list[float] = []
        self.letters: list[float] = []
        self._typed: dict[str, float] = {}
        self._began = False

    def turn(self, once: Callable[[Any], None]) -> Callable[[Any], None]:
        def watched(loop: Any) -> None:
            before = time.thread_time()
            once(loop)
            if self._began:
                self.turns.append(1000 * (time.thread_time() - before))

        return watched

    def take(self, process: Callable[[Driver, Any], None]) -> Callable[[Driver, Any], None]:
        """Note a key, on the thread that reads them."""

        def watched(driver: Driver, message: Any) -> None:
            if isinstance(message, events.Key) and message.character and message.character.isupper():
                self._began = True
                self._typed[message.character] = time.process_time()
            process(driver, message)

        return watched

    def draw(self, write: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
        def watched(driver: Any, data: str) -> None:
            write(driver, data)
            if self._typed:
                text = _ESCAPES.sub("", data)
                for letter in [letter for letter in self._typed if letter in text]:
                    self.letters.append(1000 * (time.process_time() - self._typed.pop(letter)))

        return watched


def main() -> int:
    kept, watch = Path(sys.argv[1]), Watch()
    loop: Any = asyncio.base_events.BaseEventLoop
    driver: Any = Driver
    terminal: Any = LinuxDriver
    loop._run_once = watch.turn(loop._run_once)
    driver.process_message = watch.take(driver.process_message)
    terminal.write = watch.draw(terminal.write)
    try:
        return run(sys.argv[2:])
    finally:
        kept.write_text(json.dumps({"turns": sorted(watch.turns), "letters": sorted(watch.letters)}))


if __name__ == "__main__":
    sys.exit(main())
