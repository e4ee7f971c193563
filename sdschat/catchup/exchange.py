"""Both sides of catching up in one: asking and being asked, and the pages that go to and fro.

What carries pages, what they look like in bytes, and what becomes of the messages in them is given: a node and a
simulation bring the same things, with and without a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from sdschat.catchup.equal_ranges import EqualRanges, own_messages_in
from sdschat.catchup.provider import HistoryProvider
from sdschat.catchup.responder import ReadingBudgets, answer
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import (
    AnswerFrame,
    Ask,
    CatchUpState,
    ComparedLog,
    Declined,
    Frame,
    HistoryPage,
    IdOnly,
    LogKey,
    Nudge,
    RefusedFrame,
    Want,
)

LINGER: Final = 10_000  # how long whoever we dealt with may still acknowledge, or be acknowledged
NUDGE_AGAIN: Final = 60_000
_PAUSE: Final = 100  # between pages that take much reading


class FrameCodec(Protocol):
    def encode_frame(self, frame: Frame) -> bytes: ...

    def encode_records(self, payload: Any) -> bytes: ...

    def encode_page(self, page: HistoryPage) -> bytes: ...

    def decode_page(self, body: bytes) -> HistoryPage | RefusedFrame: ...


class Carrier(Protocol):
    """`sdschat.mvds.pages.Pages`: bodies to and from partners, each offered, requested, sent and acknowledged."""

    def deal_with(self, partners: set[str]) -> None: ...

    def give(self, peer: str, body: bytes, now: Any) -> bytes: ...

    def recall(self, peer: str) -> None: ...

    def receive(self, peer: str, payload: Any, now: Any) -> bool: ...

    def advance(self, now: Any) -> None: ...

    def next_wake(self) -> int | None: ...

    def take(self) -> Any: ...


class TakenIn(NamedTuple):
    """Result of taking in packets: the keys of the messages that are here now, the number of new ones, and whether a
    packet was among them that nobody asked for. `absent`: dependencies of theirs that are neither here nor among
    them."""

    keys: Sequence[LogKey]
    new: int
    foreign: bool
    absent: int = 0


class HistoryIntake(Protocol):
    """Puts messages into the log, each verified like any other."""

    def take_in(self, packets: Sequence[bytes], via: str, now: Any) -> TakenIn: ...


class OutgoingFrame(NamedTuple):
    peer: str
    payload: bytes
    compares: bool = False  # a frame, which says what a log holds, and not a record


class Exchange:
    """Tell it what comes; after each verb, `frames` is what is to be sent once everything taken in is saved."""

    def __init__(
        self,
        session: CatchUpSession,
        provider: HistoryProvider,
        log: ComparedLog,
        *,
        carrier: Carrier,
        codec: FrameCodec,
        intake: HistoryIntake,
        is_known: Callable[[str], bool] = lambda peer: False,
    ) -> None:
        """`is_known`: True for a peer that has a share of our reading which new keys do not use up."""
        self.session = session
        self.provider = provider
        self.frames: list[OutgoingFrame] = []
        self.nudges: dict[str, int] = {}  # who says that we lack messages, and how many
        self._log = log
        self._carrier = carrier
        self._codec = codec
        self._intake = intake
        self._budgets = ReadingBudgets(is_known)
        self._ship_at: int | None = None  # pages are held back until then
        self._partners: dict[str, int] = {}  # until when
        self._nudged: dict[str, int] = {}
        self._equal: list[EqualRanges] = []  # as those say who compare with us

    def frame(self, peer: str, frame: Frame, now: Any) -> None:
        what = frame.what
        match what:
            case Ask():
                self._answer(peer, frame, what, now.mono)
                self.session.compared_by(peer, frame, what, now.mono)
            case Want():
                self.session.asked_by(peer, now.mono)
                if not self.provider.serves(peer, frame):
                    self._carrier.recall(peer)  # pages that it wanted before: anybody can want without end
                if what.limit and (slow := self.provider.makes_room(peer, now.mono)) is not None:
                    self._give_up(slow[0])
                    self._send(slow[0], slow[1]._replace(what=Declined("busy")))
                declined = self.provider.want(peer, frame, what, now.mono)
                if declined is not None:
                    self._send(peer, frame._replace(what=declined))
            case AnswerFrame() | Declined():
                self.session.heard(peer, frame, now.mono)
            case Nudge(lacking):
                self.nudges[peer] = lacking
                self.session.nudged(peer, now.mono)
        self.settle(now)

    def records(self, peer: str, payload: Any, now: Any) -> None:
        """Take in the records of a payload of pages. If they belong to an exchange that ended here, by time or by a
        restart, end it for the peer too: an acknowledgement was lost, or all of them."""
        if self._carrier.receive(peer, payload, now):
            self._send(peer, Frame(0, 0, Want((), 0)))
        self.settle(now)

    def advance(self, now: Any) -> None:
        self.session.advance(now.mono)
        self._deal(now.mono)  # so that nothing is sent again to whom we stopped dealing with meanwhile
        self._carrier.advance(now)
        self.settle(now)

    def next_wake(self) -> int | None:
        wakes = (self.session.next_wake(), self._carrier.next_wake(), self._ship_at)
        return min((when for when in wakes if when is not None), default=None)

    def gone(self, peer: str) -> None:
        """Serve a participant who left no more."""
        self._give_up(peer)

    def offline(self) -> None:
        """Drop everything that was under way, since the connection is gone: it is asked for anew."""
        self.session.offline()
        for peer in self.provider.peers:
            self._give_up(peer)
        self.frames.clear()

    def proven(self, own: Callable[[], Sequence[tuple[int, str]]]) -> list[tuple[EqualRanges, list[str]]]:
        """Return the stretches found equal with a peer since the last call, each with the ids of the messages of `own`
        that the peer has there. `own` returns keys in order."""
        stretches = [*self._equal, *self.session.equal]
        self._equal.clear()
        self.session.equal.clear()
        return list(own_messages_in(stretches, own(), self._log)) if stretches else []

    def take_in(self, packets: Sequence[bytes], last: bool, now: Any, via: str, ids: Sequence[IdOnly] = ()) -> str:
        """Take in packets of the source that is asked now, in the given order, and the messages of which it has the ids
        alone. Return the reason to ask it no more, or an empty string."""
        if self.session.state is not CatchUpState.LOADING:
            return ""
        source = self.session.source
        taken = self._intake.take_in(packets, via, now)
        if taken.foreign or not all(self.session.wanted(one.key) for one in ids):
            self.session.failed(source, now.mono, lied=True)
            return ""
        why = self.session.watch.named(taken.absent, len(taken.keys)) if self.session.ascending else ""
        self.session.took(taken.keys, taken.new, last, now.mono, ids)
        return why

    def settle(self, now: Any) -> None:
        """Do everything that follows from what was told."""
        self._deal(now.mono)
        while self._carried(now):
            self._deal(now.mono)
        for peer, frame in self.session.frames:
            self._send(peer, frame)
        self.session.frames.clear()
        self._nudge(now.mono)

    def _carried(self, now: Any) -> bool:
        """Pass on the pages that came and send those that are wanted. Return True if there were any."""
        carried = self._carrier.take()
        for through in carried.through:
            if through.arrived:
                self.provider.arrived(through.peer, now.mono)
                self.session.asked_by(through.peer, now.mono)  # it is not done with us
            else:
                self._give_up(through.peer)
        for came in carried.came:
            page = self._codec.decode_page(came.body)
            if isinstance(page, HistoryPage):
                self.session.page(came.peer, page)
        for page in self.session.take_pages():
            self.take_in(page.packets, page.last, now, "sync", page.ids)
        self._deal(now.mono)
        if self._ship_at is None or self._ship_at <= now.mono:
            for shipment in self.provider.ship(now.mono, self._budgets):
                self._carrier.give(shipment.peer, self._codec.encode_page(shipment.page), now)
            self._ship_at = now.mono + _PAUSE if self.provider.is_held_back else None
        for packet in carried.packets:
            self.frames.append(OutgoingFrame(packet.peer, self._codec.encode_records(packet.payload)))
        return bool(carried.packets or carried.came or carried.through)

    def _give_up(self, peer: str) -> None:
        """Serve a peer no more, and forget the pages that are on their way to it."""
        self.provider.gave_up(peer)
        self._carrier.recall(peer)

    def _answer(self, peer: str, frame: Frame, ask: Ask, mono: int) -> None:
        found = answer(ask, self._log, self._budgets.of(peer, mono))
        for question, reply in zip(ask.questions, found.replies, strict=False):
            if reply.equal:
                self._equal.append(EqualRanges(peer, frame.session, question.low, question.high))
        self._send(peer, frame._replace(what=found))

    def _send(self, peer: str, frame: Frame) -> None:
        self.frames.append(OutgoingFrame(peer, self._codec.encode_frame(frame), True))

    def _deal(self, mono: int) -> None:
        """Tell the carrier with whom pages are exchanged: it takes no offers of others."""
        for peer in (self.session.source, *self.provider.peers):
            if peer:
                self._partners[peer] = mono + LINGER
        self._partners = {peer: until for peer, until in self._partners.items() if until > mono}
        self._carrier.deal_with(set(self._partners))

    def _nudge(self, mono: int) -> None:
        """Tell whoever lacks something of ours, once in a while: it may not know that it was away."""
        for peer, lacking in self.session.lacked_by.items():
            if self._nudged.get(peer, mono) <= mono:
                self._nudged[peer] = mono + NUDGE_AGAIN
                self._send(peer, Frame(0, 0, Nudge(lacking)))
        if self.session.lacked_by:
            self._nudged = {peer: until for peer, until in self._nudged.items() if until > mono}
        self.session.lacked_by.clear()
