"""The engine of one channel: a handful of verbs over the protocol steps.

    channel.receive(now, packet)      take a packet from the network
    channel.send(now, content)        send a message
    channel.advance(now)              let time pass; to be called when `next_wake` says so
    channel.take()                    what is to be done now: writes, then packets, then events

After every verb, take what is ready and make it true in that order. Nothing here touches a clock, a disk or a socket.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.sds.config import Config
from sdschat.sds.events import DependenciesMissing, Rejected
from sdschat.sds.history import History
from sdschat.sds.persist import collect_writes, open_new, restore
from sdschat.sds.state import ChannelState, Ready
from sdschat.sds.steps.acks import review_equal_range
from sdschat.sds.steps.anti_entropy import forget_old_pushes, push_sweep
from sdschat.sds.steps.bodies import doubt, forget_bodies, receive_body
from sdschat.sds.steps.deliver import give_up
from sdschat.sds.steps.due_sends import heard_copy
from sdschat.sds.steps.future_dated import release_due
from sdschat.sds.steps.history import end_history, lower_horizon, mend_horizon, raise_horizon, receive_history
from sdschat.sds.steps.id_only import receive_id, receive_told, refuse_claim
from sdschat.sds.steps.outgoing_sweep import periodic_outgoing_buffer_sweep
from sdschat.sds.steps.receive import receive_early, receive_message
from sdschat.sds.steps.repair import forget_old_answers, incoming_repair_request_buffer_sweep, note_missing
from sdschat.sds.steps.send import send_ephemeral, send_message
from sdschat.sds.steps.sync import next_sync, periodic_sync_message
from sdschat.sds.steps.timing import hurry
from sdschat.sds.timers import Jitter
from sdschat.sds.values import Codec, Compose, HistoryEntry, Message, Now, Reason, Refusal, Snapshot

COOLING = 1000  # budgets are topped up, and old entries forgotten, at most this often


class Channel:
    """SDS and SDS-R for one channel and one participant."""

    __slots__ = ("state",)

    def __init__(
        self,
        channel_id: str,
        participant_id: str,
        *,
        codec: Codec,
        history: History,
        secret: bytes,
        now: Now,
        config: Config | None = None,
        snapshot: Snapshot | None = None,
        online: bool = True,
    ) -> None:
        """Open a channel: for the first time, or as `snapshot` and `history` have it on disk.

        `secret` keys the jitter of timers; keep it for as long as the participant.
        """
        if not channel_id or not participant_id:
            raise ValueError("a channel and a participant need an id each")
        s = self.state = ChannelState(channel_id, participant_id, config or Config(), codec, Jitter(secret), history)
        s.now = now
        s.online = online
        s.offline_since = now.mono
        s.spent_at = now.mono
        if snapshot is None:
            open_new(s)
        else:
            restore(s, snapshot)

    def _begin(self, now: Now, *, unproven: bool = True) -> None:
        """Begin a verb. `unproven`: nobody says in it, with a signature, what they have and name."""
        self.state.now, self.state.unproven = now, unproven

    def receive(self, now: Now, packet: bytes, source: str = "live") -> None:
        """Take a packet. Whatever it is, this never raises: what is wrong with it becomes a `Rejected` event."""
        message = self.state.codec.decode(packet)
        if isinstance(message, Refusal):
            self.state.now = now
            self.state.events.append(Rejected(message.reason, message.sender_id, message.message_id, message.detail))
        else:
            self.receive_message(now, message, packet, source)

    def receive_message(
        self, now: Now, message: Message, packet: bytes, source: str = "live", *, unproven: bool = False
    ) -> None:
        """Do what `receive` does, for a packet that is decoded already. `unproven`: anybody may have written what it
        says its sender has; that is shown, and acknowledges nothing."""
        self._begin(now, unproven=unproven)
        receive_message(self.state, message, packet, source)

    def receive_id(self, now: Now, message: Message) -> None:
        """Take a message that exceeds what is kept of its sender: into the log by its id alone. The contract is that of
        `steps/id_only.py`."""
        self._begin(now)
        receive_id(self.state, message)

    def receive_told(
        self, now: Now, lamport: int, message_id: str, sender_id: str, *, of_any_age: bool = False
    ) -> None:
        """Take an id of which others have no more, and of which nothing can be checked; see `steps/id_only.py`."""
        self._begin(now)
        receive_told(self.state, lamport, message_id, sender_id, of_any_age=of_any_age)

    def refuse_claim(self, now: Now, message: Message, reason: Reason, why: str) -> bool:
        """Refuse a message that nobody signed, in the name of somebody who signs, and keep its id; the contract is that
        of `steps/id_only.py`. True if the id is here now."""
        self._begin(now)
        return refuse_claim(self.state, message, reason, why)

    def receive_body(self, now: Now, message: Message, raw: bytes, source: str) -> bool:
        """Take in the body of a message that the log has by its id alone; the contract is in `steps/bodies.py`."""
        self._begin(now)
        return receive_body(self.state, message, raw, source)

    def forget_bodies(self, now: Now, ids: Iterable[str]) -> None:
        """Go on with the ids alone of these messages, whose bodies are no longer kept."""
        self.state.now = now
        forget_bodies(self.state, ids)

    def receive_history(
        self, now: Now, message: Message, raw: bytes, source: str = "store", *, unproven: bool = True
    ) -> bool:
        """Take in an old message that was verified, from a Store or another's log; the contract is that of
        `steps/history.py`. `unproven`: nobody signed it. True where it is here now; where it is not, a `Rejected` event
        says why."""
        self._begin(now, unproven=unproven)
        return receive_history(self.state, message, raw, source)

    def end_history(self, now: Now) -> None:
        """End catching up: everybody who could be asked for history has given what they have. What they gave waits for
        nothing that they did not give; the contract is in `steps/history.py`."""
        self._begin(now)
        end_history(self.state)

    def heard_copy(self, now: Now, message_id: str) -> None:
        """Note that a packet came which is, byte for byte, one in which we sent this message of ours."""
        self.state.now = now
        heard_copy(self.state, message_id)

    def lower_horizon(self, now: Now, lamport: int) -> None:
        """Count the history as complete from `lamport` on: all of it has been given."""
        self.state.now = now
        lower_horizon(self.state, lamport)

    def raise_horizon(self, now: Now, lamport: int) -> None:
        """Begin the log at a later date, because everything before it was let go of."""
        self.state.now = now
        raise_horizon(self.state, lamport)

    @property
    def unacknowledged(self) -> list[tuple[int, str]]:
        """Return the own messages that are still sent again, in the order of the log."""
        return sorted((known.lamport, known.message_id) for known in self.state.outgoing.open.values())

    def equal_range(self, now: Now, sender_id: str, packet_id: str, ids: list[str], *, unproven: bool = False) -> None:
        """Note that a comparison beside the channel has shown that a participant has these own messages; or seems to
        have shown it, if anybody may have written its packets (`unproven`)."""
        self._begin(now, unproven=unproven)
        review_equal_range(self.state, sender_id, packet_id, ids)

    def send(self, now: Now, content: bytes | Compose) -> Message:
        """Send a message. A function is given the place of the message in the log, and returns the content for it.
        Raises `MessageTooLarge` where it does not fit into a packet, and `TooManyUnacknowledged`, with nothing
        changed."""
        self.state.now = now
        return send_message(self.state, content)

    def resend(self, now: Now, message_id: str) -> bool:
        """Send an own message again now rather than when it is due; false where it is not waiting for anything."""
        self.state.now = now
        known = self.state.outgoing.open.get(message_id)
        if known is not None:
            self.state.outgoing.arm(known, now.mono)
        return known is not None

    def send_ephemeral(self, now: Now, content: bytes | Compose) -> Message:
        """Send a message that nobody keeps. While offline it is gone at once."""
        self.state.now = now
        return send_ephemeral(self.state, content)

    def connected(self, now: Now) -> None:
        """Note that the transport is up: what waited goes out, and the time without it does not count against
        anyone."""
        s = self.state
        s.now = now
        if s.online:
            return
        s.online = True
        away = now.mono - s.offline_since
        s.requests.grant(away, now.mono + s.config.lost_after)
        hurry(s, s.config.push_delay_max)
        self.advance(now)

    def disconnected(self, now: Now) -> None:
        """Note that the transport is down: nothing is sent, and nothing is given up, until it is back."""
        s = self.state
        s.now = now
        if s.online:
            s.online = False
            s.offline_since = now.mono

    def advance(self, now: Now) -> None:
        """Let time pass: everything whose deadline is over."""
        s = self.state
        s.now = now
        elapsed = now.mono - s.spent_at
        if elapsed >= COOLING:
            s.answer_budget.cool(elapsed)
            s.push_budget.cool(elapsed)
            s.ranges.reads.cool(elapsed)
            s.ranges.reads_unproven.cool(elapsed)
            s.spent_at = now.mono
            forget_old_answers(s)
            forget_old_pushes(s)
        if s.early and not s.unsaved:
            receive_early(s)
        mend_horizon(s)
        release_due(s)
        s.unproven = True
        if s.online:  # none of these has anything to do without a transport, and time without it counts for none
            give_up(s)
            periodic_outgoing_buffer_sweep(s)
            incoming_repair_request_buffer_sweep(s)
            push_sweep(s)
            periodic_sync_message(s)

    def next_wake(self) -> int | None:
        """Return the time to call `advance` next, on the monotonic clock; None while there is nothing to wait for."""
        s = self.state
        next_release = s.incoming.future_dated.next()
        if next_release is not None:  # on the wall clock, which may be put right at any time
            next_release = s.now.mono + max(0, next_release - s.now.wall)
        if s.early:
            return s.now.mono
        if not s.online:
            return next_release
        due = next_sync(s)
        for timers in (s.requests.lost, s.outgoing.timers, s.answers.timers, s.pushes.timers):
            when = timers.next()
            if when is not None and when < due:
                due = when
        return due if next_release is None else min(due, next_release)

    def fetch(self, now: Now, message_id: str) -> bool:
        """Ask the others for the packet of a message of the log, which the disk has altered. False: it is in no log.

        It comes as a duplicate, from which the engine takes nothing: see there and then that it is the right one, and
        say so with `fetched`.
        """
        entry = self.state.delivered(message_id)
        if entry is not None and self.state.config.repair_enabled:
            self.state.refetch.want(HistoryEntry(message_id, None, entry.sender_id), now.mono + self.state.config.t_min)
        return entry is not None

    def doubt(self, now: Now, message_id: str) -> bool:
        """Ask for a message under whose id another one seems to be here; the contract is in `steps/bodies.py`. False:
        too many are asked for just now."""
        self.state.now = now
        return doubt(self.state, message_id)

    def fetched(self, message_id: str) -> None:
        self.state.refetch.remove(message_id)

    def miss(self, now: Now, entry: HistoryEntry) -> None:
        """Ask for a message that its author is known to have sent, and that is not here, or is only by another one."""
        self._begin(now, unproven=False)
        if self.state.holds(entry.message_id):
            doubt(self.state, entry.message_id)
        elif note_missing(self.state, entry, entry.sender_id or "", awaited=False):
            self.state.events.append(DependenciesMissing(entry.message_id, (entry.message_id,)))

    def learn_hint(self, message_id: str, hint: bytes) -> None:
        """Learn the hint of a message that a Store confirmed, to name it with the message."""
        self.state.learn_hint(message_id, hint, confirmed=True)

    def take(self) -> Ready:
        """Return what is ready, and forget it. All writes, in one transaction, come before the first packet."""
        s = self.state
        collect_writes(s)
        ready = Ready(s.writes, s.packets, s.events)
        s.writes, s.packets, s.events = [], [], []
        return ready
