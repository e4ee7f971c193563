"""The manual: sections of the pages that stand beside the packages, shipped with the program.

`sdschat help`, `sdschat man`, and `/help` and `/legend` in the chat take their texts from here, so that each text is
written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Final, NamedTuple

from sdschat.tui.model.words import ASCII, UNICODE, Glyphs

FIRST_STEPS: Final = "first steps"  # the page of help that one reads first
FOR_PROGRAMS: Final = "cli/README.md"


class Section(NamedTuple):
    """A section of a page: the page's path below the package, and the heading."""

    page: str
    heading: str


COMMANDS: Final = Section("tui/README.md", "Commands")
LENS: Final = Section("tui/README.md", "The Lens")
PREFERENCES: Final = Section("tui/README.md", "Preferences")
SIGNS: Final = Section("tui/README.md", "Signs")
KEYS_FOR_LINES: Final = Section("tui/README.md", "Keys for lines")
SIGNS_FOR_LINES: Final = Section("tui/README.md", "Signs for lines")
# A topic with a command's name stands before the text of `--help`.
TOPICS: Final[Mapping[str, Section]] = {
    "chat": Section("tui/README.md", "The chat"),
    "keys": Section("tui/README.md", "Keys"),
    "signs": SIGNS,
    "plain": Section("tui/README.md", "Line after line"),
    "lens": LENS,
    "preferences": PREFERENCES,
    "private": Section("node/private/README.md", "Private channels"),
    "members": Section("node/members/README.md", "Members' channels"),
    "store": Section("node/store_server/README.md", "Store nodes"),
    "json": Section(FOR_PROGRAMS, "JSON lines"),
    "reasons": Section(FOR_PROGRAMS, "Reasons"),
    "settings": Section(FOR_PROGRAMS, "Settings"),
    "audit": Section("audit/README.md", "Did everybody get everything?"),
    "spark": Section("pipeline/README.md", "Audits and figures on Spark"),
}
_HEADING: Final = re.compile(r"(?m)^(#+) (.*)$")
_PICTURE: Final = re.compile(r"(?m)^!\[[^\]]*\]\([^)]*\)\n+")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS: Final = re.compile(r"`([^`]*)`|\*+([^*]+)\*+")
_COLUMN: Final = 22  # characters of a column of a table, at most
_BOTH_SIGNS: Final = re.compile(r"(\S) \(with --ascii \1\)")  # one sign and the one in its place, where they are one
_IN_ASCII: Final = "with --ascii"  # the head of the column that stands in place of the first one


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


def lines_of(section: Section, glyphs: Glyphs = UNICODE) -> list[str]:
    """Return a section as lines of plain text, each paragraph on one, with the signs of `glyphs`."""
    lines: list[str] = []
    blocks = re.split(r"\n\n+", text_of(section).strip())
    tables = {block: _rows(block, glyphs) for block in blocks if block.startswith("|")}
    widths = dict[int, list[int]]()  # by number of columns: tables with as many are one below the other
    for rows in tables.values():
        found = [min(_COLUMN, max(map(len, column))) for column in zip(*rows, strict=True)]
        widths[len(found)] = [*map(max, found, widths.get(len(found), found))]
    for block in blocks:
        if block in tables:
            lines += _table(tables[block], widths)
        elif block.startswith("    "):
            lines += block.splitlines()
        else:
            lines += _plain(re.sub(r"\n +(?=\S)|\n(?![-#|])", " ", block)).splitlines()
    return [line.lstrip("# ") + ":" if line.startswith("#") else _with_signs(line, glyphs) for line in lines]


def _plain(markdown: str) -> str:
    return _MARKS.sub(lambda found: found[1] or found[2] or "", markdown)


def _rows(block: str, glyphs: Glyphs) -> list[list[str]]:
    """Return the cells of a table below its head, with the signs of `glyphs` alone."""
    rows = [[_plain(cell.strip()) for cell in line.strip("|").split("|")] for line in block.splitlines()]
    if _IN_ASCII in rows[0]:
        unwanted = 1 if glyphs is UNICODE else 0
        rows = [row[:unwanted] + row[unwanted + 1 :] for row in rows]
    return rows[2:]


