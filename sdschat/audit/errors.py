"""Errors of the pipeline for the user, and the command that helps where a package is missing."""

from __future__ import annotations

from typing import Any, Final

NO_SPARK: Final = 3  # exit code: no Java, or a cluster that cannot be reached


class PipelineProblem(Exception):
    """An error for the user. The message says what happened, why, and what to do, in one line."""

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def install_command(extra: str) -> str:
    """Return the command that installs an extra into this installation: with the Python that runs, from the folder or
    file that the program was installed from."""
    import json  # all of these are slow to import, and seldom needed
    import shlex
    import sys
    from contextlib import suppress
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    told: dict[str, Any] = {}
    with suppress(PackageNotFoundError, ValueError):
        told = json.loads(distribution("sdschat").read_text("direct_url.json") or "{}")
    url = urlsplit(told.get("url", ""))
    source = url2pathname(url.path) if url.scheme == "file" else "sdschat"
    editable = ["-e"] if told.get("dir_info", {}).get("editable") else []
    return shlex.join([sys.executable, "-m", "pip", "install", *editable, f"{source}[{extra}]"])
