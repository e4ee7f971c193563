"""Retrieval hints: which Store has a message, and where. Advice only: whatever it leads to is compared with its id."""

from __future__ import annotations

from typing import Final, NamedTuple

_VERSION: Final = b"S1"
_ID_BYTES: Final = 16
_PLACE_BYTES: Final = 8


class Hint(NamedTuple):
    store: str
    place: int  # in its database: found without looking for the id


def hint_of(store: str, place: int) -> bytes:
    return _VERSION + bytes.fromhex(store) + place.to_bytes(_PLACE_BYTES, "big")


def read_hint(raw: bytes) -> Hint | None:
    """Decode a hint. Return None for any other bytes: other implementations have hints of their own."""
    if len(raw) != len(_VERSION) + _ID_BYTES + _PLACE_BYTES or not raw.startswith(_VERSION):
        return None
    store, place = raw[len(_VERSION) : -_PLACE_BYTES], raw[-_PLACE_BYTES:]
    return Hint(store.hex(), int.from_bytes(place, "big") & (2**63 - 1))
