"""Tables of conformance, made from the docstrings of the tests: `python -m tests.conformance --write`.

A test belongs to the rule in its name (`test_s_019_…` to S-019), and to those in a paragraph `Rules: M-013, M-014.` of
its docstring. The docstring of a module may have such a paragraph too. The docstring of a test that is named after a
rule begins with `Spec: "…"`, the sentence of the specification (… for what is left out), or with `Defect: …`. A
paragraph `Here: …` in one of the tests of a rule says how the sentence is met where that is not plain. A test of
several rules may have a paragraph for each instead: `T-016: "…"`, and after the sentence how it is met.

A new rule of a specification has the next number: raise the count of its section in `PAGES`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
MARK = "<!-- From here on made by `python -m tests.conformance --write`. -->\n"
_QUOTED = re.compile(r'([A-Z]+-\d+): "(.*)"(?: (.*))?')
_NAMED = re.compile(r"test_(s|m|mm|v)_(\d+)_")


@dataclass(frozen=True, slots=True)
class Section:
    """The rules of one specification, numbered from 1: `letter` and a number of `digits` digits."""

    title: str
    letter: str
    digits: int
    count: int

    def rules(self) -> list[str]:
        return [f"{self.letter}-{number:0{self.digits}}" for number in range(1, self.count + 1)]


PAGES = {
    "spec": (Section("SDS and SDS-R", "S", 3, 87),),
    "mvds": (
        Section("2/MVDS", "M", 3, 27),
        Section("4/MVDS-META", "MM", 2, 9),
        Section("Defects of other implementations", "V", 2, 20),
    ),
    "timber": (Section("Timber", "T", 3, 75),),
}
ELSEWHERE = {"timber": ("wire/test_timber_codec.py",)}  # tests of a page that are not in its folder


@dataclass(slots=True)
class Rule:
    """Everything that the tests say about one rule, in the order of files and lines, each text once."""

    sentences: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    tests: dict[str, None] = field(default_factory=dict)


def paragraphs(docstring: str, label: str) -> list[str]:
    """Paragraphs of a docstring that begin with `label: `, each on one line and without the label."""
    joined = (" ".join(part.split()) for part in docstring.split("\n\n"))
    return [part.removeprefix(f"{label}: ") for part in joined if part.startswith(f"{label}: ")]


def _sentences(docstring: str) -> Iterator[str]:
    for quoted in paragraphs(docstring, "Spec"):
        if not (len(quoted) > 2 and quoted[0] == quoted[-1] == '"'):
            raise ValueError(f"not in quotation marks: {quoted}")
        yield quoted[1:-1]
    yield from paragraphs(docstring, "Defect")


def _quoted(docstring: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rules of a test of several: name, sentence, and how it is met."""
    for part in docstring.split("\n\n"):
        if found := _QUOTED.fullmatch(" ".join(part.split())):
            yield found[1], found[2], found[3] or ""


def _named_rules(docstring: str) -> list[str]:
    return [rule for text in paragraphs(docstring, "Rules") for rule in re.findall(r"[A-Z]+-\d+", text)]


def read_rules(folder: Path) -> dict[str, Rule]:
    """Rules by name, from all tests of a folder."""
    found: defaultdict[str, Rule] = defaultdict(Rule)
    elsewhere: list[tuple[str, str]] = []  # (rule, test or module not named after it): listed last
    others = (TESTS / path for path in ELSEWHERE.get(folder.name, ()))
    for path in (*sorted(folder.glob("test_*.py")), *others):
        module = ast.parse(path.read_text(encoding="utf-8"))
        elsewhere += [(rule, path.name) for rule in _named_rules(ast.get_docstring(module) or "")]
        for node in module.body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            docstring = ast.get_docstring(node) or ""
            elsewhere += [(rule, node.name) for rule in _named_rules(docstring)]
            for name, sentence, note in _quoted(docstring):
                found[name].tests[node.name] = None
                found[name].sentences[sentence] = None
                if note:
                    found[name].notes[note] = None
            if named := _NAMED.match(node.name):
                rule = found[f"{named[1].upper()}-{named[2]}"]
                rule.tests[node.name] = None
                rule.sentences.update(dict.fromkeys(_sentences(docstring)))
                rule.notes.update(dict.fromkeys(paragraphs(docstring, "Here")))
    for name, test in elsewhere:
        found[name].tests[test] = None
    return dict(found)


def _row(name: str, rule: Rule) -> str:
    tests = "<br>".join(f"`{test}`" for test in rule.tests)
    cells = (name, " … ".join(rule.sentences), " ".join(rule.notes), tests)
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def uncounted(page: str, rules: Iterable[str]) -> list[str]:
    """Return a line for each of these rules that is in no section of the page."""
    counted = {name for section in PAGES[page] for name in section.rules()}
    return [f"{name} is in no section of {page!r}: raise the count in PAGES" for name in rules if name not in counted]


def table(page: str) -> str:
    """The generated part of a page."""
    rules = read_rules(TESTS / page)
    parts = []
    for section in PAGES[page]:
        rows = [_row(name, rules.get(name, Rule())) for name in section.rules()]
        kind = "defect" if section.letter == "V" else "sentence"
        parts.append(
            "\n".join((f"## {section.title}\n", f"| rule | {kind} | here | tests |", "|---|---|---|---|", *rows))
        )
    return "\n" + "\n\n".join(parts) + "\n"


def written(page: str) -> tuple[str, str]:
    """The README of a page as it is: the part before the mark, and the table after it."""
    head, mark, rest = (TESTS / page / "README.md").read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"tests/{page}/README.md has no line {MARK!r}")
    return head, rest


def _bare(text: str) -> str:
    """Text without Markdown and with single spaces, so that a quotation can be looked for in a specification."""
    text = re.sub(r"\[\^\d+\]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    text = re.sub(r"(?m)^\s*(?:[-*>]|\d+\.)\s+", "", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return " ".join(re.sub(r"[`*_]", "", text).split())


def misquoted(specifications: Sequence[Path]) -> list[str]:
    """Quotations of the rules that these specifications do not have word for word; V rows quote nothing."""
    text = " ".join(_bare(path.read_text(encoding="utf-8")) for path in specifications)
    return [
        f"{name}: {sentence}"
        for page in PAGES
        for name, rule in sorted(read_rules(TESTS / page).items())
        for sentence in rule.sentences
        if not name.startswith("V-") and not all(_bare(part) in text for part in sentence.split(" … "))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into the READMEs")
    parser.add_argument("--against", nargs="+", type=Path, metavar="FILE", help="compare quotations with these texts")
    options = parser.parse_args()
    wrong = [line for page in PAGES for line in uncounted(page, read_rules(TESTS / page))]
    if options.write and not wrong:
        for page in PAGES:
            head, _ = written(page)
            (TESTS / page / "README.md").write_text(head + MARK + table(page), encoding="utf-8")
    wrong += misquoted(options.against) if options.against else []
    print("\n".join(wrong) if wrong else "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
