"""Progress is shown to a person at a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from sdschat.cli.output import show_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("output", "error", "visible"),
    [
        (io.StringIO(), Terminal(), True),
        (io.StringIO(), io.StringIO(), False),  # no person watches
        (Terminal(), Terminal(), False),  # results on the same terminal are progress enough
        (None, None, False),
    ],
)
def test_it_is_shown_where_somebody_waits(
    monkeypatch: pytest.MonkeyPatch, output: io.StringIO | None, error: io.StringIO | None, visible: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "stderr", error)
    assert list(show_progress(range(2000), "lobby", 2000)) == list(range(2000))
    if output is not None and not output.isatty():
        assert output.getvalue() == ""
    if error is not None:
        assert ("lobby" in error.getvalue()) is visible
