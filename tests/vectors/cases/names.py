"""Message ids, groups, hints and fingerprints of logs."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.vectors.cases.catchup import LOG, ODD
from tests.vectors.cases.filters import START
from tests.vectors.plain import names as plain

Case = dict[str, Any]
ONE, OTHER = "0f" * 16, "f0" * 16


def file() -> Case:
    return {
        "notes": "Names that two programs must make alike, and the fingerprint of a log in checkpoints.",
        "content_ids": [{"content": raw.hex(), "id": sha256(raw).hexdigest()} for raw in _CONTENTS],
        "text_ids": [_text_id(*values) for values in _TEXTS],
        "history_groups": [{"channel": name, "group": plain.history_group(name).hex()} for name in _CHANNELS],
        "pair_groups": [
            {"channel": name, "pair": pair, "group": plain.pair_group(name, *pair).hex()}
            for name in _CHANNELS
            for pair in ([ONE, OTHER], [OTHER, ONE])
        ],
        "hints": [
            {"store": ONE, "place": place, "hex": plain.hint(ONE, place).hex()} for place in (0, 1, 2**32, 2**63 - 1)
        ],
        "logs": [{"log": [list(one) for one in log], "fingerprint": plain.log_fingerprint(log)} for log in _LOGS],
    }


_CONTENTS = [b"", b"hello", bytes(range(256))]
_CHANNELS = ["lobby", "größe 🙂"]
_TEXTS = [("lobby", ONE, START, b"hello"), ("größe 🙂", "bob", 0, b""), ("a", "b", 2**63 - 1, bytes(range(256)))]
_LOGS: list[list[tuple[int, str]]] = [[], ODD[:1], ODD, LOG]


def _text_id(channel: str, sender: str, lamport: int, content: bytes) -> Case:
    found = plain.text_id(channel, sender, lamport, content)
    return {"channel": channel, "sender": sender, "lamport": lamport, "content": content.hex(), "id": found}
