"""Names that others rely on stand in the pages, and every link of a page leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from sdschat.cli.json_events import EVENT_NAMES
from sdschat.cli.program import COMMANDS
from sdschat.node.settings import SETTINGS
from sdschat.sds.values import Reason
from sdschat.timber.values import Reason as TimberReason
from tests.cli.processes import ROOT

PAGES: Final = sorted(
    path
    for top in ("README.md", "CHANGELOG.md", "sdschat", "proto", "tests")
    for path in ([ROOT / top] if top.endswith(".md") else (ROOT / top).rglob("*.md"))
    if "node_modules" not in path.parts
)
LONGEST: Final = 230  # lines of the first page


def _section(page: str, heading: str) -> str:
    """Return the text below a heading, to the next heading of the same level or above."""
    text = "\n" + (ROOT / page).read_text(encoding="utf-8")
    below = text.partition(f"\n{heading}\n")[2]
    return re.split(rf"(?m)^#{{1,{heading.index(' ')}}} ", below)[0]


def _anchor(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it: without punctuation, with dashes for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize(
    ("page", "heading", "names"),
    [
        ("README.md", "## Commands", [f"sdschat {name}" for name in COMMANDS]),
        ("sdschat/cli/README.md", "## Settings", list(SETTINGS)),
        ("sdschat/cli/README.md", "## JSON lines", list(EVENT_NAMES)),
        ("sdschat/cli/README.md", "## Reasons", [*Reason, *TimberReason]),
    ],
)
def test_every_name_is_in_its_page(page: str, heading: str, names: list[str]) -> None:
    quoted = {re.split(r" (?=[A-Z\[…])", name)[0] for name in re.findall(r"`([^`]+)`", _section(page, heading))}
    assert [name for name in names if name not in quoted] == []


def test_no_name_in_the_tables_of_settings_and_events_has_gone() -> None:
    for heading, known in (("## Settings", set(SETTINGS)), ("## JSON lines", set(EVENT_NAMES))):
        cells = re.findall(r"(?m)^\| (`[^|]*) \|", _section("sdschat/cli/README.md", heading))
        named = {name for cell in cells for name in re.findall(r"`([a-z_.]+)`", cell)}
        assert len(named) > 20
        assert named - known == set()


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(((?!https?:)[^)]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not _leads_somewhere(page, link)] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    name, sharp, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists() or not sharp:
        return target.exists()
    return anchor in map(_anchor, re.findall(r"(?m)^#{1,4} (.*)$", target.read_text(encoding="utf-8")))
