"""The contract of the application with its commands is written once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sdschat.tui.app import ChatApp
from sdschat.tui.host import Host
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.window import Window

TUI = Path(__file__).resolve().parents[2] / "sdschat" / "tui"


def members(kind: type) -> set[str]:
    return {name for name in {*vars(kind), *kind.__annotations__} if not name.startswith("_")}


def test_no_protocol_declares_a_member_of_the_host_again() -> None:
    ours = members(Host) | members(Window)
    found = {
        f"{path.relative_to(TUI)}: {declared.name}.{member.name}"
        for path in TUI.rglob("*.py")
        for declared in ast.parse(path.read_text("utf-8")).body
        if isinstance(declared, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in declared.bases)
        for member in declared.body
        if isinstance(member, ast.FunctionDef) and member.name in ours
    }
    assert found == set()


@pytest.mark.parametrize("kind", [ChatApp, PlainHost])
def test_a_host_fulfils_the_whole_contract(kind: type[Host]) -> None:
    """Textual's classes have a metaclass of their own, so that Python itself does not refuse a host with a member
    missing."""
    lacking = {name for name in dir(kind) if getattr(getattr(kind, name, None), "__isabstractmethod__", False)}
    assert lacking == set()
