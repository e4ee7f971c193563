"""Compact filters."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.vectors.plain import filters
from tests.vectors.plain.murmur import murmur

START = 1_767_225_600_000  # 2026-01-01, in epoch milliseconds
DIGESTS = [sha256(b"message %d" % at).hexdigest() for at in range(40)]
TEXTS = ["m", "message-1", "sync-0123456789abcdef", "fünfzehn Byte.", "名前", "🙂" * 4, "x" * 31, "y" * 33]

Case = dict[str, Any]


def _hash_cases() -> list[Case]:
    found = []
    for seed in (0, 0x5D5, 2**31, 2**32 - 1):
        for item in [*TEXTS, *DIGESTS[:8]]:
            one, two = murmur(item.encode(), seed)
            found.append({"item": item, "seed": seed, "one": f"{one:016x}", "two": f"{two:016x}"})
    return found


def _window_cases() -> list[Case]:
    found = []
    for ids, hashes, bits, floor in (
        ([], 13, 616, 0),
        (TEXTS, 13, 616, START),
        (DIGESTS[:1], 1, 64, 1),
        (DIGESTS[:32], 13, 616, START),
        (DIGESTS, 13, 1232, 2**48 - 1),
        (DIGESTS, 20, 2**18, START + 1),
        (DIGESTS[:9], 17, 2**13 + 8, START),
    ):
        packed = filters.window(ids, hashes, bits, floor)
        found.append({"ids": ids, "hashes": hashes, "bits": bits, "floor": floor, **_hex_or_digest(packed)})
    return found


def _print_cases() -> list[Case]:
    found = []
    for ids, low, high in (
        ([], 0, 0),
        (TEXTS, START, START + 1),
        (DIGESTS, START, 2**48 - 1),
        (DIGESTS[:2] * 2, 1, 2**32),
    ):
        sum_of = f"{filters.fingerprint(ids):016x}"
        packed = filters.print_of(ids, low, high).hex()
        found.append({"ids": ids, "low": low, "high": high, "fingerprint": sum_of, "hex": packed})
    return found


def _range_cases() -> list[Case]:
    found = []
    for ids, hashes, bits, low, high, seed in (
        ([], 13, 192, START, START, 0),
        (TEXTS, 13, 192, START, START + 5, 1),
        (DIGESTS, 13, 768, START, 2**48 - 1, 2**32 - 1),
        (DIGESTS[:3], 7, 64, 0, START, 2**31),
    ):
        packed = filters.range_of(ids, hashes, bits, low, high, seed).hex()
        case = {"ids": ids, "hashes": hashes, "bits": bits, "low": low, "high": high, "seed": seed, "hex": packed}
        found.append(case)
    return found


def _hex_or_digest(packed: bytes) -> Case:
    return {"hex": packed.hex()} if len(packed) < 2000 else {"sha256": sha256(packed).hexdigest()}


def file() -> Case:
    return {
        "notes": "Compact filter of sdschat/sds/README.md. Numbers of MurmurHash3 x64 128 are unsigned; bytes in hex.",
        "murmur": _hash_cases(),
        "window": _window_cases(),
        "print": _print_cases(),
        "range": _range_cases(),
    }
