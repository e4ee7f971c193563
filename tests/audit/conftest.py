"""Databases that real nodes wrote, for tests that compare them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.audit.field import talk


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return databases of a few nodes that have talked."""
    return talk(tmp_path_factory.mktemp("field"))


@pytest.fixture
def field(untouched: Path, tmp_path: Path) -> Path:
    """Return a copy of the databases, for a test that alters them."""
    return Path(shutil.copytree(untouched, tmp_path / "field"))
