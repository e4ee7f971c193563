"""The place of the Lens on the screen: beside the log if there is room, else in the lower half."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.node.events import NodeEvent
from sdschat.tui.model.results import CommandError
from sdschat.tui.panes import LOW, WIDEST
from sdschat.tui.window import Window

if TYPE_CHECKING:
    from sdschat.tui.lens.panel import LensPanel


class LensHost:
    """Makes the panel when it is first opened, and passes events and the selection on to it."""

    def __init__(self, screen: Window) -> None:
        self._screen = screen
        self.panel: LensPanel | None = None  # its module is imported when the panel is first opened

    @property
    def is_open(self) -> bool:
        return self.panel is not None and bool(self.panel.display)

    def open(self, view: str = "", argument: str = "") -> None:
        """Show the panel. Raises CommandError if there is no view with this name."""
        panel = self.panel
        if panel is None:
            panel = self.panel = self._make()
            self._screen.mount_lens(panel)
        panel.display = True
        self.fit()
        if view:
            if not argument:
                self.forget_named()
            try:
                panel.show(view, argument)
            except ValueError as error:
                raise CommandError(str(error)) from error

    def _make(self) -> LensPanel:
        from sdschat.tui.lens.panel import LensPanel

        screen = self._screen
        return LensPanel(screen.view, lambda: screen.line_style, screen.channel, screen.selection, id="lens")

    def forget_named(self) -> None:
        """Show again what is selected in the log, in the place of a message that a command named."""
        self.select(self._screen.selection)

    def close(self) -> None:
        if self.panel is not None and self.panel.display:
            self.panel.display = False
            self.forget_named()
            self._screen.lens_closed()

    def turn(self, by: int) -> None:
        """Show the view so many places further."""
        if self.panel is not None:
            self.panel.turn(by)

    def page(self, pages: int) -> None:
        """Scroll the view by so many pages."""
        if self.panel is not None:
            self.panel.page(pages)

    def focus(self) -> None:
        """Give the keys to the panel."""
        if self.panel is not None:
            self.panel.take_keys()

    @property
    def shown(self) -> str:
        """Return the view that is open; empty if the Lens is closed."""
        return self.panel.shown if self.panel is not None and self.panel.display else ""

    def toggle(self) -> None:
        if self.is_open:
            self.close()
        else:
            self.open()

    def fit(self) -> None:
        """Fit the panel to the size of the terminal."""
        if self.panel is not None:
            low = self._screen.height < LOW
            self.panel.set_class(low, "-full")
            below = not low and self._screen.width < WIDEST
            self.panel.set_class(below, "-below")
            self.panel.set_class(below and not self._screen.entry.has_class("-framed"), "-ruled")
            self._screen.lens_fitted()

    # Events for the panel.

    def hear(self, event: NodeEvent) -> None:
        if self.panel is not None:
            self.panel.hear(event)

    def select(self, message_id: str | None) -> None:
        if self.panel is not None:
            self.panel.select(message_id)

    def switch(self, channel: str) -> None:
        if self.panel is not None:
            self.panel.switch(channel)
