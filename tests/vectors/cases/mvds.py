"""Payloads of MVDS in both dialects, and ids of their messages."""

from __future__ import annotations

from typing import Any

from tests.vectors.cases.filters import START
from tests.vectors.plain import names as plain

Case = dict[str, Any]
A, B, C = "aa" * 32, "bb" * 32, "cc" * 32


def file() -> Case:
    return {
        "notes": "2/MVDS with 4/MVDS-META: the spec's field numbers, and those of the Go implementation.",
        "payloads": [
            {**case, "spec": plain.payload(case, 5001, 6001).hex(), "go": plain.payload(case, 1, 1).hex()}
            for case in _PAYLOADS
        ],
        "message_ids": [{**one, "id": plain.message_id(one)} for case in _PAYLOADS for one in case["messages"]],
    }


def _message(timestamp: int, body: bytes, metadata: Case | None = None) -> Case:
    return {"group_id": C, "timestamp": timestamp, "body": body.hex(), "metadata": metadata}


_PAYLOADS: list[Case] = [
    {"acks": [A, B], "offers": [C], "requests": [B, A], "messages": []},
    {
        "acks": [],
        "offers": [],
        "requests": [],
        "messages": [
            _message(START // 1000, b"hello"),
            _message(-1, b""),
            _message(0, bytes(200), {"parents": [], "ephemeral": False}),
            _message(1, b"x", {"parents": [A, B], "ephemeral": True}),
        ],
    },
]