def _table(rows: list[list[str]], by_columns: Mapping[int, list[int]]) -> list[str]:
    found, widths = [], by_columns[len(rows[0])]
    for row in rows:
        *first, last = row
        head = " ".join(f"{cell:<{width}}" for cell, width in zip(first, widths, strict=False))
        if len(head) > sum(widths[:-1]) + len(widths) - 2:  # the head has a line of its own
            found.append(f"  {head}")
            head = " " * _COLUMN
        found.append(f"  {head}  {last}")  # two spaces: what goes on in the next line stands below the last column
    return found


def by_section(topics: Mapping[str, Section]) -> dict[Section, str]:
    """Return the topic of each section, once: the last one, where two are one section."""
    return {section: topic for topic, section in topics.items()}


def whole_rows(page: list[str]) -> list[str]:
    """Return the lines of a page, each row of a table as one line: the second part alone would say of nothing."""
    rows: list[str] = []
    for line in page:
        if line.startswith(" " * _COLUMN) and rows:
            rows[-1] = f"{rows[-1].rstrip()}: {line.lstrip()}"
        else:
            rows.append(line)
    return rows


# A key or another part of a screen that a text names.
_OF_A_SCREEN: Final = re.compile(
    r"(?<![\w/-])(?:F\d+|(?:Alt|Ctrl|Shift)\+\w+|Esc|Tab|PgUp|Enter|Left and right|mouse|cells?|panel|frames?"
    r"|first column|the sheet)(?!\w)"
)
_SCREEN_IN_BRACKETS: Final = re.compile(r" \((?:F\d+|[^()]*(?:Alt|Ctrl)\+[^()]*)\)")


def without_keys(text: str) -> str:
    """Return a text without the sentences about keys and other parts of a screen, for where there is none."""
    lines = _SCREEN_IN_BRACKETS.sub("", text).split("\n")
    kept = (
        " ".join(part for part in re.split(r"(?<=[.;]) (?=\S)", line) if not _OF_A_SCREEN.search(part)).rstrip("; ")
        for line in lines
    )
    return "\n".join(line for line in kept if line.strip())


# What only a person at the machine can do: a command of the program, or a file of its settings.
_OF_THE_MACHINE: Final = re.compile(r"\bsdschat(?!\w)|\btui\.toml\b|\bthemes/|--\w|\b[Nn]o broker given")
_FOR_VISITORS: Final = (
    "-  You are a visitor: the chat runs on the machine that this page is from, and its files and programs are not "
    "for you. Others join by opening the address of this page; with ?name=ann behind it they choose a name. This "
    "browser finds your name, key and history again when it comes back.",
    "",
)


def for_visitors(lines: Sequence[str], *, begins: bool = False) -> list[str]:
    """Return lines without what a visitor in a browser cannot do. `begins`: they are the first ones that one reads."""
    found = list(_FOR_VISITORS) if begins else []
    for line in lines:
        if not line and (not found or not found[-1]):
            continue  # what stood between two empty lines was left out
        if not _OF_THE_MACHINE.search(line):
            found.append(line)
        elif not line.startswith("    "):  # an example is left out whole
            kept = " ".join(_parts_for_visitors(line)).rstrip("; ")
            found += [kept] if kept.strip("- ") else []
    return found[:-1] if found and not found[-1] else found


def _parts_for_visitors(line: str) -> Iterator[str]:
    """Yield the sentences that a visitor can use, without the second half of one whose first half is left out."""
    left_out = False
    for part in re.split(r"(?<=[.;]) (?=\S)", line):
        left_out = bool(_OF_THE_MACHINE.search(part)) or (left_out and part[0].islower())
        if not left_out:
            yield part


def _with_signs(text: str, glyphs: Glyphs) -> str:
    """Return the text with the signs of these glyphs in place of those that the pages are written with."""
    if glyphs is ASCII:
        text = text.replace(f"{UNICODE.cut} ({_IN_ASCII}", f"{ASCII.cut} ({_IN_ASCII}")  # elsewhere it is a word
        for sign, instead in zip(UNICODE, ASCII, strict=True):
            text = text if sign.isascii() or sign == UNICODE.cut else text.replace(sign, instead)
        text = _BOTH_SIGNS.sub(r"\1", text)
        text = text.replace("…", "...")
    return text
