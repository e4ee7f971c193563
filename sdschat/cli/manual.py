"""The manual: sections of the pages that stand beside the packages, shipped with the program.

`sdschat help` and `sdschat man` take their texts from here, so that each text is written once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple

FOR_PROGRAMS: Final = "cli/README.md"


class Section(NamedTuple):
    """A section of a page: the page's path below the package, and the heading."""

    page: str
    heading: str


# A topic with a command's name stands before the text of `--help`.
TOPICS: Final[Mapping[str, Section]] = {
    "chat": Section("tui/README.md", "The chat"),
    "keys": Section("tui/README.md", "Keys"),
    "signs": Section("tui/README.md", "Signs"),
    "lens": Section("tui/README.md", "The Lens"),
    "store": Section("node/store_server/README.md", "Store nodes"),
    "json": Section(FOR_PROGRAMS, "JSON lines"),
    "settings": Section(FOR_PROGRAMS, "Settings"),
    "audit": Section("pipeline/README.md", "Did everybody get everything?"),
    "spark": Section("pipeline/README.md", "Audits and figures on Spark"),
}
_HEADING: Final = re.compile(r"(?m)^(#+) (.*)$")
_PICTURE: Final = re.compile(r"(?m)^!\[[^\]]*\]\([^)]*\)\n+")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def text_of(section: Section) -> str:
    """Return a section as Markdown, without pictures and links, its heading as a heading of the first level.

    The section of a page's title ends at the next heading; any other at the next heading of its level or above.
    """
    page = resources.files("sdschat").joinpath(section.page).read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(page))
    begin = next(found for found in headings if found[2] == section.heading)
    level = len(begin[1])
    deepest = level if level > 1 else len("######")
    later = (found.start() for found in headings if found.start() > begin.start() and len(found[1]) <= deepest)
    body = page[begin.end() : next(later, len(page))]
    body = re.sub(rf"(?m)^#{{{level - 1}}}(?=#+ )", "", body)
    return _LINK.sub(r"\1", _PICTURE.sub("", f"# {section.heading}{body}")).rstrip() + "\n"


def rows_of(section: Section) -> list[tuple[str, ...]]:
    """Return the rows of the table in a section, below its head, as plain text."""
    lines = [line for line in text_of(section).splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.replace("`", "").strip("|").split("|")) for line in lines[2:]]
