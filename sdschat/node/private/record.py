"""The private channels of a profile: as they are kept in its database, what is known of them offline, and links to
them.

Only the owner of the profile may read its database.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from sdschat.identity.packets import SECRET_BYTES
from sdschat.identity.private.link import LinkError, channel_name, epoch_mark, make_link, read_link
from sdschat.identity.private.roster import Rank, Roster, SignedOperation, fold
from sdschat.identity.signing import Identity, sender_id_of
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction
from sdschat.transport.base import MAX_CHANNEL_CHARACTERS, new_channel
from sdschat.wire.private_codec import SALT_BYTES, SCHEME, SEED_BYTES, Genesis, decode_operation, encode_operation

_RECORD: Final = "private/"
_OPERATION: Final = "private-operation/"
_SEPARATOR: Final = "~"  # between the name that people gave and the digits that tell channels apart


class PrivateValues(Protocol):
    """The database, or a reader of it."""

    def value(self, name: str) -> bytes | None: ...

    def values(self, prefix: str) -> dict[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class PrivateRecord:
    """One private channel of a profile."""

    genesis: Genesis
    secrets: dict[bytes, bytes] = field(default_factory=dict)  # of epochs, by their mark
    present: bytes = b""  # mark of the epoch used last
    shared: dict[str, bytes] = field(default_factory=dict)  # secrets that removals brought, by the id of the message
    link: str = ""  # the invite by which we still have to join
    withheld: tuple[str, ...] = ()  # ids of messages that are not shown, because their authors were no members
    broker: str = ""  # address without user and password; empty: the broker of this machine

    @property
    def name(self) -> str:
        return channel_name(self.genesis)

    def epoch_in_use(self, roster: Roster, own_key: bytes, secrets: Collection[bytes]) -> bytes:
        """Return the mark of the epoch to seal with, of those whose secrets are here. The newest of the log may not be:
        the log of somebody who was removed ends there, and the link by which they come back may be of a later one."""
        newest = epoch_mark(roster.epoch)
        if newest in secrets:
            return newest
        if own_key in roster.members:
            return self.present
        here = roster.epochs_here()
        return next((mark for mark in reversed([*secrets]) if mark not in here), self.present)

    def save(self, transaction: Transaction) -> None:
        transaction.set_value(_RECORD + self.name, _encoded(self))


def load_record(store: PrivateValues, channel: str) -> PrivateRecord | None:
    """Return the record of a channel, or None if it is no private one of this profile."""
    kept = store.value(_RECORD + channel) if _SEPARATOR in channel else None
    return None if kept is None else _decoded(kept)


def private_channels(store: PrivateValues) -> list[str]:
    """Return the full names of all private channels of a profile."""
    return sorted(name.removeprefix(_RECORD) for name in store.values(_RECORD))


def is_link(text: str) -> bool:
    return text.strip().startswith(SCHEME)


def base_name(name: str) -> str:
    """Return the name that people gave a private channel, of its full name."""
    return name.rpartition(_SEPARATOR)[0]


def full_name(store: PrivateValues, channel: str) -> str:
    """Return the full name of the private channel that somebody means, or the name as it is for an open one.

    A private channel goes before an open one of the same name, so that nothing is said in public by mistake. Raises
    LinkError if several private channels have the name.
    """
    found = [name for name in private_channels(store) if channel in (name, base_name(name))]
    if len(found) > 1 and channel not in found:
        raise LinkError(f"There are {len(found)} private channels called {channel}: say which, {' or '.join(found)}.")
    return channel if channel in found or not found else found[0]


def take_link(store: PrivateValues, text: str, now: int) -> PrivateRecord:
    """Return the record of the channel that a link invites to, with what was known before. Raises LinkError."""
    link = read_link(text, now)
    before = load_record(store, channel_name(link.genesis))
    if before is not None and before.genesis != link.genesis:
        raise LinkError(f"You have another channel called {before.name}. Use another --profile for this one.")
    mark = link.invite.epoch
    record = before or PrivateRecord(link.genesis)
    if before is not None and not before.link and before.secrets.get(mark, link.epoch_secret) != link.epoch_secret:
        raise LinkError(
            f"This invite has another key than {before.name}, where you are: whoever made it could read what you "
            "write. Do not use it."
        )
    secrets = {**record.secrets, mark: link.epoch_secret}
    # A channel that we know keeps its epoch until its log says otherwise: the link may be an old one.
    present = mark if before is None else record.present
    return replace(record, secrets=secrets, present=present, link=text.strip(), broker=link.broker or record.broker)


def load_operations(store: PrivateValues, channel: str) -> list[SignedOperation]:
    """Return the operations of the channel's log, in no order."""
    prefix = f"{_OPERATION}{channel}/"
    return [_operation(name.removeprefix(prefix), kept) for name, kept in store.values(prefix).items()]


