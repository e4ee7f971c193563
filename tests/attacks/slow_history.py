"""Sources of history that take their time: `python -m tests.attacks.slow_history [--size 8]`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import closing

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.catchup.exchange import Exchange, TakenIn
from sdschat.catchup.provider import HistoryProvider, Shipment, StoredMessage
from sdschat.catchup.responder import ReadingBudgets
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import Frame
from sdschat.mvds.pages import Pages
from sdschat.mvds.values import Now
from sdschat.node.sync.history_sync import history_group
from sdschat.sds.values import Message
from sdschat.sim.companion import MemoryLog
from sdschat.transport.base import Topics
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec, split_signature
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key, now, presence, signed_packet
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, is_acked, main, seconds_until
from tests.cli.processes import Pipe

_LINES = 2500  # of the channel
_PATIENCE = 240.0
_LATEST = 60.0  # seconds until a newcomer has all lines of the others
_PAUSE = 10.0  # seconds between the pages of a source, each with one message
_DAY = 24 * 3_600_000
_TOPICS = Topics(CHANNEL)


class _Slow(HistoryProvider):
    """Gives one message at a time, long after the one before."""

    at = 0

    def ship(self, mono: int, budgets: ReadingBudgets) -> list[Shipment]:
        for serving in self._serving.values():
            serving.window = len(serving.sent_at) + (mono >= self.at)
        found = super().ship(mono, budgets)
        if found:
            self.at = mono + round(_PAUSE * 1000)
        return found


class _Source:
    """A key that has a log of its own invention, and answers as our own program does, but slowly."""

    def __init__(self, number: int) -> None:
        self.key = new_key()
        codec = SdsCodec()
        self._packets: dict[str, bytes] = {}
        keys = []
        for at in range(300):
            raw = signed_packet(self.key, CHANNEL, f"eve {number}", f"invented {at}", now() - _DAY + at * 1000)
            message = codec.decode(raw)
            assert isinstance(message, Message)
            keys.append((message.lamport_timestamp or 0, message.message_id))
            self._packets[message.message_id] = raw
        self.log = MemoryLog(sorted(keys))
        self.exchange = Exchange(
            CatchUpSession(self.log, lambda: secrets.randbits(64)),
            _Slow(self),
            self.log,
            carrier=Pages(history_group(CHANNEL), secrets.token_bytes(16), _now()),
            codec=SyncCodec(),
            intake=self,
        )

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        return self.log.keys(low, high, limit)

    def stored(
        self, low: LogKey, high: LogKey, newest_first: bool, limit: int, max_bytes: int
    ) -> Sequence[StoredMessage]:
        found = list(self.log.keys(low, high))
        return [self._stored(key) for key in (found[::-1] if newest_first else found)[:1]]

    def _stored(self, key: tuple[int, str]) -> StoredMessage:
        return StoredMessage(LogKey(*key), self._packets[key[1]])

    def message(self, message_id: str) -> StoredMessage | None:
        return next((self._stored(key) for key in self.log.keys(LOWEST, HIGHEST) if key[1] == message_id), None)

    def take_in(self, packets: Sequence[bytes], via: str, at: Now) -> TakenIn:
        return TakenIn((), 0, False)

    def hear(self, frm: str, payload: bytes) -> None:
        found = SyncCodec().decode(split_signature(payload)[0])
        if isinstance(found, Frame):
            self.exchange.frame(frm, found, _now())
        elif isinstance(found, Records) and found.lane == PAGES:
            self.exchange.records(frm, found.payload, _now())


def slow_history(stage: Stage, size: int) -> bool:
    """Keys that spoke say that they have a long history of the channel, and give it one message every ten seconds.

    Defended if a newcomer has the history of the others in time. `size` is the number of such keys.
    """
    attacker = stage.attacker
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say(*(f"line {number}" for number in range(_LINES)))
    seconds_until(bob, lambda lines: len(bob.texts(lines)) >= _LINES)
    seconds_until(ann, lambda lines: sum(map(is_acked, lines)) >= _LINES)  # otherwise she says it all again
    sources = {source.key.sender_id: source for source in map(_Source, range(size))}
    for number, source in enumerate(sources.values()):
        announced = presence(source.key, CHANNEL, f"eve {number}")
        attacker.publish(_TOPICS.who(source.key.sender_id), announced, retain=True)
        attacker.say(signed_packet(source.key, CHANNEL, f"eve {number}", "hello", now()))
    attacker.flush()
    with closing(Listener(stage.port, 0, 100_000)) as listener:
        dan = stage.pipe("dan")
        began, at, sent = time.monotonic(), 0, 0
        while not (there := _lines(dan) >= _LINES) and time.monotonic() - began < _PATIENCE:
            heard = list(listener.heard)
            for topic, payload in heard[at:]:
                place = _TOPICS.place(topic)
                if place is not None and place.what == "sync" and place.to in sources:
                    sources[place.to].hear(place.frm, payload)
            at = len(heard)
            for name, source in sources.items():
                source.exchange.advance(_now())
                for frame in source.exchange.frames:
                    listener.publish(_TOPICS.sync(frame.peer, name), frame.payload)
                    sent += 1
                source.exchange.frames.clear()
            time.sleep(0.05)
        delay = time.monotonic() - began
    invented = sum(text.startswith("invented") for text in dan.texts())
    stage.saw("packets of the slow sources", sent)
    stage.saw("invented messages that came", invented)
    stage.saw(
        "seconds until a newcomer has all lines of the others",
        f"{delay:.0f}" if there else f"more than {_PATIENCE:.0f}",
    )
    return there and delay < _LATEST


def _lines(pipe: Pipe) -> int:
    return sum(text.startswith("line") for text in pipe.texts())


def _now() -> Now:
    return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)


if __name__ == "__main__":
    main(slow_history, 8, "slow sources")
