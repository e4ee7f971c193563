"""The rules about what imports what hold, and leave nothing out."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.needs import needs_module, needs_program

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "sdschat"
# What a program that only wants the protocol should not have to load, or even to have.
HEAVY = ("textual", "paho", "google.protobuf", "sqlite3", "pyspark")


def _contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return contracts


def _packages() -> set[str]:
    """Names of the directories under sdschat/ that hold Python."""
    return {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}


def test_import_rules() -> None:
    needs_module("importlinter")
    program = needs_program("lint-imports")
    # Found by the tests' own path: a package that is installed elsewhere must not be the one that is looked at.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [program, "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_has_its_layer() -> None:
    layers = next(contract["layers"] for contract in _contracts() if contract["type"] == "layers")
    named = {name.strip(" ()") for layer in layers for name in layer.replace("|", ":").split(":")}
    assert _packages() <= named


def test_every_folder_of_modules_is_a_package() -> None:
    """The import rules do not see into a folder without `__init__.py`, and neither do builds."""
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert {str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_every_third_party_package_has_its_rule() -> None:
    ruled = {name for contract in _contracts() for name in contract.get("forbidden_modules", ())}
    imported: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    assert imported - sys.stdlib_module_names - {"sdschat"} <= ruled


def test_every_background_task_has_an_owner() -> None:
    """A task that nobody waits for may fail unseen: only `transport/tasks.py` makes tasks, and it asks for an owner.
    The palette runs Textual's own search as a worker, whose error ends the application."""
    makers = {"create_task", "ensure_future", "TaskGroup", "run_worker", "work"}
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in makers - {"work"})
        or (isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & makers)
    }
    assert found == {"transport/tasks.py", "tui/palette.py"}


def test_no_timer_can_be_lost() -> None:
    """Textual's `set_timer` loses the call where the machine is busy at the wrong moment; `tui/later.py` does not."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "set_timer"
    }
    assert found == set()


def test_the_protocols_load_nothing_heavy() -> None:
    present = sorted(_packages() & {"sds", "mvds", "timber"})
    assert "sds" in present
    for package in present:
        modules = sorted(
            ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for path in (SOURCE / package).rglob("*.py")
        )
        code = f"import sys, {', '.join(modules)}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [], f"sdschat.{package} loads these"
