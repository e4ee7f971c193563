"""How a person looks at one message in one profile."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from sdschat.pipeline.schemas import Node


def commands(nodes: list[Node]) -> Mapping[str, str]:
    """Options that name the profile of a node, where its database is where sdschat keeps it."""
    found = {}
    for node in nodes:
        parts = node.source.split("/")
        if parts[-1] == "sdschat.db" and len(parts) > 3 and parts[-3] == "profiles":
            found[node.node] = shlex.join(["--profile", parts[-2], "--data-dir", "/".join(parts[:-3])])
    return found
