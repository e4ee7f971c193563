"""Removals that are sent again."""

from __future__ import annotations

from typing import cast

from sdschat.identity.packets import epoch_key
from sdschat.identity.private.link import epoch_mark
from sdschat.identity.private.roster import Roster, SignedOperation
from sdschat.node.channel.extension import ExtendedChannel
from sdschat.node.private.announcing import (
    ANNOUNCE_AFTER,
    ANNOUNCE_EVERY,
    ANNOUNCE_LATEST,
    AnnouncementTimer,
    RemovalAnnouncer,
)
from sdschat.node.private.known_operations import KnownOperations
from sdschat.transport.sealing import SealedTransport
from tests.sds.group import Group

SECRET = b"s" * 32
EPOCH = ("an earlier removal",)


class _Heard:
    """Operations that are not in the log yet, as packets by message id."""

    def __init__(self, packets: dict[str, bytes]) -> None:
        self._packets = packets

    def heard(self, message_id: str) -> tuple[SignedOperation, bytes] | None:
        packet = self._packets.get(message_id)
        return None if packet is None else (cast(SignedOperation, None), packet)

    def find(self, message_id: str) -> None:
        return None


class _Sent(list[tuple[bytes, str, bytes]]):
    def publish_in_epoch(self, epoch_id: bytes, topic: str, payload: bytes) -> None:
        self.append((epoch_id, topic, payload))


class _Session:
    """A channel whose log has none of the removals."""

    def __init__(self) -> None:
        self.channel = Group("a")["a"].channel

    def mark_ready(self) -> None:
        """Do nothing."""


def announced(packets: dict[str, bytes], *removals: str) -> _Sent:
    """Return what is sent where these removals count, and an earlier key was heard."""
    sent, session = _Sent(), _Session()
    announcer = RemovalAnnouncer(cast(KnownOperations, _Heard(packets)), cast(SealedTransport, sent), "msg")
    announcer.attach(cast(ExtendedChannel, session))
    announcer.roster = Roster(epoch_before=dict.fromkeys(removals, EPOCH))
    announcer.heard_outdated("", proven=True)
    announcer.advance(session.channel.state.now.mono + 2 * ANNOUNCE_AFTER, {epoch_mark(EPOCH): SECRET})
    return sent


def test_a_removal_that_was_heard_and_is_not_in_the_log_yet_is_sent_again() -> None:
    """Its place in the log may be waiting for what is missing here, and others lack the key."""
    sent = announced({"heard": b"its packet"}, "heard", "unknown")
    assert sent == [(epoch_key(SECRET).epoch_id, "msg", b"its packet")]


def test_of_many_removals_the_newest_are_sent_again() -> None:
    packets = {f"{number}": b"%d" % number for number in range(40)}
    assert [payload for _, _, payload in announced(packets, *packets)] == [b"%d" % number for number in range(24, 40)]


def test_packets_that_anybody_may_have_made_are_answered_ever_more_rarely_up_to_a_bound() -> None:
    timer, now, pauses = AnnouncementTimer(), 0, []
    for _ in range(12):
        assert timer.ask(now, doubtful=True)
        assert timer.due is not None
        pauses.append(timer.due - now)
        now = timer.due
        assert timer.begin_due(now)
    assert pauses[1:8] == [ANNOUNCE_EVERY * times for times in (2, 4, 8, 16, 32, 64, 64)]
    assert max(pauses) == ANNOUNCE_LATEST
    timer.members_changed()
    timer.ask(now, doubtful=True)
    assert timer.due == now + ANNOUNCE_EVERY
