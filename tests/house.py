"""Measure the layout and the words of the code base: `python -m tests.house`.

Prints one row for each measure, with the bound that `tests/test_house.py` keeps. Type-only and late imports count as
imports. `python -m tests.house --list MEASURE` names the places behind a figure.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
RELATIVE = re.compile(r"(What|Whether|Who|Whose|Where|Which|Of|How)\b")
SMALL_FILE = 70  # lines; a smaller module with one importer may be a file that was cut by length
LAID_OUT_BY_HAND = re.compile(r"#\s*fmt: skip")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Measure:
    """One row of the table. `places` are what the figure counts; `bound` is the largest figure allowed."""

    name: str
    figure: float
    bound: float | None = None
    places: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.bound is None or self.figure <= self.bound


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and all statements below it, without the expressions in them: most nodes are expressions."""
    yield node
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        for below in getattr(node, block, ()):
            yield from statements(below)


class Tree:
    """The modules of a package, each parsed once, and the imports between them."""

    def __init__(self, root: Path = ROOT, package: str = "sdschat") -> None:
        self.root = root
        self.files = sorted(
            path
            for path in (root / package).rglob("*.py")
            if "_pb2" not in path.name and "node_modules" not in path.parts
        )
        self.modules = {self._name(path): ast.parse(path.read_text("utf-8")) for path in self.files}
        self.lines = {self._name(path): path.read_text("utf-8").count("\n") for path in self.files}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        return {name: set(self._imported(name, tree)) for name, tree in self.modules.items()}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _imported(self, name: str, tree: ast.Module) -> Iterator[str]:
        for node in statements(tree):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                below = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
                wanted = [one if one in self.modules else module for one, module in below]
            else:
                continue
            yield from (one for one in wanted if one in self.modules and one != name)

    def cycles(self) -> list[list[str]]:
        """Return the strongly connected groups of more than one module (Tarjan's algorithm)."""
        order: dict[str, int] = {}
        lowest: dict[str, int] = {}
        stack: list[str] = []
        found: list[list[str]] = []

        def visit(name: str) -> None:
            order[name] = lowest[name] = len(order)
            stack.append(name)
            for other in sorted(self.imports[name]):
                if other not in order:
                    visit(other)
                    lowest[name] = min(lowest[name], lowest[other])
                elif other in stack:
                    lowest[name] = min(lowest[name], order[other])
            if lowest[name] == order[name]:
                group = stack[stack.index(name) :]
                del stack[stack.index(name) :]
                if len(group) > 1:
                    found.append(sorted(group))

        for name in self.modules:
            if name not in order:
                visit(name)
        return sorted(found)

    def functions(self) -> Iterator[tuple[str, int]]:
        for name, tree in self.modules.items():
            for node in statements(tree):
                if isinstance(node, Function):
                    yield f"{name}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def relative_docstrings(modules: dict[str, ast.Module]) -> tuple[list[str], int]:
    """Return the docstrings that begin with a relative word, and the number of all docstrings."""
    found, count = [], 0
    for name, tree in modules.items():
        for node in statements(tree):
            text = ast.get_docstring(node) if isinstance(node, Documented) else None
            count += text is not None
            if text and RELATIVE.match(text):
                found.append(f"{name}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0][:80]}")
    return found, count


def repeated_class_names(tree: Tree) -> list[str]:
    """Return the public class names that more than one module defines."""
    places = defaultdict(list)
    for name, module in tree.modules.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def small_modules_with_one_importer(tree: Tree) -> list[str]:
    importers = defaultdict(set)
    for name, wanted in tree.imports.items():
        for one in wanted:
            importers[one].add(name)
    return [
        f"{name} ({lines} lines), imported by {next(iter(importers[name]))}"
        for name, lines in sorted(tree.lines.items())
        if lines < SMALL_FILE and len(importers[name]) == 1 and not (tree.root / name.replace(".", "/")).is_dir()
    ]


