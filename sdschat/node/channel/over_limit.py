"""Messages of which only the ids are kept, counted for the user: one event stands for all of a sender. And packets that
were passed over because too many came: one event stands for all of a flood."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.channel.sender_limits import MINUTE, SenderLimits
from sdschat.node.events import EventBody, OverLimit, OwnOverLimit, TroubleMet
from sdschat.sds.events import Delivered, KeptAsId
from sdschat.sds.values import Append, Now, Reason

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.session import ChannelSession
    from sdschat.sds.state import Ready

EVERY: Final = 1_000  # milliseconds between two events
RATE_OVER: Final = 5_000  # milliseconds over which a rate is measured
_SENDERS: Final = 8  # counted apart; all others together, without a name
_LATELY: Final = 10_000  # messages of which a rate is measured
_KNOWN: Final = 4096
PASSED_OVER: Final = "More comes in than this program can take in. What is too much comes later, from others."


class Flood(NamedTuple):
    """Messages in a second that exceed the limits of a channel just now, and the number of their senders."""

    rate: int
    senders: int


class OverLimitCounter(PassiveExtension):
    """Counts messages of which only the ids are kept."""

    def __init__(self, gate: ContentGate, own_limit: SenderLimits) -> None:
        self._gate = gate
        self._own_limit = own_limit
        self._own = self._own_told = 0  # own messages that exceed the limit of others, if it is that of ours
        self._counts: Counter[str] = Counter()  # by sender
        self._changed: dict[str, None] = {}
        self._senders: OrderedDict[str, None] = OrderedDict()  # who exceeded a limit, the last one at the end
        self._told_at = -EVERY
        self._passed_over_at = -MINUTE
        self._lately: deque[tuple[int, str]] = deque(maxlen=_LATELY)  # when, on the monotonic clock, and the sender

    def attach(self, session: ChannelSession) -> None:
        self._open = session.private is None
        self._since_join = session.gives_since_join
        self._session = session

    def next_wake(self) -> int | None:
        return self._told_at + EVERY if self._changed or self._own > self._own_told else None

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        for event in ready.events:
            if isinstance(event, KeptAsId) and not self._is_of_no_interest(event.message.sender_id):
                if not event.told:
                    self._note_flood(event.message.sender_id, now.mono)
                if not self._gate.book.is_waiting(event.message.sender_id):  # one line stands for all strangers
                    self._count(event.message.sender_id)
            elif isinstance(event, Delivered) and event.own and event.source == "live" and self._open:
                self._own += self._own_limit.exceeded("", now.mono, fresh=True, sync=False, stranger=False)
        for write in ready.writes:
            if isinstance(write, Append) and write.instead_of is not None and write.instead_of.bare:
                self._uncount(write.row.entry.sender_id)
        events = self._note_passed_over(now.mono)
        if self.next_wake() is None or now.mono - self._told_at < EVERY:
            return ExtensionOutput(events=events)
        self._told_at = now.mono
        if self._own > self._own_told:
            self._own_told = self._own
            events.append(OwnOverLimit(self._own))
        changed, self._changed = self._changed, {}
        nick_of, counts = self._gate.nick_of, self._counts
        events += (OverLimit(sender, nick_of(sender), counts[sender], self._since_join) for sender in changed)
        return ExtensionOutput(events=events)

    def _note_passed_over(self, mono: int) -> list[EventBody]:
        """Count what was passed over, and tell it once for each flood."""
        passed = self._session.live.waiting.take_passed_over()
        if not passed:
            return []
        self._session.refusals.count(Reason.OVER_LIMIT, passed.total())
        # They count for the rate alone: nobody checked who sent them, and of whom they name more would be hidden.
        self._lately.extend((mono, sender) for sender in passed.elements())
        before, self._passed_over_at = self._passed_over_at, mono
        return [TroubleMet(PASSED_OVER)] if mono - before >= MINUTE else []

    def _is_of_no_interest(self, sender_id: str) -> bool:
        """True for whom the user ignores, and for ids that bear our name, which others made: ours are here in full."""
        return sender_id == self._gate.identity.sender_id or self._gate.is_ignored(sender_id)

    def is_flooding(self, sender_id: str) -> bool:
        """True if this sender exceeded the limit in this run: what only it names as missing is not shown as such."""
        return sender_id in self._senders

    def flood(self, mono: int) -> Flood:
        """Return what exceeds the limits just now."""
        while self._lately and mono - self._lately[0][0] > RATE_OVER:
            self._lately.popleft()
        return Flood(len(self._lately) * 1000 // RATE_OVER, len({sender for _, sender in self._lately}))

    def _uncount(self, sender_id: str) -> None:
        """Count one message less of a sender: one that was kept as an id is here in full."""
        if self._counts.get(sender_id):
            self._counts[sender_id] -= 1
            self._changed[sender_id] = None

    def _note_flood(self, sender_id: str, mono: int) -> None:
        self._lately.append((mono, sender_id))
        self._senders[sender_id] = None
        self._senders.move_to_end(sender_id)
        if len(self._senders) > _KNOWN:
            self._senders.popitem(last=False)

    def _count(self, sender_id: str) -> None:
        if sender_id not in self._counts and len(self._counts) >= _SENDERS:
            sender_id = ""
        self._counts[sender_id] += 1
        self._changed[sender_id] = None


def flood_of(session: ChannelSession, mono: int) -> Flood:
    """Return what exceeds the limits of a channel just now; nothing where a recording is replayed."""
    return next((counter.flood(mono) for counter in _counters(session)), Flood(0, 0))


def is_flooding(session: ChannelSession, sender_id: str) -> bool:
    """True if this sender exceeded the limit of the channel in this run."""
    return any(counter.is_flooding(sender_id) for counter in _counters(session))


def _counters(session: ChannelSession) -> Iterator[OverLimitCounter]:
    return (extension for extension in session.extensions if isinstance(extension, OverLimitCounter))
