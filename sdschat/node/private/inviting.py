"""Links that a member makes, and what a profile knows of a private channel without being connected."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from sdschat.identity.private.epochs import epoch_mark
from sdschat.identity.private.link import make_link
from sdschat.identity.private.roster import Rank, Roster, fold
from sdschat.identity.signing import Identity, sender_id_of
from sdschat.node.private.record import PrivateRecord, PrivateValues, load_operations, load_record
from sdschat.wire.private_codec import SEED_BYTES


class PrivateState(NamedTuple):
    """A private channel as it is in the database."""

    record: PrivateRecord
    roster: Roster

    @property
    def members(self) -> list[str]:
        """The sender ids of all members."""
        return [sender_id_of(key) for key in self.roster.members]


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