def save_operations(
    transaction: Transaction, channel: str, operations: Iterable[SignedOperation], gone: Iterable[str] = ()
) -> None:
    """Save operations of the channel's log, and forget those of these ids."""
    for each in operations:
        values = (each.lamport, each.author_key.hex(), encode_operation(each.operation), each.problem)
        transaction.set_value(f"{_OPERATION}{channel}/{each.message_id}", json.dumps(values).encode())
    for message_id in gone:
        transaction.forget_value(f"{_OPERATION}{channel}/{message_id}")


def _operation(message_id: str, kept: bytes) -> SignedOperation:
    lamport, author, text, problem = json.loads(kept)
    operation = decode_operation(text)
    assert operation is not None  # it was one when it was saved
    return SignedOperation(lamport, message_id, bytes.fromhex(author), operation, problem)


def _encoded(record: PrivateRecord) -> bytes:
    genesis = record.genesis
    found: dict[str, Any] = {
        "creator": genesis.creator_key.hex(),
        "salt": genesis.salt.hex(),
        "name": genesis.name,
        "admins_invite": genesis.admins_invite,
        "data_set": genesis.data_set.hex(),
        "since_join": genesis.since_join,
        "secrets": {mark.hex(): secret.hex() for mark, secret in record.secrets.items()},
        "present": record.present.hex(),
        "shared": {message_id: secret.hex() for message_id, secret in record.shared.items()},
        "link": record.link,
        "withheld": record.withheld,
        "broker": record.broker,
    }
    return json.dumps(found).encode()


def _decoded(kept: bytes) -> PrivateRecord:
    found = json.loads(kept)
    creator, salt = bytes.fromhex(found["creator"]), bytes.fromhex(found["salt"])
    return PrivateRecord(
        Genesis(
            creator,
            salt,
            found["name"],
            found["admins_invite"],
            bytes.fromhex(found.get("data_set", "")),
            found.get("since_join", False),
        ),
        {bytes.fromhex(mark): bytes.fromhex(secret) for mark, secret in found["secrets"].items()},
        bytes.fromhex(found["present"]),
        {message_id: bytes.fromhex(secret) for message_id, secret in found["shared"].items()},
        found["link"],
        tuple(found["withheld"]),
        found["broker"],
    )


class PrivateState(NamedTuple):
    """A private channel as it is in the database."""

    record: PrivateRecord
    roster: Roster

    @property
    def members(self) -> list[str]:
        """Return the sender ids of all members."""
        return [sender_id_of(key) for key in self.roster.members]

    def removal_epoch(self, sender_id: str) -> int | None:
        """Return the number of the epoch that began as this participant was removed. None for a member, and for
        somebody who never was one."""
        for key, changes in self.roster.changes.items():
            if sender_id_of(key) == sender_id and key not in self.roster.members:
                return next(
                    (at for at, (place, _) in enumerate(self.roster.epochs, 2) if place == changes[-1].position), None
                )
        return None

    def is_banned(self, sender_id: str) -> bool:
        """True for somebody who comes back by an invite of the creator alone."""
        return sender_id in map(sender_id_of, self.roster.banned)

    def standing(self, sender_id: str) -> str:
        """Return `member`, `removed`, or `outside` for somebody who never was a member."""
        if sender_id in self.members:
            return "member"
        return "outside" if self.removal_epoch(sender_id) is None else "removed"


