"""The files of our own formats are those that the plain code makes."""

from __future__ import annotations

import pytest

from tests.vectors.files import HERE
from tests.vectors.make import FILES, text_of


@pytest.mark.parametrize("name", FILES)
def test_the_plain_code_makes_the_file(name: str) -> None:
    assert (HERE / f"{name}.json").read_text(encoding="utf-8") == text_of(name), "python -m tests.vectors.make"
