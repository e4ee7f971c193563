"""Links and operations of private channels to text and back. Verifies nothing but sizes; any input gives a value."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from sdschat.wire import private_pb2 as pb
from sdschat.wire.names import has_control, longer_than

SCHEME: Final = "sdschat:"
KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
SEED_BYTES: Final = 32
SECRET_BYTES: Final = 32
MESSAGE_ID_BYTES: Final = 32
DATA_SET_BYTES: Final = 32
EPOCH_ID_BYTES: Final = 8
SIGNATURE_BYTES: Final = 64
SHARE_BYTES: Final = 80  # a sealed box of a secret
MAX_MEMBERS: Final = 256  # so that a removal, which has a share for each, is one message
MAX_SEEN: Final = 16
_MAX_NAME_BYTES: Final = 400
_MAX_BROKER_BYTES: Final = 300
_MAX_LINK: Final = 4096  # characters
_MAX_OPERATION: Final = 65536  # characters


class Genesis(NamedTuple):
    """The values that a private channel begins with."""

    creator_key: bytes
    salt: bytes
    name: str
    admins_invite: bool = False
    data_set: bytes = b""  # of a members' channel; empty for others
    since_join: bool = False  # who joins gets nothing that was written before


class Invite(NamedTuple):
    """A permission to join, signed by a member. `epoch` is the mark of the epoch that the link has the secret of."""

    inviter_key: bytes
    invite_key: bytes
    uses: int
    expires: int
    epoch: bytes
    signature: bytes


class Link(NamedTuple):
    """Everything that somebody needs to join."""

    genesis: Genesis
    invite: Invite
    invite_seed: bytes
    epoch_secret: bytes
    broker: str


class Join(NamedTuple):
    invite: Invite
    proof: bytes
    silent: bool = False


class Share(NamedTuple):
    member_key: bytes
    sealed: bytes


class Remove(NamedTuple):
    """`seen` are message ids in hexadecimal."""

    target: bytes
    seen: tuple[str, ...]
    epoch_id: bytes
    shares: tuple[Share, ...]
    banned: bool = False  # only an invite of the creator's lets this key in again


class Admin(NamedTuple):
    target: bytes
    seen: tuple[str, ...]
    granted: bool


class Renew(NamedTuple):
    """Begins an epoch for an invite. `before` is the mark of the epoch that it ends."""

    before: bytes
    seen: tuple[str, ...]


Operation = Join | Remove | Admin | Renew


def encode_link(link: Link, invite_key: bytes) -> str:
    """Return the link. `invite_key` is the public key of the link's seed, which is not written twice."""
    genesis, invite = link.genesis, link.invite
    short = _invite(invite)
    if invite.inviter_key == genesis.creator_key:
        short.inviter_key = b""
    if invite.invite_key == invite_key:
        short.invite_key = b""
    message = pb.Link(
        genesis=pb.Genesis(**genesis._asdict()),
        invite=short,
        invite_seed=link.invite_seed,
        epoch_secret=link.epoch_secret,
        broker=link.broker,
    )
    return SCHEME + _to_text(message.SerializeToString(deterministic=True))


def decode_link(text: str) -> Link | None:
    """Return the link, or None. Its invite has an empty key, and an empty inviter where that is the creator."""
    raw = _from_text(text.removeprefix(SCHEME), _MAX_LINK) if text.startswith(SCHEME) else None
    if raw is None:
        return None
    try:
        parsed = pb.Link.FromString(raw)
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    made = parsed.genesis
    genesis = Genesis(made.creator_key, made.salt, made.name, made.admins_invite, made.data_set, made.since_join)
    link = Link(genesis, _invite_of(parsed.invite), parsed.invite_seed, parsed.epoch_secret, parsed.broker)
    sizes = (
        (genesis.creator_key, KEY_BYTES),
        (genesis.salt, SALT_BYTES),
        (link.invite_seed, SEED_BYTES),
        (link.epoch_secret, SECRET_BYTES),
        (link.invite.signature, SIGNATURE_BYTES),
    )
    sound = all(len(value) == size for value, size in sizes) and len(link.invite.inviter_key) in (0, KEY_BYTES)
    sound = sound and len(genesis.data_set) in (0, DATA_SET_BYTES)
    texts = ((genesis.name, _MAX_NAME_BYTES), (link.broker, _MAX_BROKER_BYTES))
    readable = all(not longer_than(value, limit) and not has_control(value) for value, limit in texts)
    return link if sound and readable and _sound_mark(link.invite.epoch) else None


