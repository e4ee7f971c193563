"""Transcripts of groups stay as they are, to the millisecond."""

from __future__ import annotations

import pytest

from tests import transcripts
from tests.sds.transcripts import WORLDS


@pytest.mark.parametrize("name", WORLDS)
def test_a_group_does_what_it_did(name: str) -> None:
    kept = transcripts.path_of("sds", name).read_text("utf-8").splitlines()
    assert not transcripts.first_difference(kept, transcripts.transcript(WORLDS[name]))
