"""Every conversation gives the lines that its file expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conversations.runner import read, run

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_conversation(path: Path) -> None:
    run(path)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_conversation_begins_with_the_rule_it_shows(path: Path) -> None:
    assert read(path.read_text(encoding="utf-8"))[0].prose


def test_there_is_a_conversation_for_every_mechanism() -> None:
    assert len(FILES) >= 28
