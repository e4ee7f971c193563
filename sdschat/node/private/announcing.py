"""Announcements: removals that are sent again, for members that have an earlier key and do not know of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from sdschat.identity.packets import epoch_key
from sdschat.identity.private.link import epoch_mark
from sdschat.identity.private.roster import Roster
from sdschat.node.channel.extension import ExtendedChannel
from sdschat.node.private.known_operations import KnownOperations
from sdschat.transport.sealing import SealedTransport

ANNOUNCE_AFTER: Final = 300  # ms, and a random part of the same length: another member may be first
ANNOUNCE_EVERY: Final = 10_000  # ms
ANNOUNCE_LATEST: Final = 64 * ANNOUNCE_EVERY  # where nothing proves that a member asks for it
_ANNOUNCED: Final = 16  # removals that are sent again for those who have an earlier key


class AnnouncementTimer:
    """Times are monotonic milliseconds.

    A packet under an earlier key asks for an announcement. One that a member has just made is *proven*. Others may be
    of somebody who was removed, or repeated by anybody: they are *doubtful*, and answered ever more rarely, until the
    members change.
    """

    def __init__(self) -> None:
        self.due: int | None = None
        self._last = -ANNOUNCE_LATEST
        self._doubtful = False  # the announcement that is due is for packets that anybody may have made
        self._pause = ANNOUNCE_EVERY  # of doubtful ones

    def members_changed(self) -> None:
        self._pause = ANNOUNCE_EVERY

    def ask(self, now: int, *, doubtful: bool) -> bool:
        """Plan an announcement. False if one is due already."""
        if self.due is not None and (doubtful or not self._doubtful):
            return False
        wait = ANNOUNCE_AFTER + secrets.randbelow(ANNOUNCE_AFTER)
        self.due = max(now + wait, self._last + (self._pause if doubtful else ANNOUNCE_EVERY))
        self._doubtful = doubtful
        return True

    def at_once(self, now: int) -> None:
        """Plan the announcement of a removal of our own."""
        self.due, self._doubtful = now, False

    def begin_due(self, now: int) -> bool:
        """True if an announcement is due; it is made now."""
        if self.due is None or now < self.due:
            return False
        self.due, self._last = None, now
        if self._doubtful:
            self._pause = min(2 * self._pause, ANNOUNCE_LATEST)
        return True


class RemovalAnnouncer:
    """Sends the removals of a private channel again, each with the key of the epoch that it ended."""

    def __init__(self, operations: KnownOperations, transport: SealedTransport, msg_topic: str) -> None:
        self.roster = Roster()
        self._operations = operations
        self._transport = transport
        self._msg_topic = msg_topic
        self._timer = AnnouncementTimer()

    def attach(self, session: ExtendedChannel) -> None:
        self._session = session

    def heard_outdated(self, message_id: str, *, proven: bool, again: bool = False) -> None:
        """Plan an announcement, since a packet came under an earlier key. `message_id`: of the message in it, or empty.
        One with a removal does not show that somebody lacks it: a member announces it. `proven`: it is new, and by a
        member."""
        if message_id not in self.roster.epoch_before and not again:
            self._ask(doubtful=not proven)

    def other_epoch(self, opened: bool) -> None:
        """Ask the others, because somebody seals with another key than we do: one of us may lack a removal."""
        if not opened:
            self._ask(doubtful=True)

    def _ask(self, *, doubtful: bool) -> None:
        if self.roster.epoch_before and self._timer.ask(self._mono, doubtful=doubtful):
            self._session.mark_ready()

    def made(self, message_id: str) -> None:
        """Announce an operation of our own, if it is a removal."""
        if message_id in self.roster.epoch_before:
            self._timer.at_once(self._mono)

    def members_changed(self) -> None:
        self._timer.members_changed()

    @property
    def due(self) -> int | None:
        return self._timer.due

    def advance(self, now: int, epoch_secrets: Mapping[bytes, bytes]) -> None:
        """Send the removals again, if it is time. `epoch_secrets`: by the mark of the epoch."""
        if not self._timer.begin_due(now):
            return
        for message_id, name in list(self.roster.epoch_before.items())[-_ANNOUNCED:]:
            secret = epoch_secrets.get(epoch_mark(name)) or self._earlier(message_id, epoch_secrets)
            packet = self._packet(message_id)
            if secret is not None and packet is not None:
                self._transport.publish_in_epoch(epoch_key(secret).epoch_id, self._msg_topic, packet)

    def _earlier(self, message_id: str, epoch_secrets: Mapping[bytes, bytes]) -> bytes | None:
        """Return the newest secret from before a removal: the one that it ended may have been kept from us."""
        signed = self._operations.find(message_id)
        names = [] if signed is None else self.roster.epochs_until(signed.position)
        return next((secret for name in names if (secret := epoch_secrets.get(epoch_mark(name))) is not None), None)

    def _packet(self, message_id: str) -> bytes | None:
        heard = self._operations.heard(message_id)
        if heard is not None:
            return heard[1]
        row = self._session.channel.state.history.row(message_id)
        return None if row is None else row.raw

    @property
    def _mono(self) -> int:
        return self._session.channel.state.now.mono
