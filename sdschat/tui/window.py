"""The host in a terminal window, as the panes and the Lens around its log see it."""

from __future__ import annotations

from abc import abstractmethod

from textual.widget import Widget

from sdschat.tui.host import Host
from sdschat.tui.themes import LineStyle
from sdschat.tui.widgets.log_view import LogView


class Window(Host):
    """A host with a screen: it can be measured, and widgets can be put on it."""

    line_style: LineStyle
    log_view: LogView
    logs: Widget  # the log, or both logs of a split
    entry: Widget  # the input with its prompt
    refused = ""  # the text that stays in the input because it could not be sent or run

    @property
    @abstractmethod
    def width(self) -> int:
        """Return the columns of the terminal."""

    @property
    @abstractmethod
    def height(self) -> int:
        """Return the lines of the terminal."""

    @property
    @abstractmethod
    def lens_open(self) -> bool: ...

    @property
    @abstractmethod
    def reads_sheet(self) -> bool:
        """True while a sheet lies over the log."""

    @property
    @abstractmethod
    def finds(self) -> bool:
        """True while words of a search are asked for."""

    @abstractmethod
    def mount_lens(self, panel: Widget) -> None: ...

    @abstractmethod
    def lens_fitted(self) -> None:
        """Fit what stands around the panel of the Lens: it has another size."""

    @abstractmethod
    def lens_closed(self) -> None: ...
