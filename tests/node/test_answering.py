"""The words for a member that answers, or does not."""

from __future__ import annotations

import pytest

from sdschat.node.members.saved import answering


@pytest.mark.parametrize(
    ("missed", "words"),
    [
        (0, "up to date"),
        (1, "1 operation not answered yet"),
        (15, "15 operations not answered yet"),
        (16, "quiet for 4 of 8 rounds"),
        (31, "quiet for 7 of 8 rounds"),
        (32, "silent for 8 rounds, 8 are allowed"),
    ],
)
def test_four_members_of_whom_one_has_missed_some_operations(missed: int, words: str) -> None:
    assert answering(missed, limit=32, members=4) == words
