"""The pages name what there is: files, functions, modules, commands, options; and each module has its place."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sdschat.cli.program import COMMANDS, program
from tests.house import ROOT, Function, Tree

SOURCE = ROOT / "sdschat"
TREES = (SOURCE, ROOT / "proto", ROOT / "tests")
PAGES = sorted(
    [ROOT / "README.md"] + [page for tree in TREES for page in tree.rglob("*.md") if "node_modules" not in page.parts]
)
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not re.search(r"__(init|main)__|_pb2", path.name))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def folders_below(folder: Path) -> list[Path]:
    """Return a folder and all below it, except those of installed packages and of tools."""
    found = []
    for path, names, _ in os.walk(folder):
        names[:] = [name for name in names if name not in ("node_modules", "__pycache__") and not name.startswith(".")]
        found.append(Path(path))
    return found


def found_files(page: Path, name: str) -> list[Path]:
    """Return the files that a page may mean by a path: below its folder, the sources or the root."""
    places = (ROOT, SOURCE, *folders_below(page.parent))
    return [place / name for place in places if (place / name).is_file()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|proto|sql))`", page.read_text("utf-8")))
    assert {name for name in named if not found_files(page, name)} == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_page_of_its_package_names_a_module(path: Path) -> None:
    """By its name, or by that of the folder that it is in."""
    package = next(folder for folder in path.parents if (folder / "README.md").exists())
    text = (package / "README.md").read_text("utf-8")
    within = path.relative_to(package)
    folders = [folder for folder in within.parents if folder.name]
    names = [str(within), str(path.relative_to(SOURCE)), path.name, *(f"{folder}/" for folder in folders)]
    assert any(f"`{name}`" in text for name in names), f"{package.name}/README.md does not name {within}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_names_beside_a_file_is_in_it(page: Path) -> None:
    """As in `file.py` (`name`), or `name` in `file.py`."""
    text = page.read_text("utf-8")
    pairs = [
        (file, name)
        for file, names in re.findall(r"`([\w/]+\.py)` \(((?:`[\w.]+`(?:, )?)+)\)", text)
        for name in re.findall(r"`([\w.]+)`", names)
    ]
    for names, file in re.findall(r"((?:`[A-Za-z_]\w*`(?:, | and )?)+) in `([\w/]+\.py)`", text):
        pairs += [(file, name) for name in re.findall(r"`(\w+)`", names)]
    lost = [
        f"{name} in {file}"
        for file, name in pairs
        if not any(re.search(rf"\b{name.split('.')[-1]}\b", found.read_text()) for found in found_files(page, file))
    ]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_modules_that_a_page_runs_exist(page: Path) -> None:
    named = set(re.findall(r"python -m ((?:tests|sdschat)[\w.]*\w)", page.read_text("utf-8")))
    assert {name for name in named if importlib.util.find_spec(name) is None} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    assert [line for line in commands_of(page) if (problem := trouble(line.split())) and problem] == []


def commands_of(page: Path) -> Iterator[str]:
    """Yield the calls of the program in a page, each as one line."""
    text = page.read_text("utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n")]
    code = [line for block in blocks if all(line.startswith("    ") for line in block) for line in block]
    for call in [*code, *re.findall(r"`([^`\n]+)`", text)]:
        if found := re.match(r"\s*(?:\S+=\S+ )*(?:\.venv/bin/)?sdschat ([^|>]+)", call):
            yield re.split(" -- |  ", found[1])[0].strip()  # what two spaces part is an explanation


def trouble(words: list[str]) -> str:
    """Return the first word that no command, or the command before it, has."""
    command: click.Command = program
    while words and isinstance(command, click.Group) and re.fullmatch(r"[a-z][\w-]+", words[0]):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return words[0]
        command, words = found, words[1:]
    options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    return next((word for word in words if re.match(r"--\w", word) and word.split("=")[0] not in options), "")


def test_a_command_and_an_option_that_are_gone_are_found() -> None:
    assert [trouble(line.split()) for line in ("talk lobby", "join lobby --loud", "join lobby --name ann")] == [
        "talk",
        "--loud",
        "",
    ]
    assert "join" in COMMANDS


def test_the_functions_that_the_walks_name_exist() -> None:
    page = (SOURCE / "README.md").read_text("utf-8")
    walks = page[page.index("## A packet, from") :]
    named = set(re.findall(r"`((?:[A-Z]\w+\.)?_?[a-z][a-z_]+)`", walks))
    assert named - defined_names(Tree().modules) == set()
    assert len(named) > 30


def defined_names(modules: dict[str, ast.Module]) -> set[str]:
    """Return the functions and methods that are defined, these also as `Class.method`."""
    found = set()
    for module in modules.values():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, Function)}
            elif isinstance(node, Function):
                found.add(node.name)
    return found
