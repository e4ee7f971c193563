"""The keys of one private channel, for the layer that seals its packets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from sdschat.identity.packets import (
    NONCE_BYTES,
    EpochKey,
    channel_level,
    epoch_id_of,
    epoch_key,
    hashed_level,
    open_packet,
    seal_packet,
    topic_key,
)
from sdschat.transport.sealing import OpenedPacket, Unopened

_MAX_LEVELS: Final = 4096  # names whose hash is remembered


class ChannelSealer:
    """Seals with the key of the present epoch, and opens with that of every epoch of which we have the secret."""

    def __init__(self, digest: bytes, salt: bytes, secret: bytes) -> None:
        """`digest` is the BLAKE2b-160 of the channel's genesis, `salt` is in the genesis, `secret` the epoch's."""
        self.channel_level = channel_level(digest)
        # Called for a packet of another epoch than the present, with True if it was opened: anybody makes the others.
        self.on_other_epoch: Callable[[bool], None] = _nothing
        self._topic_key = topic_key(salt)
        self._epochs: dict[bytes, EpochKey] = {}
        self._levels: dict[str, str] = {}
        self._present = self._epochs[self.add(secret)]

    @property
    def epoch_id(self) -> bytes:
        return self._present.epoch_id

    def add(self, secret: bytes) -> bytes:
        """Open packets of this epoch too, from now on. Return the epoch's id."""
        epoch = epoch_key(secret)
        self._epochs[epoch.epoch_id] = epoch
        return epoch.epoch_id

    def use(self, epoch_id: bytes) -> None:
        """Seal with this epoch's key from now on."""
        self._present = self._epochs[epoch_id]

    def level(self, name: str) -> str:
        found = self._levels.get(name)
        if found is None:
            found = hashed_level(self._topic_key, name)
            if len(self._levels) < _MAX_LEVELS:
                self._levels[name] = found
        return found

    def seal(self, topic: str, plain: bytes, epoch_id: bytes | None = None) -> bytes:
        epoch = self._present if epoch_id is None else self._epochs[epoch_id]
        return seal_packet(epoch, topic, plain, secrets.token_bytes(NONCE_BYTES))

    def open(self, topic: str, packet: bytes) -> OpenedPacket | Unopened:
        epoch_id = epoch_id_of(packet)
        if epoch_id is None:
            return Unopened.STRANGE
        epoch = self._epochs.get(epoch_id)
        if epoch is None:
            self.on_other_epoch(False)
            return Unopened.UNKNOWN_EPOCH
        plain = open_packet(epoch, topic, packet)
        if plain is None:
            return Unopened.STRANGE
        if epoch is not self._present:
            self.on_other_epoch(True)
        return OpenedPacket(plain, epoch is not self._present)


def _nothing(_: bool) -> None:
    pass
