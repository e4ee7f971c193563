"""Timber needs nothing but the standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_timber_needs_only_the_standard_library() -> None:
    modules = ", ".join(f"sdschat.timber.{path.stem}" for path in (ROOT / "sdschat" / "timber").glob("[a-z]*.py"))
    program = (
        f"import sys; import {modules};"
        "print([name for name in sys.modules if '.' not in name and name not in sys.stdlib_module_names])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.strip("[]\n").replace("'", "").split(", ")) <= {"__main__", "sdschat"}
