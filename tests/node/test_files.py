"""Files and folders for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from sdschat.node.files import make_private, open_private


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Files that are made without thought are open to all."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("how", ["w", "x", "a"])
def test_a_new_file_is_for_its_owner_alone(tmp_path: Path, how: Literal["w", "x", "a"]) -> None:
    path = tmp_path / "said.txt"
    open_private(path, how).close()
    assert mode(path) == 0o600


def test_a_file_that_is_written_anew_is_closed_and_one_that_grows_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "said.txt"
    path.write_text("old")
    path.chmod(0o644)
    with open_private(path, "a") as file:
        file.write(" and new")
    assert mode(path) == 0o644
    with open_private(path, "w", errors="replace") as file:
        file.write("grüße \ud800")
    assert mode(path) == 0o600
    assert path.read_text("utf-8") == "grüße ?"


def test_all_folders_that_are_missing_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private(tmp_path / "state" / "sdschat" / "log")
    assert [mode(tmp_path / name) for name in ("state", "state/sdschat", "state/sdschat/log")] == [0o700] * 3
    assert mode(tmp_path) == 0o755