def reads_of_private_fields(modules: dict[str, ast.Module]) -> list[str]:
    """Return the reads of a private field of an object that is neither `self` nor, in a comparison, `other`."""
    own = {"self", "cls", "other", "os"}  # os._exit is public in spite of its name
    return [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, module in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and re.match(r"_(?!_|replace$|asdict$|fields$|make$)", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in own)
        and ast.unparse(node.value) != "super()"
    ]


def laid_out_by_hand(root: Path) -> list[str]:
    found = []
    for path in sorted([*(root / "sdschat").rglob("*.py"), *(root / "tests").rglob("*.py")]):
        if "node_modules" in path.parts or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if LAID_OUT_BY_HAND.search(line):
                found.append(f"{path.relative_to(root)}:{number}")
    return found


def commit_subjects(root: Path, count: int = 100) -> list[str]:
    done = subprocess.run(
        ["git", "log", f"-{count}", "--format=%s"], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


def measures(tree: Tree) -> list[Measure]:
    relative, documented = relative_docstrings(tree.modules)
    of_tests, _ = relative_docstrings(Tree(tree.root, "tests").modules)
    cycles = tree.cycles()
    names = repeated_class_names(tree)
    wide = sorted((len(wanted), name) for name, wanted in tree.imports.items())
    small = small_modules_with_one_importer(tree)
    by_hand = laid_out_by_hand(tree.root)
    functions = sorted((lines, where) for where, lines in tree.functions())
    files = sorted((lines, name) for name, lines in tree.lines.items())
    private = reads_of_private_fields(tree.modules)
    readme = (tree.root / "README.md").read_text("utf-8").count("\n")
    subjects = commit_subjects(tree.root)
    long_subjects = [subject for subject in subjects if len(subject) > 72]
    median = statistics.median(map(len, subjects)) if subjects else 0
    return [
        Measure("docstrings that begin with a relative word", len(relative), 0, relative),
        Measure("docstrings of tests that begin with a relative word", len(of_tests), 0, of_tests),
        Measure("docstrings", documented),
        Measure("public class names with several meanings", len(names), 19, names),
        Measure("own modules a file imports, 90th percentile", wide[len(wide) * 9 // 10][0], 8, _largest(wide)),
        Measure("import cycles, by any import", len(cycles), 0, [" ".join(group) for group in cycles]),
        Measure("files in import cycles", sum(map(len, cycles)), 0),
        Measure("reads of another object's private field", len(private), 0, private),
        Measure("lines laid out by hand (fmt: skip)", len(by_hand), 19, by_hand),
        Measure("lines of the README", readme, 230),
        Measure("longest file, lines", files[-1][0], 400, _largest(files)),
        Measure("median file, lines", statistics.median(lines for lines, _ in files)),
        Measure("longest function, lines", functions[-1][0], 60, _largest(functions)),
        Measure("median function, lines", statistics.median(lines for lines, _ in functions)),
        Measure(f"modules under {SMALL_FILE} lines with one importer", len(small), 25, small),
        Measure("median commit subject of the last 100, characters", median),
        Measure("commit subjects of the last 100 over 72 characters", len(long_subjects), None, long_subjects),
    ]


def _largest(rows: list[tuple[int, str]]) -> list[str]:
    return [f"{where}: {figure}" for figure, where in reversed(rows[-40:])]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure the layout and the words of the code base.")
    parser.add_argument("--list", metavar="MEASURE", default="", help="name the places behind a measure")
    options = parser.parse_args(argv)
    rows = measures(Tree())
    for row in rows:
        if options.list:
            if options.list in row.name:
                print(row.name, *row.places, sep="\n  ")
            continue
        bound = "" if row.bound is None else f"{'ok' if row.good else 'over'}, at most {row.bound:g}"
        print(f"{row.name:<55} {row.figure:>7g}  {bound}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
