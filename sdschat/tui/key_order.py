"""The order of keys and clicks: those of one burst, of a fast user or over a slow connection, act in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from textual import events
from textual.dom import DOMNode

from sdschat.tui.later import later
from sdschat.tui.terminal import TAKEN, Ending

_AHEAD: Final = frozenset({"escape", "enter"})  # keys that others wait behind
_IN_TURN: Final = (events.InputEvent, events.Paste, events.AppFocus, events.AppBlur)


class KeysInOrder(Ending):
    """An application in which the keys of one burst act in their order. Textual lets its own keys act before what has
    the focus takes any: they would overtake a line that Enter sends, which would go to another channel then. Esc would
    overtake it too, and be overtaken, since it goes to what has the focus and then all the way up. So would letters
    overtake a command that Enter runs, which may show another channel. So would the news that another window has the
    keys: a key that acts after it says that this one has them."""

    _held: list[events.Event] | None = None  # what waits; None: nothing is on its way
    _next: Callable[[], object] | None = None

    @property
    def typed_behind(self) -> bool:
        """True if letters wait behind the key that acts."""
        return any(
            isinstance(one, events.Paste) or (isinstance(one, events.Key) and one.is_printable)
            for one in self._held or ()
        )

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, _IN_TURN) or event.is_forwarded or self.ends:
            await super().on_event(event)
        elif self._held is not None:
            self._held.append(event)
        elif isinstance(event, events.InputEvent) and self.focused is not None and self._overtakes(event):
            self._held = []
            self._act_behind(self.focused, partial(self._take, event))
        else:
            await super().on_event(event)

    def _overtakes(self, event: events.InputEvent) -> bool:
        """True for a key or a click that would act before, or beside, what has the focus."""
        if not isinstance(event, events.Key):
            return isinstance(event, events.MouseDown)
        found = None if len(event.key) == 1 else self.screen.active_bindings.get(event.key)
        return event.key in _AHEAD or (found is not None and found.binding.priority)

    async def _take(self, event: events.InputEvent) -> None:
        """Let one act in its turn. What comes behind Esc or Enter waits until that has gone all the way."""
        focused = self.focused
        await super().on_event(event)
        if isinstance(event, events.Key) and event.key in _AHEAD and focused is not None:
            self._act_behind(focused, self._let_go)
        else:
            await self._let_go()

    def _act_behind(self, focused: DOMNode, act: Callable[[], object]) -> None:
        """Act once all that is on its way from here has arrived, or late, where a widget on the way is removed."""

        def once() -> object:
            if self._next is not act:
                return None
            self._next = None
            return act()

        self._next = act
        later(self, TAKEN, once)
        self._follow(focused, once)

    def _follow(self, widget: DOMNode, act: Callable[[], object]) -> None:
        """Go the way of a key and of what it sends, behind them, and act where it ends."""
        if widget is self:
            self.call_later(act)
        else:  # twice: what a widget sends for a key waits behind what came after that key
            widget.call_later(widget.call_later, self._follow, widget.parent or self, act)

    async def _let_go(self) -> None:
        held, self._held = self._held, None
        for event in held or ():
            await self.on_event(event)
