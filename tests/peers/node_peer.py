"""Run the scripts of the TypeScript implementation in `tests/peers/node`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.needs import needs_path, needs_program

FOLDER: Final = Path(__file__).parent / "node"


def run_script(script: str, *arguments: object, timeout: float = 300) -> dict[str, Any]:
    """Return the JSON object that a script prints. Skip the test if Node.js or the peer's packages are missing."""
    node = needs_program("node")
    needs_path(FOLDER / "node_modules" / "@waku" / "sds", "npm ci --prefix tests/peers/node")
    command = [node, str(FOLDER / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} ended with {done.returncode}: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result