def encode_operation(operation: Operation) -> str:
    match operation:
        case Join(invite, proof, silent):
            message = pb.Operation(join=pb.Join(invite=_invite(invite), proof=proof, silent=silent))
        case Remove(target, seen, epoch_id, shares, banned):
            each = [pb.Share(member_key=share.member_key, sealed=share.sealed) for share in shares]
            message = pb.Operation(
                remove=pb.Remove(
                    target=target, seen=map(bytes.fromhex, seen), epoch_id=epoch_id, shares=each, banned=banned
                )
            )
        case Admin(target, seen, granted):
            message = pb.Operation(admin=pb.Admin(target=target, seen=map(bytes.fromhex, seen), granted=granted))
        case Renew(before, seen):
            message = pb.Operation(renew=pb.Renew(before=before, seen=map(bytes.fromhex, seen)))
    return _to_text(message.SerializeToString(deterministic=True))


def decode_operation(text: str) -> Operation | None:
    """Return the operation in the text of a message, or None if there is none, or one of a newer program."""
    raw = _from_text(text, _MAX_OPERATION)
    if raw is None:
        return None
    try:
        parsed = pb.Operation.FromString(raw)
    except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
        return None
    match parsed.WhichOneof("what"):
        case "join":
            found: Operation = Join(_invite_of(parsed.join.invite), parsed.join.proof, parsed.join.silent)
        case "remove":
            made = parsed.remove
            shares = tuple(Share(share.member_key, share.sealed) for share in made.shares)
            found = Remove(made.target, _ids(made.seen), made.epoch_id, shares, made.banned)
        case "admin":
            found = Admin(parsed.admin.target, _ids(parsed.admin.seen), parsed.admin.granted)
        case "renew":
            found = Renew(parsed.renew.before, _ids(parsed.renew.seen))
        case _:
            return None
    return found if _sound(found) else None


def _sound(operation: Operation) -> bool:
    match operation:
        case Join(invite, proof):
            keys = len(invite.inviter_key) == len(invite.invite_key) == KEY_BYTES
            return keys and len(proof) == SIGNATURE_BYTES and _sound_mark(invite.epoch)
        case Remove(target, seen, epoch_id, shares):
            sizes = all((len(share.member_key), len(share.sealed)) == (KEY_BYTES, SHARE_BYTES) for share in shares)
            bounded = 0 < len(shares) <= MAX_MEMBERS and _sound_seen(seen)
            return sizes and bounded and (len(target), len(epoch_id)) == (KEY_BYTES, EPOCH_ID_BYTES)
        case Admin(target, seen):
            return len(target) == KEY_BYTES and _sound_seen(seen)
        case Renew(before, seen):
            return _sound_mark(before) and _sound_seen(seen)


def _sound_mark(epoch: bytes) -> bool:
    return len(epoch) in (0, EPOCH_ID_BYTES)


def _sound_seen(seen: tuple[str, ...]) -> bool:
    return len(seen) <= MAX_SEEN and all(len(each) == 2 * MESSAGE_ID_BYTES for each in seen)


def _ids(raw: object) -> tuple[str, ...]:
    return tuple(each.hex() for each in raw)  # type: ignore[attr-defined]


def _invite(invite: Invite) -> pb.Invite:
    return pb.Invite(
        inviter_key=invite.inviter_key,
        invite_key=invite.invite_key,
        uses=invite.uses,
        expires=invite.expires,
        epoch=invite.epoch,
        signature=invite.signature,
    )


def _invite_of(parsed: pb.Invite) -> Invite:
    return Invite(parsed.inviter_key, parsed.invite_key, parsed.uses, parsed.expires, parsed.epoch, parsed.signature)


def _to_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _from_text(text: str, limit: int) -> bytes | None:
    if len(text) > limit or not text.isascii():
        return None
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
