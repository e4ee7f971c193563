"""Questions and answers of Stores, signed: who asked, and who answered, is proven before anything is looked at."""

from __future__ import annotations

from typing import Final, NamedTuple

from sdschat.identity.signing import Identity, sender_id_of, signed_bytes, verify
from sdschat.sds.values import Refusal
from sdschat.wire.store_codec import Sealed, decode_sealed, encode_sealed

QUERY: Final = b"sdschat/store-query/v1\0"
ANSWER: Final = b"sdschat/store-answer/v1\0"


class SealedQuery(NamedTuple):
    """A body and who claims to have written it. `proven` says whether they did."""

    sender_id: str
    sealed: Sealed

    def proven(self, domain: bytes, channel: str, to: str) -> bool:
        """Verify the signature. This takes longer than everything else here, so it is a step of its own."""
        key, signature, body = self.sealed
        return verify(key, signed_bytes(domain, (channel, to, body)), signature)


def seal(identity: Identity, domain: bytes, channel: str, to: str, body: bytes) -> bytes:
    """Sign a body for one channel and one receiver, so that it means nothing to any other. Return it encoded."""
    signature = identity.sign(signed_bytes(domain, (channel, to, body)))
    return encode_sealed(Sealed(identity.public_key, signature, body))


def unseal(payload: bytes, limit: int) -> SealedQuery | Refusal:
    sealed = decode_sealed(payload, limit)
    if isinstance(sealed, Refusal):
        return sealed
    return SealedQuery(sender_id_of(sealed.author_key), sealed)