def private_state(store: PrivateValues, channel: str) -> PrivateState | None:
    """Return the state of a private channel by its full name; None for an open one."""
    record = load_record(store, channel)
    return None if record is None else PrivateState(record, fold(record.genesis, load_operations(store, channel)))


class EpochSecret(NamedTuple):
    """The mark of an epoch, and its secret."""

    mark: bytes
    secret: bytes


def present_epoch(record: PrivateRecord, roster: Roster, identity: Identity) -> EpochSecret:
    """Return the epoch that an invite is for. Raises ValueError where we may not invite."""
    rank = roster.rank(identity.public_key)
    if rank is None:
        raise ValueError(f"Only members invite, and you are no member of {record.name}.")
    if record.genesis.admins_invite and rank < Rank.ADMIN:
        raise ValueError(f"In {record.name} only its creator and admins invite.")
    mark = epoch_mark(roster.epoch)
    if mark not in record.secrets:
        raise ValueError(f"The newest key of {record.name} is not here yet. Connect, and try again.")
    return EpochSecret(mark, record.secrets[mark])


def invite_link(
    record: PrivateRecord,
    roster: Roster,
    identity: Identity,
    now: int,
    *,
    uses: int = 0,
    lasts: int = 0,
    broker: str,
    renewed: EpochSecret | None = None,
) -> str:
    """Return a link that lets others in. `lasts` is in milliseconds; `renewed` the epoch that was begun for it. Raises
    ValueError where we may not invite."""
    if renewed is None and record.genesis.since_join:
        raise ValueError(f"{record.name} gives no older history: each invite there changes the key. Connect for it.")
    mark, secret = renewed or present_epoch(record, roster, identity)
    return make_link(
        identity,
        record.genesis,
        secret,
        secrets.token_bytes(SEED_BYTES),
        broker=broker or record.broker,
        uses=uses,
        expires=now + lasts if lasts else 0,
        epoch=mark,
    )


_LONGEST = MAX_CHANNEL_CHARACTERS - len("~abcdef")


def create_private(
    store: Store,
    identity: Identity,
    name: str,
    *,
    admins_invite: bool = False,
    since_join: bool = False,
    broker: str = "",
) -> str:
    """Make a private channel of which this identity is the creator, and keep it. Return its full name. `since_join`:
    who joins gets nothing that was written before.

    Raises ValueError for a name that is none.
    """
    record = new_private(store, identity, name, admins_invite=admins_invite, since_join=since_join, broker=broker)
    with store.transaction() as transaction:
        record.save(transaction)
    return record.name


def new_private(
    store: Store,
    identity: Identity,
    name: str,
    *,
    admins_invite: bool = False,
    since_join: bool = False,
    broker: str = "",
    data_set: bytes = b"",
) -> PrivateRecord:
    """Return a private channel that is not kept yet. `data_set`: of a members' channel. Raises ValueError for a name
    that is none."""
    name = new_channel(name)
    if "~" in name:
        raise ValueError("The name of a private channel cannot have a ~ in it: what stands behind it is its number.")
    if len(name) > _LONGEST:
        raise ValueError(f"The name of a private channel has at most {_LONGEST} characters, not {len(name)}.")
    if full_name(store, name) != name or store.has_channel(name):
        raise ValueError(f"You have a channel {name} already. Choose another name, or use another --profile.")
    genesis = Genesis(identity.public_key, secrets.token_bytes(SALT_BYTES), name, admins_invite, data_set, since_join)
    return PrivateRecord(genesis, {b"": secrets.token_bytes(SECRET_BYTES)}, broker=broker)
