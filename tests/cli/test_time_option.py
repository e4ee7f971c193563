"""Times given with an option: one way of reading them, for all commands."""

from __future__ import annotations

import pytest

from sdschat.cli.errors import WRONG_USE, CommandProblem, time_option


def test_a_time_is_read_in_milliseconds() -> None:
    assert time_option("--keep", "1.5m") == 90_000


def test_a_text_that_is_no_time_is_an_error_with_its_option_and_an_example() -> None:
    with pytest.raises(CommandProblem) as caught:
        time_option("--keep", "soon", "; 90d is 90 days.")
    assert str(caught.value) == "--keep is 'soon', and must be a duration such as 500ms, 30s or 10m; 90d is 90 days."
    assert caught.value.exit_code == WRONG_USE
