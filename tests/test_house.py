"""The layout and the words of the code base, as `python -m tests.house` measures them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house import Measure, Tree, measures, reads_of_private_fields, relative_docstrings

KEPT = (
    "docstrings that begin with a relative word",
    "docstrings of tests that begin with a relative word",
    "reads of another object's private field",
    "lines laid out by hand (fmt: skip)",
    "lines of the README",
    "longest file, lines",
    "longest function, lines",
    "public class names with several meanings",
    "own modules a file imports, 90th percentile",
    "modules under 70 lines with one importer",
)


@pytest.fixture(scope="module")
def rows() -> dict[str, Measure]:
    return {row.name: row for row in measures(Tree())}


@pytest.mark.parametrize("name", KEPT)
def test_a_measure_stays_within_its_bound(name: str, rows: dict[str, Measure]) -> None:
    row = rows[name]
    assert row.good, f"{row.figure:g}, at most {row.bound}: {row.places[:10]}"


def test_no_import_leads_back_to_its_own_module(rows: dict[str, Measure]) -> None:
    assert rows["import cycles, by any import"].places == []


def test_a_docstring_that_begins_with_a_relative_word_is_found() -> None:
    modules = {"one": ast.parse('"""What it is."""\ndef two() -> None:\n    """Return it."""\n')}
    assert relative_docstrings(modules) == (["one:1: What it is."], 2)


def test_a_read_of_another_objects_private_field_is_found() -> None:
    text = "def b(self, other):\n    return self._c, self.d._e, super()._f, other._c\n"
    assert reads_of_private_fields({"one": ast.parse(text)}) == ["one:2: self.d._e"]


def test_a_cycle_by_an_import_for_types_alone_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "a.py").write_text("from p import b\n")
    (package / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a\n")
    assert Tree(tmp_path, "p").cycles() == [["p.a", "p.b"]]
