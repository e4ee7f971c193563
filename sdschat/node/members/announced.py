"""The data set of a members' channel: its record in the profile, and its announcement, which is heard and sent."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Final

from sdschat.identity.members import DataSet, announce, first_operation, read_announcement
from sdschat.identity.signing import Identity, sender_id_of
from sdschat.node.members.events import KindRefused
from sdschat.node.members.record import MembersRecord
from sdschat.wire.members_codec import MAX_CONTACTS

_ANNOUNCE_AFTER: Final = 300  # ms on a connection until what nobody announced is announced again
# Anybody can put something else in the place of the announcement, and another group may use the name too: so ours
# follows it after a moment, after so long, and then after twice as long each time.
_AGAIN_EVERY: Final = 10_000
_AGAIN_LATEST: Final = 600_000
_REFUSED_EVERY: Final = 60_000  # ms between two events for announcements that do not count: anybody can make them


class AnnouncedDataSet:
    """Times are monotonic milliseconds. `record` is None in a channel of another kind."""

    def __init__(self, identity: Identity) -> None:
        self.record: MembersRecord | None = None
        self._identity = identity
        self._newest: DataSet | None = None  # the last announcement that was heard, or is kept
        self._unsaved: MembersRecord | None = None
        self._connected = False
        self._announce_at: int | None = None
        self._again_at = 0  # what was displaced is not announced again before this time
        self._pause = _AGAIN_EVERY
        self._refused_at = -_REFUSED_EVERY

    def attach(self, channel: str, publish: Callable[[bytes], None]) -> None:
        """Send announcements with `publish` from now on."""
        self._channel = channel
        self._publish = publish

    def begin(self, record: MembersRecord, *, kept: bool) -> None:
        """Take this as the data set of the channel. `kept`: the record is on disk already."""
        self.record = record
        self._unsaved = None if kept else record
        if record.announcement:
            self._newest = read_announcement(record.announcement, record.channel)
            if not kept:
                self._announce_at = None  # it was just heard, so it has its place

    @property
    def data_set(self) -> bytes:
        return b"" if self.record is None else self.record.data_set

    @property
    def creator(self) -> bytes:
        """Return the key of the participant who made the data set; our own while no announcement is kept."""
        return self._identity.public_key if self._newest is None else self._newest.creator

    @property
    def creator_id(self) -> str:
        """Return the sender id of the participant who made the data set, as it was announced; empty until it is."""
        return "" if self._newest is None else sender_id_of(self._newest.creator)

    @property
    def contacts(self) -> tuple[bytes, ...]:
        """Return the keys of those who may be asked for the state, as far as they were announced."""
        return () if self._newest is None else (*self._newest.contacts, self._newest.creator)

    def take_unsaved(self) -> MembersRecord | None:
        """Take the record, if it is to be saved."""
        record, self._unsaved = self._unsaved, None
        return record

    # Announcements of others.

    def hear(self, found: DataSet, now: int) -> bool:
        """Take over an announcement of this data set. False for one that is not newer than what we have."""
        before = -1 if self._newest is None else self._newest.number
        if found.number >= before:
            self._announce_at = None
        else:
            self.displaced(now)
        if found.number <= before:
            return False
        self._take(found)
        return True

    def displaced(self, now: int) -> None:
        """Announce again, since something else has the place of the announcement at the broker: newcomers would take
        the channel for an open one, or ask those who were members once. Another member may be first."""
        if self._connected and self._announce_at is None:
            wait = _ANNOUNCE_AFTER + secrets.randbelow(_ANNOUNCE_AFTER)
            self._announce_at = max(now + wait, self._again_at)
            self._again_at = self._announce_at + self._pause
            self._pause = min(2 * self._pause, _AGAIN_LATEST)

    def rivalled(self, now: int, *, is_member: bool) -> None:
        """Announce again where another data set is announced, if we are a member. Others may have been led to a false
        one, whose maker is gone: they would go on announcing it for ever."""
        if is_member:
            self.displaced(now)
        else:
            self._announce_at = None

    def refusal(self, found: DataSet, why: str, now: int) -> list[KindRefused]:
        """Return the event for an announcement that does not count, if there was none just now."""
        if now - self._refused_at < _REFUSED_EVERY:
            return []
        self._refused_at = now
        return [KindRefused(found.data_set.hex(), why)]

    def _take(self, found: DataSet) -> None:
        assert self.record is not None
        self._newest = found
        self.record = self._unsaved = self.record._replace(announcement=found.payload)

    # What we announce.

    def connected(self, now: int) -> None:
        self._connected = True
        self._announce_at, self._pause = now + _ANNOUNCE_AFTER, _AGAIN_EVERY

    def disconnected(self) -> None:
        self._connected = False
        self._announce_at = None

    @property
    def due(self) -> int | None:
        return self._announce_at

    def advance(self, now: int) -> None:
        if self._announce_at is not None and self._announce_at <= now:
            self._announce_at = None
            self._announce()

    def name_members(self, keys: Iterable[bytes]) -> None:
        """Name the members of now in the announcement, if it is ours."""
        before = self._newest
        if before is None or before.creator != self._identity.public_key:
            return
        genesis, contacts = first_operation(before.payload), list(keys)[:MAX_CONTACTS]
        payload = announce(self._identity, self._channel, genesis, contacts, before.number + 1)
        found = read_announcement(payload, self._channel)
        assert found is not None
        self._take(found)
        self._announce()

    def _announce(self) -> None:
        if self._newest is not None and self._connected:
            self._publish(self._newest.payload)
