"""Tools that a test may need: the test is skipped with the reason, or fails where everything must run."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType


def _absent(reason: str) -> None:
    """`SDSCHAT_TEST_ALL=1` says that nothing may be skipped, so that a green run means that everything ran.

    A program that is run by hand (`python -m tests.peers`) needs no pytest, and ends with the reason.
    """
    if "pytest" not in sys.modules:
        raise SystemExit(reason)
    import pytest

    if os.environ.get("SDSCHAT_TEST_ALL") == "1":
        pytest.fail(f"{reason}, and SDSCHAT_TEST_ALL=1 allows no skipping", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def needs_module(name: str) -> ModuleType:
    """The Python module of this name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        _absent(f"the Python module {name} cannot be imported ({error})")
        raise


def needs_program(name: str) -> str:
    """The path of this program. Looked for beside this Python, on the path, and where Debian keeps servers."""
    places = (str(Path(sys.executable).parent), None, "/usr/sbin:/usr/local/sbin")
    found = next((path for place in places if (path := shutil.which(name, path=place))), None)
    if found is None:
        _absent(f"the program {name} is not installed")
        raise FileNotFoundError(name)
    return found


def needs_path(path: Path, made_by: str) -> Path:
    """This path, which the command `made_by` makes."""
    if not path.exists():
        _absent(f"{path.name} is not there; it is made by: {made_by}")
    return path
