"""The kind of a channel, kept with the profile: the data set of a members' channel, and its announcement."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from sdschat.store.transaction import Transaction
from sdschat.store.user_state import UserState

_PREFIX: Final = "members/"
DATA_SET_DIGITS: Final = 64


class MembersRecord(NamedTuple):
    """A members' channel of this profile. `announcement` is empty until one was heard."""

    channel: str
    data_set: bytes
    announcement: bytes = b""

    def save(self, transaction: Transaction) -> None:
        value = json.dumps({"data_set": self.data_set.hex(), "announcement": self.announcement.hex()})
        transaction.set_value(_PREFIX + self.channel, value.encode())


def load_record(store: UserState, channel: str) -> MembersRecord | None:
    """Return the record of a members' channel; None for a channel of another kind."""
    return _read(channel, store.value(_PREFIX + channel))


def is_members_channel(store: UserState, channel: str) -> bool:
    """True if a channel of the profile is a members' channel."""
    return load_record(store, channel) is not None


def load_records(store: UserState) -> dict[str, MembersRecord]:
    """Return the records of all members' channels of the profile, by name."""
    found = {name.removeprefix(_PREFIX): value for name, value in store.values(_PREFIX).items()}
    return {name: record for name, value in found.items() if (record := _read(name, value)) is not None}


def _read(channel: str, value: bytes | None) -> MembersRecord | None:
    if value is None:
        return None
    fields = json.loads(value)
    return MembersRecord(channel, bytes.fromhex(fields["data_set"]), bytes.fromhex(fields["announcement"]))


def pinned(text: str) -> bytes:
    """Return the data set that a user named. Raises ValueError, for a person."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(text) != DATA_SET_DIGITS or not found:
        raise ValueError(
            f"{text!r} is no data set: it has {DATA_SET_DIGITS} hex digits, as `sdschat create` prints it."
        )
    return found
