"""The numbers of our own messages. Each device counts its messages in each channel; a number is on disk, in the
transaction of its message, before anybody hears of it."""

from __future__ import annotations

import secrets
from typing import Final, NamedTuple

from sdschat.identity.place import place_of
from sdschat.sds.values import Draft
from sdschat.store.store import Store
from sdschat.wire.chat_codec import DEVICE_BYTES, ID_BYTES, Place

DEVICE: Final = "device"  # under this name the store keeps the device of the profile
CHAIN: Final = "chain/"  # and under these, with the name of a channel, the last number of a device in it
FORMER: Final = "devices"
_FORMER_KEPT: Final = 64
_SEQUENCE_BYTES: Final = 8


class LastSent(NamedTuple):
    """The end of a chain: the number and the id of the device's last message in a channel."""

    sequence: int = 0
    message_id: str = ""


class OwnChains:
    """The chains of this profile's device. What changes waits in `take` for the transaction of the turn."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: dict[str, LastSent] = {}
        self._unsaved: dict[str, bytes] = {}
        kept = store.value(DEVICE) or b""
        self.former = store.value(FORMER) or b""  # devices that this profile was before, one behind the other
        self.device = kept
        if not kept or store.losses:
            self.renew()

    def renew(self) -> None:
        """Go on as a new device: numbers of the old one may have been used elsewhere."""
        if self.device:
            self.former = self._unsaved[FORMER] = (self.device + self.former)[: DEVICE_BYTES * _FORMER_KEPT]
        self.device = self._unsaved[DEVICE] = secrets.token_bytes(DEVICE_BYTES)
        self._last.clear()

    def last(self, channel: str) -> LastSent:
        found = self._last.get(channel)
        if found is None:
            found = self._last[channel] = self._read(self._store.value(CHAIN + channel) or b"")
        return found

    def place(self, channel: str, draft: Draft) -> Place:
        """Return the place of the next message. It is used once `sent` is told of it."""
        last = self.last(channel)
        return place_of(self.device, last.sequence + 1, last.message_id, draft)

    def sent(self, channel: str, place: Place, message_id: str) -> None:
        self._last[channel] = LastSent(place.sequence, message_id)
        self._unsaved[CHAIN + channel] = (
            place.device + place.sequence.to_bytes(_SEQUENCE_BYTES) + bytes.fromhex(message_id)
        )

    def was(self, device: bytes) -> bool:
        """True if this profile was that device before."""
        return device in {self.former[at : at + DEVICE_BYTES] for at in range(0, len(self.former), DEVICE_BYTES)}

    def take(self) -> dict[str, bytes]:
        """Return the values to save, and forget them."""
        unsaved, self._unsaved = self._unsaved, {}
        return unsaved

    def _read(self, kept: bytes) -> LastSent:
        """Decode a saved value. A chain of another device is none of ours: this device begins with 1."""
        if not kept.startswith(self.device) or len(kept) != DEVICE_BYTES + _SEQUENCE_BYTES + ID_BYTES:
            return LastSent()
        ends = DEVICE_BYTES + _SEQUENCE_BYTES
        return LastSent(int.from_bytes(kept[DEVICE_BYTES:ends]), kept[ends:].hex())
