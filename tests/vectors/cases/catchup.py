"""Digests, fingerprints, short ids, cells, frames and pages of catching up."""

from __future__ import annotations

from typing import Any

from tests.vectors.cases.filters import DIGESTS, START, TEXTS
from tests.vectors.plain import catchup as plain

Case = dict[str, Any]
SALTS = [0, 1, 0x0123456789ABCDEF, 2**64 - 1]
LOG = [(START + at // 2, message_id) for at, message_id in enumerate(DIGESTS)]
ODD = [(0, "a"), *((START + at * 7, message_id) for at, message_id in enumerate(TEXTS)), (2**63 - 1, "z")]
LOW, MIDDLE, HIGH = [0, ""], [START + 3, DIGESTS[7][:5]], [2**63 - 1, ""]


def file() -> Case:
    return {
        "notes": "Catching up (sdschat/catchup/README.md; proto/catchup.proto). Byte strings in hex.",
        "digests": [{"place": list(place), "digest": f"{plain.digest(place):064x}"} for place in ODD],
        "fingerprints": [
            {"log": [list(place) for place in log], "salt": salt, "fingerprint": plain.fingerprint(log, salt).hex()}
            for log in ([], ODD[:1], ODD, LOG)
            for salt in SALTS
        ],
        "shorts": [
            {"id": item, "salt": salt, "short": f"{plain.short(item, salt):016x}"}
            for item in [*TEXTS, *DIGESTS[:4]]
            for salt in SALTS
        ],
        "cells": [_cells(ids, salt, count) for ids, salt, count in _CELLS],
        "frames": [{**case, "hex": plain.frame(case).hex()} for case in _FRAMES],
        "pages": [{**case, "hex": plain.page(case).hex()} for case in _PAGES],
        "lanes": [{"lane": lane, "hex": plain.lane(lane).hex()} for lane in (1, 2)],
        "signature": {"signature": bytes(range(64)).hex(), "hex": plain.signature(bytes(range(64))).hex()},
    }


_CELLS: list[tuple[list[str], int, int]] = [
    ([], 1, 6),
    (DIGESTS[:1], 1, 3),
    (TEXTS, SALTS[2], 12),
    (DIGESTS, SALTS[3], 96),
]


def _cells(ids: list[str], salt: int, count: int) -> Case:
    cells = plain.cells([plain.short(item, salt) for item in ids], count)
    return {"ids": ids, "salt": salt, "cells": "".join(f"{cell:016x}" for cell in cells)}


def _question(kind: str, low: object, high: object, number: int, fingerprint: str = "") -> Case:
    return {"kind": kind, "low": low, "high": high, "number": number, "fingerprint": fingerprint}


def _stretch(low: object, high: object, shorts: list[str], sole: bool = False) -> Case:
    return {"low": low, "high": high, "shorts": shorts, "sole": sole}


def _part(high: object, messages: int, fingerprint: str) -> Case:
    return {"high": high, "messages": messages, "fingerprint": fingerprint}


_FRAMES: list[Case] = [
    {
        "session": 1,
        "number": 0,
        "what": "ask",
        "messages": 20_000,
        "questions": [_question("parts", LOW, HIGH, 64, "0102030405060708")],
    },
    {
        "session": 2**64 - 1,
        "number": 300,
        "what": "ask",
        "messages": 0,
        "questions": [
            _question("parts", LOW, MIDDLE, 16),
            _question("cells", MIDDLE, [START + 9, ""], 48),
            _question("keys", [START, ""], [START, "b"], 2),
        ],
    },
    {"session": 7, "number": 1, "what": "answer", "replies": [{"equal": True}]},
    {
        "session": 7,
        "number": 2,
        "what": "answer",
        "replies": [
            {"parts": [_part(MIDDLE, 300, "ff" * 8), _part(HIGH, 0, "00" * 8)]},
            {"cells": "0123456789abcdef" * 6},
            {"cells": "fedcba9876543210", "listed": True},
            {"keys": [[START, DIGESTS[0]], [START, DIGESTS[1]], [START + 5, "🙂"]]},
            {},
        ],
    },
    {
        "session": 7,
        "number": 3,
        "what": "want",
        "limit": 500,
        "newest_first": True,
        "stretches": [
            _stretch(LOW, MIDDLE, []),
            _stretch(MIDDLE, HIGH, ["0123456789abcdef", "00" * 8]),
            _stretch([START, "a"], [START, "b"], ["ff" * 8], True),
        ],
    },
    {"session": 7, "number": 4, "what": "want", "limit": 0, "newest_first": False, "stretches": []},
    {"session": 7, "number": 5, "what": "declined", "why": "busy"},
    {"session": 7, "number": 6, "what": "declined", "why": ""},
    {"session": 2**32, "number": 0, "what": "nudge", "lacking": 12_345},
    {"session": 2**32, "number": 0, "what": "nudge", "lacking": 0},
]
_PAGES: list[Case] = [
    {"session": 7, "want": 3, "number": 0, "last": False, "packets": ["00ff", "0a0161"]},
    {"session": 2**64 - 1, "want": 2**32 - 1, "number": 128, "last": True, "packets": []},
]
