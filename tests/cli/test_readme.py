"""What others rely on by name stands in the README."""

from __future__ import annotations

import re
from typing import Final

import pytest

from sdschat.cli.lines import EVENT_NAMES
from sdschat.cli.program import COMMANDS
from sdschat.node.settings import SETTINGS
from tests.cli.processes import ROOT

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")


def _table(heading: str) -> str:
    """Of the first cells of the tables below a heading; a name may also stand in the text before them."""
    return README.partition(f"\n{heading}\n")[2].partition("\n## ")[0]


def _anchor(heading: str) -> str:
    """As GitHub makes it: punctuation goes, spaces become dashes."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("## Use", [f"sdschat {name}" for name in COMMANDS]),
        ("## Settings", list(SETTINGS)),
        ("### JSON lines", list(EVENT_NAMES)),
    ],
)
def test_every_name_is_in_the_readme(heading: str, names: list[str]) -> None:
    quoted = {re.split(r" (?=[A-Z\[…])", name)[0] for name in re.findall(r"`([^`]+)`", _table(heading))}
    assert [name for name in names if name not in quoted] == []


def test_no_name_in_the_tables_of_settings_and_events_has_gone() -> None:
    for heading, known in (("## Settings", set(SETTINGS)), ("### JSON lines", set(EVENT_NAMES))):
        cells = re.findall(r"(?m)^\| (`[^|]*) \|", _table(heading).partition("\n### ")[0])
        named = {name for cell in cells for name in re.findall(r"`([a-z_.]+)`", cell)}
        assert len(named) > 20
        assert named - known == set()


def test_every_link_inside_leads_somewhere() -> None:
    anchors = {_anchor(found) for found in re.findall(r"(?m)^#{1,4} (.*)$", README)}
    assert [link for link in re.findall(r"\]\(#([^)]+)\)", README) if link not in anchors] == []
    files = re.findall(r"\]\(((?!https?:|#)[^)]+)\)", README)
    assert [file for file in files if not (ROOT / file).exists()] == []
