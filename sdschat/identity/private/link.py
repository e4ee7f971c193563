"""Links to a private channel, and the secrets of its epochs.

A link is the invitation, made by a member and checked by those who join. Secrets are fresh ones, sealed to each member,
and one secret for epochs that began apart.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from nacl.bindings import crypto_generichash_blake2b_salt_personal

from sdschat.identity.packets import EPOCH_ID_BYTES, SECRET_BYTES, epoch_key
from sdschat.identity.signing import Identity, key_pair, seal_for, sign, signed_bytes, verify
from sdschat.wire.private_codec import Genesis, Invite, Join, Link, Remove, Renew, Share, decode_link, encode_link

_GENESIS_DOMAIN: Final = b"sdschat/genesis/v1\0"
_INVITE_DOMAIN: Final = b"sdschat/invite/v1\0"
_JOIN_DOMAIN: Final = b"sdschat/join/v1\0"
_DIGEST_BYTES: Final = 20
_SUFFIX: Final = 6  # digits of the digest in a channel's name
_DIGITS: Final = "abcdefghijklmnopqrstuvwxyz234567"


class LinkError(ValueError):
    """A link cannot be used. The message says why, and what to do."""


def genesis_digest(genesis: Genesis) -> bytes:
    """Return the id of a private channel: BLAKE2b-160 of the values that it began with."""
    values: list[bytes | str | int] = [genesis.creator_key, genesis.salt, genesis.name, int(genesis.admins_invite)]
    if genesis.data_set:
        values.append(genesis.data_set)
    if genesis.since_join:
        values.append("since-join")
    return blake2b(signed_bytes(_GENESIS_DOMAIN, values), digest_size=_DIGEST_BYTES).digest()


def channel_name(genesis: Genesis) -> str:
    """Return the name of the channel: that of the genesis, and digits that tell it from others of the same name."""
    digest = genesis_digest(genesis)
    bits = int.from_bytes(digest[:4]) >> 2
    suffix = "".join(_DIGITS[bits >> 5 * place & 31] for place in reversed(range(_SUFFIX)))
    return f"{genesis.name}~{suffix}"


def is_private_name(name: str) -> bool:
    """True if a name has the form of a full name of a private channel."""
    digits = name.rpartition("~")[2] if "~" in name else ""
    return len(digits) == _SUFFIX and set(digits) <= set(_DIGITS)


def make_link(
    inviter: Identity,
    genesis: Genesis,
    epoch_secret: bytes,
    invite_seed: bytes,
    *,
    broker: str = "",
    uses: int = 0,
    expires: int = 0,
    epoch: bytes = b"",
) -> str:
    """Return a link. `invite_seed` is 32 fresh random bytes; `epoch` the mark of the epoch of the secret."""
    invite_key, _ = key_pair(invite_seed)
    invite = Invite(inviter.public_key, invite_key, uses, expires, epoch, b"")
    invite = invite._replace(signature=inviter.sign(_invite_bytes(genesis, invite)))
    return encode_link(Link(genesis, invite, invite_seed, epoch_secret, broker), invite_key)


def read_link(text: str, now: int) -> Link:
    """Return the link of a text, whole and verified. Raises LinkError. `now` is in epoch milliseconds."""
    link = decode_link(text.strip())
    if link is None:
        raise LinkError("This is not a whole invite. Copy all of it, from sdschat: to its end.")
    genesis = link.genesis
    invite_key, _ = key_pair(link.invite_seed)
    invite = link.invite._replace(
        inviter_key=link.invite.inviter_key or genesis.creator_key, invite_key=link.invite.invite_key or invite_key
    )
    if invite.invite_key != invite_key or not verify(
        invite.inviter_key, _invite_bytes(genesis, invite), invite.signature
    ):
        raise LinkError("This invite is forged, or was made for another channel: its signature is wrong.")
    if not genesis.name or unicodedata.normalize("NFC", genesis.name) != genesis.name:
        raise LinkError("This invite names a channel that cannot be. Ask for another one.")
    if invite.expires and now > invite.expires:
        raise LinkError("This invite has expired. Ask for a new one.")
    return link._replace(invite=invite)


def accept(link: Link, identity: Identity, *, silent: bool = False) -> Join:
    """Return the operation by which the owner of a link joins. `silent`: as a Store, which writes nothing."""
    _, secret = key_pair(link.invite_seed)
    return Join(link.invite, sign(secret, _join_bytes(link.genesis, identity.public_key, silent)), silent)


def problem_with_join(genesis: Genesis, join: Join, author_key: bytes) -> str:
    """Return the reason why the signatures of a join do not hold; empty if they do."""
    if not verify(join.invite.inviter_key, _invite_bytes(genesis, join.invite), join.invite.signature):
        return "its invite is forged, or for another channel"
    if not verify(join.invite.invite_key, _join_bytes(genesis, author_key, join.silent), join.proof):
        return "it has no valid invite"
    return ""


def _invite_bytes(genesis: Genesis, invite: Invite) -> bytes:
    values = (genesis_digest(genesis), invite.invite_key, invite.uses, invite.expires, invite.epoch)
    return signed_bytes(_INVITE_DOMAIN, values)


def _join_bytes(genesis: Genesis, joiner: bytes, silent: bool) -> bytes:
    return signed_bytes(_JOIN_DOMAIN, (genesis_digest(genesis), joiner, int(silent)))


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
            shares.append(Share(key, seal_for(key, secret)))
        except (RuntimeError, ValueError):  # nobody can have signed with such a key
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


def _of_link(message_id: str, removal: Remove, marked: Mapping[bytes, bytes]) -> bytes | None:
    """Return the secret of a removal that a link from after it brought. Who was removed comes back by such a link, and
    has a share of a removal by somebody who had not seen the first: the key in use is made of both."""
    secret = marked.get(epoch_mark((message_id,)))
    return secret if secret is not None and epoch_key(secret).epoch_id == removal.epoch_id else None


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
            secret = secret_for(identity, each) or _of_link(message_id, each, marked)
            if secret is not None:
                by_id[message_id] = secret
    wanted |= {(message_id,) for message_id in renewals}  # those before them may not be here
    for _ in range(len(operations) + 1):  # each renewal may need the secret of another one
        known = dict(by_mark)
        for message_id, before in renewals.items():
            if before in by_mark:
                by_id[message_id] = renewed_secret(by_mark[before], message_id)
            elif (of_link := by_mark.get(epoch_mark((message_id,)))) is not None:
                by_id[message_id] = of_link
        for name in wanted:
            secret = mixed_secret(name, by_id) if name else None
            if secret is not None:  # goes before one of a link, which anybody may have signed
                by_mark[epoch_mark(name)] = secret
        if by_mark == known:
            break
    return by_id, by_mark
