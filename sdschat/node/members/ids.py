"""Names of Timber for the rest of the program: sender ids and message ids."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sdschat.timber.values import PostId

_POST_DOMAIN: Final = b"sdschat/timber/post/v1\0"
_DRAFT_DOMAIN: Final = b"sdschat/timber/draft/v1\0"
_SENDER_ID_BYTES: Final = 16


def sender_of(member: bytes) -> str:
    """Return the sender id of a member id: its first digits."""
    return member[:_SENDER_ID_BYTES].hex()


def message_id_of(data_set: bytes, name: PostId) -> str:
    """Return the message id of a post, or of another event: the same on every replica."""
    return sha256(_POST_DOMAIN + data_set + name.author.to_bytes(8) + name.number.to_bytes(8)).hexdigest()


def draft_id_of(data_set: bytes, member: bytes, number: int) -> str:
    """Return the message id of what waits until we are a member."""
    return sha256(_DRAFT_DOMAIN + data_set + member + number.to_bytes(8)).hexdigest()
