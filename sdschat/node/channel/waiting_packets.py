"""Packets of a channel that wait because more comes in than can be taken in.

A few are taken between two steps of the loop. Where more come, they wait here, so that the socket is read on: a broker
keeps little for a slow reader, and drops what others say with the rest. Up to `FEW` are taken in the order in which
they came. Where more wait, senders take turns, and people come before strangers, who have a turn in four. Where too
many wait, the sender with the most packets loses its newest, which is neither decoded nor checked nor saved. What was
passed over so comes later, by repair or by catching up.

Somebody who can take in more names such packets in what they say, and that would wait for them. So the last ones that
were passed over are kept for a moment, and are taken out of turn where somebody known names them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

AT_ONCE: Final = 8  # packets between two steps of the loop: each step saves them, so fewer would take longer
MANY: Final = 2 * AT_ONCE  # came between two steps: one packet of strangers is taken, so that reading goes on
TURNS: Final = 4  # of so many turns strangers have one, while people wait
FEW: Final = 64  # packets that wait in the order in which they came
MOST: Final = 2048  # packets of strangers that wait
KEPT: Final = 4 << 20  # bytes of them, and of those that were passed over
OF_PEOPLE: Final = 4  # times as many packets and bytes may wait of people
LAST: Final = 64  # packets that are taken at the end
LOOKED_AT: Final = 64  # senders, for the one that loses its newest packet
MOST_PASSED: Final = 8192  # packets that were passed over, and are kept for a moment
_SENDER, _MESSAGE = b"\x0a", b"\x12"  # the tags of the first two fields of a packet
_LONGEST: Final = 127  # bytes of a field whose length is one byte
ASKED_FOR: Final = "asked for".ljust(_LONGEST + 1)  # the lane of such packets, whoever sends them; no head has this


class PacketHead(NamedTuple):
    """The sender and the id that a packet bears. Nothing of it is checked."""

    sender_id: str
    message_id: str


NO_HEAD: Final = PacketHead("", "")


def head_of(packet: bytes) -> PacketHead:
    """Return the head of a packet; an empty one if it does not begin as those of all makes do."""
    at, found = 0, []
    for tag in (_SENDER, _MESSAGE):
        length = packet[at + 1] if packet[at : at + 1] == tag and at + 1 < len(packet) else _LONGEST + 1
        end = at + 2 + length
        if length > _LONGEST or end > len(packet):
            return NO_HEAD
        found.append(packet[at + 2 : end])
        at = end
    try:
        return PacketHead(found[0].decode(), found[1].decode())
    except UnicodeDecodeError:
        return NO_HEAD


class _Waiting(NamedTuple):
    packet: bytes
    sender_id: str
    message_id: str
    number: int  # in the order in which they came


class _Lanes:
    """The packets of strangers, or of people, by sender: up to `times` the bounds. Whose turn is next stands first."""

    def __init__(self, times: int) -> None:
        self.by_sender: dict[str, deque[_Waiting]] = {}
        self.count = 0
        self._bytes = 0
        self._times = times
        self._largest = ""  # of those that a packet was added to, the one with most; others may have more since then

    @property
    def full(self) -> bool:
        return self.count > self._times * MOST or self._bytes > self._times * KEPT

    def add(self, waiting: _Waiting) -> None:
        lane = self.by_sender.setdefault(waiting.sender_id, deque())
        lane.append(waiting)
        if len(lane) > len(self.by_sender.get(self._largest, ())):
            self._largest = waiting.sender_id
        self.count += 1
        self._bytes += len(waiting.packet)

    def take_turn(self) -> _Waiting:
        """Take the first packet of the sender whose turn it is. The next turn is that of another one."""
        sender_id = next(iter(self.by_sender))
        self.by_sender[sender_id] = lane = self.by_sender.pop(sender_id)
        return self.remove(lane[0])

    def pass_over(self) -> _Waiting:
        """Take the newest packet of the sender with the most, of those whose turn is the last and of the largest that
        was seen: to look at all of many keys would take too long. Of equal ones the last one loses it."""
        looked_at = [*islice(reversed(self.by_sender), LOOKED_AT)]
        if self._largest in self.by_sender:
            looked_at.append(self._largest)
        return self.remove(self.by_sender[max(looked_at, key=lambda one: len(self.by_sender[one]))][-1])

    def remove(self, waiting: _Waiting) -> _Waiting:
        lane = self.by_sender[waiting.sender_id]
        if waiting is lane[-1]:
            lane.pop()
        else:
            lane.remove(waiting)
        if not lane:
            del self.by_sender[waiting.sender_id]
        self.count -= 1
        self._bytes -= len(waiting.packet)
        return waiting


class WaitingPackets:
    """`receive` takes a packet, and does not raise. `schedule` runs a function soon, but not now."""

    def __init__(self, receive: Callable[[bytes], None], schedule: Callable[[Callable[[], None]], object]) -> None:
        self._receive = receive
        self._schedule = schedule
        self._people, self._strangers = _Lanes(OF_PEOPLE), _Lanes(1)
        self._named: dict[str, _Waiting] = {}  # the packets that wait, by message id
        self._passed: OrderedDict[str, bytes] = OrderedDict()  # the last packets that were passed over, by message id
        self._passed_over: Counter[str] = Counter()
        self._passed_bytes = self._taken = self._turn = self._came = self._put = 0
        self._due = False

    @property
    def _count(self) -> int:
        return self._people.count + self._strangers.count

    def put(self, packet: bytes, head: PacketHead, *, known: bool) -> None:
        """Take a packet, or let it wait for its turn. `known`: it comes before those of strangers."""
        self._came += 1
        self._arrange()
        if not self._count and self._taken < AT_ONCE:
            self._taken += 1
            self._receive(packet)
            return
        sender_id = head.sender_id
        if known:  # what came while nobody knew its sender stays before it
            while sender_id in self._strangers.by_sender:
                self._people.add(self._strangers.remove(self._strangers.by_sender[sender_id][0]))
        lanes = self._people if known or sender_id in self._people.by_sender else self._strangers
        self._put += 1
        waiting = _Waiting(packet, sender_id, head.message_id, self._put)
        lanes.add(waiting)
        self._named.setdefault(head.message_id, waiting)
        while lanes.full:
            self._pass_over(self._left(lanes.pass_over()))

    def holds(self, message_id: str) -> bool:
        """True if a packet with this id waits."""
        return message_id in self._named

    def take_passed_over(self) -> Counter[str]:
        """Take the numbers of packets that were passed over since the last call, by sender."""
        taken, self._passed_over = self._passed_over, Counter()
        return taken

    def take_named(self, message_id: str) -> bytes | None:
        """Take a packet out of turn, which waits or was passed over lately. None if there is none with this id. It
        counts as one of those that are taken in this step."""
        passed = self._passed.pop(message_id, None)
        if passed is not None:
            self._passed_bytes -= len(passed)
            self._taken += 1
            return passed
        waiting = self._named.get(message_id)
        if waiting is None:
            return None
        self._taken += 1
        lanes = self._people if waiting.sender_id in self._people.by_sender else self._strangers
        return self._left(lanes.remove(waiting)).packet

    def finish(self) -> None:
        """Take a few of those that wait, and no more from now on: the end must not wait for a flood."""
        left = LAST
        while self._count and left:  # one may take others out of turn
            left -= 1
            self._receive(self._next())
        self._receive = _drop
        self._people, self._strangers = _Lanes(OF_PEOPLE), _Lanes(1)
        self._named.clear()

    def _arrange(self) -> None:
        if not self._due:
            self._due = True
            self._schedule(self._step)

    def _step(self) -> None:
        many, self._came = self._came >= MANY, 0
        self._due, self._taken = False, 0
        while self._count and self._taken < (AT_ONCE if self._people.count or not many else 1):
            self._taken += 1
            self._receive(self._next())
        if self._taken:
            self._arrange()

    def _next(self) -> bytes:
        if self._count <= FEW:
            both = (self._people, self._strangers)
            firsts = ((lanes, lane[0]) for lanes in both for lane in lanes.by_sender.values())
            lanes, first = min(firsts, key=lambda each: each[1].number)
            return self._left(lanes.remove(first)).packet
        self._turn += 1
        strangers_turn = self._strangers.count and (self._turn % TURNS == 0 or not self._people.count)
        return self._left((self._strangers if strangers_turn else self._people).take_turn()).packet

    def _left(self, waiting: _Waiting) -> _Waiting:
        """Note that a packet waits no more."""
        if self._named.get(waiting.message_id) is waiting:
            del self._named[waiting.message_id]
        return waiting

    def _pass_over(self, waiting: _Waiting) -> None:
        self._passed_over[waiting.sender_id] += 1
        self._passed_bytes += len(waiting.packet) - len(self._passed.pop(waiting.message_id, b""))
        self._passed[waiting.message_id] = waiting.packet
        while self._passed_bytes > KEPT or len(self._passed) > MOST_PASSED:
            self._passed_bytes -= len(self._passed.popitem(last=False)[1])


def _drop(_packet: bytes) -> None:
    pass
