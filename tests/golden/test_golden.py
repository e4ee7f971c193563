"""Nothing of what programs rely on changes unseen: `python -m tests.golden` writes the files anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.cases import Case, cases, make_home, output
from tests.golden.events import lines

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("golden").resolve())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_command_prints_what_it_printed(case: Case, home: Path) -> None:
    assert output(case, home) == (FILES / f"{case.name}.txt").read_text("utf-8")


def test_every_event_keeps_its_json_line_and_its_journal_row() -> None:
    assert lines() == (FILES / "events.jsonl").read_text("utf-8").splitlines()


def test_every_golden_file_belongs_to_a_case() -> None:
    assert {path.stem for path in FILES.glob("*.txt")} == {case.name for case in cases()}
