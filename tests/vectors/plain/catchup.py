"""Catching up: digests, fingerprints, short ids and cells, and the frames of `proto/catchup.proto`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from tests.vectors.plain.proto import number, packed, part, sized, zigzag

FRAME, LANE, SIGNATURE = 5101, 5102, 5103
KINDS = {"parts": 1, "cells": 2, "keys": 3}
_PRIME = 2**61 - 1
Place = tuple[int, str]  # Lamport time and id
Case = dict[str, Any]


def hashed(data: bytes, size: int) -> int:
    return int.from_bytes(blake2b(data, digest_size=size).digest(), "big")


def digest(place: Place) -> int:
    lamport, message_id = place
    return hashed(lamport.to_bytes(8, "big") + message_id.encode(), 32)


def fingerprint(log: Iterable[Place], salt: int) -> bytes:
    """The highest 64 of 256 bits of the sum of the digests times an odd number that follows from the salt."""
    factor = hashed(salt.to_bytes(8, "big"), 32)
    factor += 1 - factor % 2
    return (sum(map(digest, log)) * factor % 2**256 // 2**192).to_bytes(8, "big")


def short(message_id: str, salt: int) -> int:
    """48 bits of the id, and 16 that check them."""
    drawn = hashed(salt.to_bytes(8, "big"), 16)
    factor, add = drawn % (_PRIME - 1) + 1, drawn // 2**64 % _PRIME
    text = int.from_bytes(message_id.encode(), "big")
    value = (text * factor + add) % _PRIME // 2**13
    return value * 2**16 + value * 0x1B873593CC9E2D51 % _PRIME // 2**45


def cells(shorts: Iterable[int], count: int) -> list[int]:
    found, third = [0] * count, count // 3
    for one in shorts:
        found[one // 2**16 % third] ^= one
        found[one // 2**32 % third + third] ^= one
        found[one // 2**26 * 0x0E2DA9B1F6C3A4D7 % _PRIME % third + 2 * third] ^= one
    return found


def frame(case: Case) -> bytes:
    makers = {"ask": (3, _ask), "answer": (4, _answer), "want": (5, _want), "declined": (6, _declined)}
    field, make = makers.get(case["what"], (7, _nudge))
    return part(FRAME, number(1, case["session"]) + number(2, case["number"]) + part(field, make(case)))


def lane(value: int) -> bytes:
    return number(LANE, value)


def signature(value: bytes) -> bytes:
    return sized(SIGNATURE, value)


def page(case: Case) -> bytes:
    head = number(1, case["session"]) + number(2, case["want"]) + number(3, case["number"]) + number(4, case["last"])
    return head + b"".join(part(5, bytes.fromhex(packet)) for packet in case["packets"])


def _bounds(places: Sequence[Place]) -> bytes:
    steps = [after - before for before, after in pairwise([0, *(lamport for lamport, _ in places)])]
    named = [at for at, (_, message_id) in enumerate(places) if message_id]
    ids = b"".join(sized(3, places[at][1]) for at in named)
    return packed(1, map(zigzag, steps)) + packed(2, named) + ids


def _ask(case: Case) -> bytes:
    asked = case["questions"]
    bounds = _bounds([bound for one in asked for bound in (one["low"], one["high"])])
    head = packed(1, [KINDS[one["kind"]] for one in asked]) + packed(2, [one["number"] for one in asked])
    single = bytes.fromhex(asked[0]["fingerprint"]) if len(asked) == 1 else b""
    return head + part(3, bounds) + sized(4, single) + number(5, case["messages"])


def _answer(case: Case) -> bytes:
    return b"".join(part(1, _reply(one)) for one in case["replies"])


def _reply(reply: Case) -> bytes:
    parts, keys = reply.get("parts", []), reply.get("keys", [])
    places = [one["high"] for one in parts] or keys
    return (
        number(1, reply.get("equal", False))
        + (part(2, _bounds(places)) if places else b"")
        + packed(3, [one["messages"] for one in parts])
        + sized(4, b"".join(bytes.fromhex(one["fingerprint"]) for one in parts))
        + sized(5, bytes.fromhex(reply.get("cells", "")))
        + number(6, reply.get("listed", False))
    )


def _want(case: Case) -> bytes:
    stretches = case["stretches"]
    bounds = _bounds([bound for one in stretches for bound in (one["low"], one["high"])])
    return (
        part(1, bounds)
        + packed(2, [len(one["shorts"]) for one in stretches])
        + sized(3, b"".join(bytes.fromhex(short) for one in stretches for short in one["shorts"]))
        + number(4, case["newest_first"])
        + number(5, case["limit"])
        + packed(6, [at for at, one in enumerate(stretches) if one["sole"]])
    )


def _declined(case: Case) -> bytes:
    return sized(1, case["why"])


def _nudge(case: Case) -> bytes:
    return number(1, case["lacking"])
