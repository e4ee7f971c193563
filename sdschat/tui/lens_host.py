"""Where the Lens lives: beside the log where there is room, over it where there is not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from sdschat.node.facts import Fact
from sdschat.tui.commands.registry import CommandError

if TYPE_CHECKING:
    from sdschat.tui.screen_host import ScreenHost

ROOM: Final = 100  # columns from which it stands beside the log
_MODULE: Final = "sdschat.tui.lens.panel"


class LensHost:
    """Makes the panel when it is first asked for, and tells it what happens."""

    def __init__(self, app: ScreenHost) -> None:
        self._app = app
        self.panel: Any = None  # a LensPanel; its module is imported when it is first wanted

    @property
    def is_open(self) -> bool:
        return self.panel is not None and bool(self.panel.display)

    def open(self, view: str = "", argument: str = "") -> None:
        """Raises CommandError for a view that there is not."""
        if self.panel is None:
            self.panel = self._make()
            self._app.query_one("#body").mount(self.panel)
        self.panel.display = True
        self.fit()
        if view:
            try:
                self.panel.show(view, argument)
            except ValueError as error:
                raise CommandError(str(error)) from error

    def _make(self) -> Any:
        try:
            found = find_spec(_MODULE)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise CommandError("The Lens is not installed.")
        from importlib import import_module

        app = self._app
        panel = import_module(_MODULE).LensPanel(app.node, app.room, app.selection)
        panel.id = "lens"
        return panel

    def close(self) -> None:
        if self.is_open:
            self.panel.display = False
            self._app.lens_closed()

    def toggle(self) -> None:
        if self.is_open:
            self.close()
        else:
            self.open()

    def fit(self) -> None:
        """To the size of the terminal."""
        if self.panel is not None:
            self.panel.set_class(self._app.size.width < ROOM, "-full")
            self._app.lens_fitted()

    # What happens, for the panel.

    def hear(self, fact: Fact) -> None:
        if self.panel is not None:
            self.panel.hear(fact)

    def select(self, message_id: str | None) -> None:
        if self.panel is not None:
            self.panel.select(message_id)

    def switch(self, channel: str) -> None:
        if self.panel is not None:
            self.panel.switch(channel)
