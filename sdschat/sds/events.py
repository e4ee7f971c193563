"""Facts in the past tense. The interface, the JSON lines, the journal and the tests all live on these.

`due` and the like are epoch milliseconds. Nothing here is ever acted on by the engine itself.
"""

from __future__ import annotations

from typing import NamedTuple

from sdschat.sds.values import AckState, Evidence, Message, Reason


class Delivered(NamedTuple):
    """A message took its place in the log."""

    message: Message
    own: bool
    late: bool  # inserted before something that was delivered earlier
    gap: tuple[str, ...]  # dependencies that are lost or older than our joining
    source: str  # live, repair, sync (anti-entropy) or store


class KeptAsId(NamedTuple):
    """A message took its place in the log by its id alone: its sender says more than is kept. `told`: another
    participant told that, and the message, which has no content then, was never seen here."""

    message: Message
    told: bool = False


class EphemeralReceived(NamedTuple):
    message: Message


class StateChanged(NamedTuple):
    """An own message's acknowledgement moved forward, or more evidence for it came in."""

    message_id: str
    state: AckState
    by: tuple[str, ...]  # participants proven to have it
    resends: int
    evidence: Evidence | None
    perhaps: tuple[str, ...] = ()  # participants whose filters seem to have it, which may be chance
    unproven: tuple[str, ...] = ()  # participants who say that they have it, without a signature


class MessageRetired(NamedTuple):
    """An own message is possibly acknowledged, and so many newer ones are that it is no longer resent on our own
    account: only when somebody asks for it or turns out to lack it."""

    message_id: str


class DependenciesMissing(NamedTuple):
    """A message waits; `message_id` is the one that named them (a sync message may be the one)."""

    message_id: str
    dependencies: tuple[str, ...]


class DependenciesLost(NamedTuple):
    dependencies: tuple[str, ...]


class GapClosed(NamedTuple):
    """Something we had stopped waiting for came after all.

    Told of what was given up, and of what a message among the newest `RECENT_WINDOW` went without. A gap that an older
    message was told with closes without a word: see whether its ids are in the log by now.
    """

    message_id: str


class MessageDeferred(NamedTuple):
    """Dated too far in the future: waits outside the log until its time comes."""

    message_id: str
    sender_id: str
    due: int


class DuplicateReceived(NamedTuple):
    message_id: str
    sender_id: str


class SyncSent(NamedTuple):
    message_id: str


class SyncReceived(NamedTuple):
    sender_id: str


class MessageResent(NamedTuple):
    message_id: str
    state: AckState
    sends: int


class RepairWanted(NamedTuple):
    """An entry of the outgoing repair request buffer was made."""

    message_id: str
    due: int


class RepairRequested(NamedTuple):
    """Our request went out, carried by the packet `carrier`."""

    message_ids: tuple[str, ...]
    carrier: str


class RepairScheduled(NamedTuple):
    """Somebody asked, and we may be the one to answer."""

    message_id: str
    due: int
    requested_by: str


class RepairResponded(NamedTuple):
    message_id: str


class RepairCancelled(NamedTuple):
    """`reason`: received, requested_by_other, answered_by_other, peer_has_it, resent, pushed, lost, unproven,
    arrived_before_due, no_body."""

    message_id: str
    reason: str


class PushScheduled(NamedTuple):
    """A peer's filter lacks a message held here."""

    message_id: str
    due: int
    wanted_by: str


class Pushed(NamedTuple):
    message_id: str


class PushCancelled(NamedTuple):
    """`reason`: heard_again, resent, answered, peer_has_it, no_body."""

    message_id: str
    reason: str


class RangeDiffered(NamedTuple):
    """A peer's fingerprint of a range of the history is not ours. `lacking`: number of messages that it has there
    beyond ours, if it signed that; 0 if it has no more, or is not known to."""

    sender_id: str
    low: int
    high: int
    lacking: int = 0


class FilterIgnored(NamedTuple):
    sender_id: str
    reason: str


class FilterRolled(NamedTuple):
    generation: int
    floor: int


class FilterFormatChanged(NamedTuple):
    filter_format: str


class ClockAhead(NamedTuple):
    """Our messages are dated further ahead of our wall clock than others may bear: that clock was set back, or is
    slow. Others keep such messages waiting until they are due."""

    lamport: int
    ahead: int


class Rejected(NamedTuple):
    reason: Reason
    sender_id: str
    message_id: str
    detail: str


Event = (
    Delivered
    | KeptAsId
    | EphemeralReceived
    | StateChanged
    | MessageRetired
    | DependenciesMissing
    | DependenciesLost
    | GapClosed
    | MessageDeferred
    | DuplicateReceived
    | SyncSent
    | SyncReceived
    | MessageResent
    | RepairWanted
    | RepairRequested
    | RepairScheduled
    | RepairResponded
    | RepairCancelled
    | PushScheduled
    | Pushed
    | PushCancelled
    | RangeDiffered
    | FilterIgnored
    | FilterRolled
    | FilterFormatChanged
    | ClockAhead
    | Rejected
)
