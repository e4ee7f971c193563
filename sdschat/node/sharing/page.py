"""The page: events as JSON lines, and a player for them, in one HTML file that loads nothing."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final

from sdschat.node.sharing.events import Line, SharedEvents

_HERE: Final = files("sdschat.node.sharing")
_PLACE: Final = re.compile(r"\$(POLICY|STYLE|SCRIPT|TITLE|LINES)\b")


def page(shared: SharedEvents) -> str:
    """Return the page as one self-contained file. Its policy allows its own script and style, and nothing else."""
    style, script = (_HERE.joinpath(name).read_text("utf-8") for name in ("player.css", "player.js"))
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}"
    head = shared.head()
    parts = {
        "POLICY": policy,
        "STYLE": style,
        "SCRIPT": script,
        "TITLE": escape(head["channel"]),
        "LINES": "\n".join(map(_encoded, [head, *shared.lines])),
    }
    return _PLACE.sub(lambda place: parts[place[1]], _HERE.joinpath("page.html").read_text("utf-8"))


def _encoded(line: Line) -> str:
    """Return a line of JSON in ASCII. The sign that begins a tag is escaped, so that no text ends the block."""
    return json.dumps(line, separators=(",", ":")).replace("<", "\\u003c")


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(source.encode()).digest()).decode()}'"
