"""The command that installs an extra into this installation of the program."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install_command(extra: str) -> str:
    """Return the command, with the Python that runs, and the folder or file that the program was installed from."""
    told: dict[str, Any] = {}
    with suppress(PackageNotFoundError, ValueError):
        told = json.loads(distribution("sdschat").read_text("direct_url.json") or "{}")
    url = urlsplit(told.get("url", ""))
    source = url2pathname(url.path) if url.scheme == "file" else "sdschat"
    editable = ["-e"] if told.get("dir_info", {}).get("editable") else []
    return shlex.join([sys.executable, "-m", "pip", "install", *editable, f"{source}[{extra}]"])
