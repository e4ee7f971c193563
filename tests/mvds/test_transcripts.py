"""Transcripts stay as they are, to the millisecond."""

from __future__ import annotations

import pytest

from tests import transcripts
from tests.mvds.transcripts import WORLDS


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_goes_as_it_went(name: str) -> None:
    kept = transcripts.path_of("mvds", name).read_text("utf-8").splitlines()
    assert not transcripts.first_difference(kept, transcripts.transcript(WORLDS[name]))
