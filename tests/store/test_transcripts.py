"""Rows that are read from a database stay as they are."""

from __future__ import annotations

import pytest

from tests import transcripts
from tests.store.transcripts import WORLDS


@pytest.mark.parametrize("name", WORLDS)
def test_a_database_is_read_as_it_was(name: str) -> None:
    kept = transcripts.path_of("store", name).read_text("utf-8").splitlines()
    assert not transcripts.first_difference(kept, transcripts.transcript(WORLDS[name]))
