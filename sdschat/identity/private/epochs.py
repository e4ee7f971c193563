"""Secrets of epochs: fresh ones, sealed to each member, and one secret for epochs that began apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from nacl.bindings import (
    crypto_box_seal,
    crypto_generichash_blake2b_salt_personal,
    crypto_sign_ed25519_pk_to_curve25519,
)

from sdschat.identity.packets import EPOCH_ID_BYTES, SECRET_BYTES, epoch_key
from sdschat.identity.signing import Identity
from sdschat.wire.private_codec import Remove, Renew, Share

_MIX: Final = b"sdschat epochmix"
_RENEW: Final = b"sdschat renewal\0"

# The removals and renewals that nobody has built upon, sorted; empty for the epoch that the channel began with.
EpochName = tuple[str, ...]


def epoch_mark(name: EpochName) -> bytes:
    """Return the bytes by which an invite names the epoch that its link has the secret of."""
    return blake2b("".join(name).encode(), digest_size=EPOCH_ID_BYTES).digest() if name else b""


def make_removal(
    target: bytes, seen: tuple[str, ...], members: Iterable[bytes], secret: bytes, *, banned: bool = False
) -> Remove:
    """Return the removal of a member. `secret` is 32 fresh random bytes, for the members who remain."""
    shares = []
    for key in members:
        try:
            shares.append(Share(key, crypto_box_seal(secret, crypto_sign_ed25519_pk_to_curve25519(key))))
        except (RuntimeError, ValueError):  # no point of the curve: nobody can have signed with such a key
            continue
    return Remove(target, seen, epoch_key(secret).epoch_id, tuple(shares), banned)


def secret_for(identity: Identity, removal: Remove) -> bytes | None:
    """Return the secret that a removal holds for us; None without a share, or with one that is not the announced."""
    for share in removal.shares:
        if share.member_key == identity.public_key:
            secret = identity.unseal(share.sealed)
            if secret is not None and len(secret) == SECRET_BYTES and epoch_key(secret).epoch_id == removal.epoch_id:
                return secret
    return None


def renewed_secret(before: bytes, message_id: str) -> bytes:
    """Return the secret of the epoch that a renewal begins. It follows from the secret before, by BLAKE2b keyed with
    that, and the secret before does not follow from it: who is invited with it opens nothing older."""
    return crypto_generichash_blake2b_salt_personal(
        message_id.encode(), digest_size=SECRET_BYTES, key=before, person=_RENEW
    )


def mixed_secret(name: EpochName, secrets: Mapping[str, bytes]) -> bytes | None:
    """Return the secret of an epoch of several removals that were made apart: only who has all of them has it."""
    if not all(each in secrets for each in name):
        return None
    if len(name) == 1:
        return secrets[name[0]]
    joined = b"".join(secrets[each] for each in name)
    return crypto_generichash_blake2b_salt_personal(joined, digest_size=SECRET_BYTES, person=_MIX)


def secrets_known(
    identity: Identity,
    names: Iterable[EpochName],
    operations: Mapping[str, object],
    shared: Mapping[str, bytes],
    marked: Mapping[bytes, bytes],
) -> tuple[dict[str, bytes], dict[bytes, bytes]]:
    """Return the secrets that operations brought, by the id of the message, and those of these epochs, by their mark.
    `shared` and `marked` are those known before."""
    by_id, by_mark, wanted = dict(shared), dict(marked), set(names)
    renewals = {one: each.before for one, each in operations.items() if isinstance(each, Renew)}
    for message_id, each in operations.items():
        if isinstance(each, Remove) and message_id not in by_id:
            secret = secret_for(identity, each)
            if secret is not None:
                by_id[message_id] = secret
    wanted |= {(message_id,) for message_id in renewals}  # those before them may not be here
    for _ in range(len(operations) + 1):  # each renewal may need the secret of another one
        known = dict(by_mark)
        for message_id, before in renewals.items():
            if before in by_mark:
                by_id[message_id] = renewed_secret(by_mark[before], message_id)
        for name in wanted:
            secret = mixed_secret(name, by_id) if name else None
            if secret is not None:  # goes before one of a link, which anybody may have signed
                by_mark[epoch_mark(name)] = secret
        if by_mark == known:
            break
    return by_id, by_mark
