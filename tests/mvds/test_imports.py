"""MVDS needs nothing but the standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_mvds_needs_only_the_standard_library() -> None:
    program = (
        "import sys; import sdschat.mvds, sdschat.mvds.memory;"
        "print([name for name in sys.modules if '.' not in name and name not in sys.stdlib_module_names])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.strip("[]\n").replace("'", "").split(", ")) <= {"__main__", "sdschat"}
