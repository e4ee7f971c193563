"""Sealed packets of private channels: `SDE1`, the epoch's id, a nonce, and XChaCha20-Poly1305 over padded bytes.

The topic is associated data, so a packet opened under another topic than its own fails. The sizes of packets are those
of a short list, so that they tell little. All members of an epoch have one key: a packet proves that a member made it,
not which one. Signatures inside prove that.
"""

from __future__ import annotations

from base64 import b32encode
from typing import Final, NamedTuple

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_ABYTES,
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    crypto_generichash_blake2b_salt_personal,
)
from nacl.exceptions import CryptoError

MAGIC: Final = b"SDE1"
SECRET_BYTES: Final = 32
EPOCH_ID_BYTES: Final = 8
NONCE_BYTES: Final = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
SIZES: Final = (256, 512, 1024, 2048, 4096)
_STEP: Final = SIZES[-1]  # beyond the list: multiples of the last size
_HEADER: Final = len(MAGIC) + EPOCH_ID_BYTES
_LENGTH_BYTES: Final = 4
OVERHEAD: Final = _HEADER + NONCE_BYTES + crypto_aead_xchacha20poly1305_ietf_ABYTES + _LENGTH_BYTES

# One purpose, one derived key: BLAKE2b keyed with the secret, and these as its personalisation.
_EPOCH_ID: Final = b"sdschat epoch id"
_EPOCH_KEY: Final = b"sdschat epochkey"
_TOPIC: Final = b"sdschat topic   "
_LEVEL_BYTES: Final = 20  # BLAKE2b-160: 32 characters of base32


class EpochKey(NamedTuple):
    """The key of an epoch, and the id by which a packet names it. The id is derived too, so it commits to the key."""

    epoch_id: bytes
    key: bytes


def epoch_key(secret: bytes) -> EpochKey:
    """Derive the key of an epoch from its secret of 32 random bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"the secret of an epoch has {SECRET_BYTES} bytes, not {len(secret)}")
    return EpochKey(_derive(b"", secret, _EPOCH_ID)[:EPOCH_ID_BYTES], _derive(b"", secret, _EPOCH_KEY))


def packet_size(plain: int) -> int:
    """Return the size of a sealed packet of so many bytes."""
    wanted = plain + OVERHEAD
    return next((size for size in SIZES if wanted <= size), -(-wanted // _STEP) * _STEP)


def seal_packet(epoch: EpochKey, topic: str, plain: bytes, nonce: bytes) -> bytes:
    """Return the sealed packet. `nonce` is 24 fresh random bytes: random ones of that length never meet."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    header = MAGIC + epoch.epoch_id
    padded = len(plain).to_bytes(_LENGTH_BYTES) + plain + bytes(packet_size(len(plain)) - OVERHEAD - len(plain))
    return (
        header
        + nonce
        + crypto_aead_xchacha20poly1305_ietf_encrypt(padded, _associated(header, topic), nonce, epoch.key)
    )


def epoch_id_of(packet: bytes) -> bytes | None:
    """Return the id of the epoch that a packet names, or None if the bytes are no sealed packet."""
    sound = packet.startswith(MAGIC) and len(packet) >= OVERHEAD and packet_size(len(packet) - OVERHEAD) == len(packet)
    return packet[len(MAGIC) : _HEADER] if sound else None


def open_packet(epoch: EpochKey, topic: str, packet: bytes) -> bytes | None:
    """Return the bytes sealed in a packet of this epoch, or None for a wrong tag or topic. Never raises."""
    header, nonce, sealed = packet[:_HEADER], packet[_HEADER : _HEADER + NONCE_BYTES], packet[_HEADER + NONCE_BYTES :]
    try:
        padded = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, _associated(header, topic), nonce, epoch.key)
    except (CryptoError, ValueError, TypeError):
        return None
    length = int.from_bytes(padded[:_LENGTH_BYTES])
    return padded[_LENGTH_BYTES : _LENGTH_BYTES + length] if length <= len(padded) - _LENGTH_BYTES else None


def topic_key(secret: bytes) -> bytes:
    """Derive the key under which the names of participants become levels of topics."""
    return _derive(b"", secret, _TOPIC)


def hashed_level(key: bytes, name: str) -> str:
    """Return the level of a topic that stands for a participant: a keyed hash, which tells nothing without the key."""
    return _base32(_derive(name.encode(), key, _TOPIC)[:_LEVEL_BYTES])


def channel_level(digest: bytes) -> str:
    """Return the level of a topic that stands for a private channel, from the BLAKE2b-160 of its genesis."""
    return f"e{_base32(digest)}"


def _base32(value: bytes) -> str:
    return b32encode(value).decode().rstrip("=").lower()


def _associated(header: bytes, topic: str) -> bytes:
    return header + topic.encode()


def _derive(data: bytes, key: bytes, purpose: bytes) -> bytes:
    return crypto_generichash_blake2b_salt_personal(data, digest_size=32, key=key, person=purpose)
