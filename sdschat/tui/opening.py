"""What is done once there is something to see: the rest of the program is loaded, and the channels are joined.

In steps, with a look at the keys in between. Whoever does more than type a letter before that is through has the rest
of it done at once, so that nothing can be asked of a channel that is not joined.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from textual import events

from sdschat.node.late import load

PAUSE: Final = 0.001  # seconds between two steps; what matters is that the loop turns


class Opening:
    """Of an application whose channels are listed already, and shown as they were left."""

    def __init__(self, channels: Sequence[str], join: Callable[[str], object], soon: Callable[..., object]) -> None:
        """`soon` calls something a moment later, from the loop."""
        self.done = False
        self._soon = soon
        self._steps = self._all(channels, join)

    def begin(self) -> None:
        """Only when the first frame is on the screen."""
        self._soon(PAUSE, self._go_on)

    def _go_on(self) -> None:
        next(self._steps, None)
        if not self.done:
            self.begin()

    def finish(self) -> None:
        """All that is left, at once."""
        for _ in self._steps:
            pass

    def before(self, event: events.Event) -> None:
        """Somebody does something."""
        if not self.done and isinstance(event, events.InputEvent) and not _is_letter(event):
            self.finish()

    def _all(self, channels: Sequence[str], join: Callable[[str], object]) -> Iterator[str]:
        try:
            yield from load()
            for name in channels:
                join(name)
                yield name
        finally:  # a step that fails ends the program, and until it has ended nothing is tried over and over
            self.done = True
        _collect_garbage()


def _is_letter(event: events.InputEvent) -> bool:
    return isinstance(event, events.MouseMove) or (isinstance(event, events.Key) and event.is_printable)


def _collect_garbage() -> None:
    """From now on, and never among what was loaded until now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
