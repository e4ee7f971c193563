"""Retransmission (2/MVDS): epochs, and the delay until a record is sent again."""

from __future__ import annotations

from hashlib import blake2b

from sdschat.mvds.config import Config
from sdschat.mvds.values import Moment, RecordRow


class EpochClock:
    """Counts epochs from the Unix epoch, but by the monotonic clock: setting the wall clock while the engine runs makes
    no epoch longer."""

    def __init__(self, length: int, start: Moment) -> None:
        self._length = length  # of an epoch, in milliseconds
        self._offset = start.wall - start.mono  # wall clock minus monotonic clock at the start, in milliseconds
        self._latest = (start.mono + self._offset) // length  # newest epoch returned; it never decreases

    def advance(self, now: Moment) -> int:
        """Return the epoch of `now`; never less than one returned before."""
        self._latest = max(self._latest, (now.mono + self._offset) // self._length)
        return self._latest

    def begin(self, epoch: int) -> int:
        """Return the monotonic time at which an epoch begins, in milliseconds."""
        return epoch * self._length - self._offset


def backoff_steps(config: Config) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return delays in epochs: those of the first climb to the maximum, and those of every later climb.

    The spec asks for exponential growth up to a bound and then a lower value. The first delay is two epochs by default,
    because an answer takes up to one epoch here, one at the peer, and the time on the way.
    """

    def climb(start: int) -> tuple[int, ...]:
        steps = []
        while start < config.backoff_max:
            steps.append(start)
            start *= 2
        return (*steps, config.backoff_max)

    return climb(config.backoff_first), climb(config.backoff_low)


class SendBackoff:
    """Delays before the next sending, with jitter.

    Jitter is a keyed hash and not a random number, so that an engine restored from its rows acts as the one before the
    restart; because of the key, peers cannot choose ids that all fall on one epoch.
    """

    def __init__(self, config: Config, secret: bytes) -> None:
        self._first, self._later = backoff_steps(config)  # epochs
        self._jitter = config.jitter  # largest part of a delay that is added or taken away
        self._secret = secret
        self.longest = int(config.backoff_max * (1 + config.jitter)) + 1  # no delay is longer; epochs

    def plain(self, attempt: int) -> int:
        """Return the delay in epochs after the `attempt`-th sending, without jitter."""
        if attempt <= len(self._first):
            return self._first[max(0, attempt - 1)]
        return self._later[(attempt - 1 - len(self._first)) % len(self._later)]

    def delay(self, record: RecordRow) -> int:
        """Return the delay in epochs after the sending that `record.attempt` already counts; at least one."""
        plain = self.plain(record.attempt)
        text = f"{record.peer}/{record.type}/{record.send_count}/".encode() + record.message_id
        return max(1, round(plain * (1 + self._jitter * (self.draw(text) / 2**63 - 1))))

    def draw(self, text: bytes) -> int:
        """Return a number below 2^64: the same for the same text, and not predictable without the secret."""
        return int.from_bytes(blake2b(text, key=self._secret, digest_size=8).digest(), "big")
